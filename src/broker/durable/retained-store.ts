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
}

/**
 * The change of state by a message with RETAIN; an empty payload removes the retained message
 * [MQTT-3.3.1-6].
 */
export function retainedChange(message: Message, nowMs: number): StateChange {
  const { topicName, payload, qos, properties, publisherKey, expiresAtMs } = message
  const key = STATE_KEYS.retained(topicName)
  if (payload.length === 0) return { key, value: undefined }
  const record: RetainedRecord = {
    topicName,
    payload,
    qos,
    publisherKey,
    retainedAtMs: nowMs,
    ...(properties === undefined ? {} : { properties }),
    ...(expiresAtMs === Infinity ? {} : { expiresAtMs }),
  }
  return { key, value: encode(record) }
}

/** Reads the retained message of an entry. Throws UnreadableRecordError. */
export function retainedMessage({ value }: StateEntry): Message {
  const record = decode(value) as RetainedRecord
  const { topicName, payload, qos, properties, publisherKey, expiresAtMs } = record
  const fields = { topicName, payload, qos, retain: true, properties, publisherKey }
  const message = new Message(fields, expiresAtMs ?? Infinity)
  message.ownedAtMs = record.retainedAtMs ?? 0
  return message
}
