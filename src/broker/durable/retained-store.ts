/**
 * Retained messages in the engine's state: set and removed together with the message that does so.
 */
import type { StateChange, StateEntry } from '../ports/engine.ts'
import { Message } from '../ports/message.ts'
import { decode, encode } from './session-record.ts'
import type { MessageRecord } from './session-record.ts'
import { STATE_KEYS } from './state-keys.ts'

interface RetainedRecord extends MessageRecord {
  /** ms since 1970: tells what is older than the one who reads its topic now. */
  readonly retainedAtMs?: number
}

/**
 * What a message with RETAIN changes in the state; an empty payload removes what was retained
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

/** The retained message of an entry. Throws UnreadableRecordError. */
export function retainedMessage({ value }: StateEntry): Message {
  const record = decode(value) as RetainedRecord
  const { topicName, payload, qos, properties, publisherKey, expiresAtMs } = record
  const fields = { topicName, payload, qos, retain: true, properties, publisherKey }
  const message = new Message(fields, expiresAtMs ?? Infinity)
  message.ownedAtMs = record.retainedAtMs ?? 0
  return message
}
