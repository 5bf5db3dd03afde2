/**
 * Retained messages in the engine's state: each is set and removed together with the message that
 * does so.
 */
import type { StateChange, StateEntry } from '../ports/engine.ts'
import { Message } from '../ports/message.ts'
import { decode, encode } from './session-record.ts'
import type { MessageRecord } from './session-record.ts'
import { STATE_KEYS } from './state-keys.ts'

interface RetainedRecord extends MessageRecord {
  /** When the message was retained, ms since 1970: a reader may be kept from older messages. */
  readonly retainedAtMs?: number
  /** The tenant whose bounds count the message; absent in the records of earlier programs. */
  readonly tenant?: string
}

/**
 * The change of state by a message with RETAIN; an empty payload removes the retained message
 * [MQTT-3.3.1-6].
 */
export function retainedChange(message: Message, tenant: string, nowMs: number): StateChange {
  const { topicName, payload, qos, properties, publisherKey, expiresAtMs } = message
  const key = STATE_KEYS.retained(topicName)
  if (payload.length === 0) return { key, value: undefined }
  const record: RetainedRecord = {
    topicName,
    payload,
    qos,
    publisherKey,
    retainedAtMs: nowMs,
    tenant,
    ...(properties === undefined ? {} : { properties }),
    ...(expiresAtMs === Infinity ? {} : { expiresAtMs }),
  }
  return { key, value: encode(record) }
}

/**
 * Reads the retained message of an entry, and the tenant that it was counted for. Throws
 * UnreadableRecordError.
 */
export function retainedMessage({ value }: StateEntry): {
  readonly message: Message
  readonly tenant: string | undefined
} {
  const record = decode(value) as RetainedRecord
  const { topicName, payload, qos, properties, publisherKey, expiresAtMs } = record
  const fields = { topicName, payload, qos, retain: true, properties, publisherKey }
  const message = new Message(fields, expiresAtMs ?? Infinity)
  message.ownedAtMs = record.retainedAtMs ?? 0
  return { message, tenant: record.tenant }
}
