/**
 * Retained messages in the engine's state: each is set and removed together with the message that
 * does so. A record has the payload as it is, behind a head of JSON: the payload may be a megabyte,
 * and the retained message shares the memory of the record.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { StateChange, StateEntry } from '../ports/engine.ts'
import { Message } from '../ports/message.ts'
import { UnreadableRecordError, decode, decodeProperties, encodeProperties, textToBytes } from './session-record.ts'
import type { EncodedProperties } from './session-record.ts'
import { STATE_KEYS } from './state-keys.ts'

/** The first byte of a record. A record of version 1 is JSON alone, and begins with `{`. */
const VERSION = 2
const FIRST_BYTE_OF_JSON = 0x7b
/** The version, and the length of the head (uint32, little endian). */
const PREFIX_BYTES = 5

interface RetainedHead {
  readonly topicName: string
  readonly qos: QoS
  readonly properties?: EncodedProperties
  readonly publisherKey: string
  /** When the message expires; absent when it does not. */
  readonly expiresAtMs?: number
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
  const head: RetainedHead = {
    topicName,
    qos,
    publisherKey,
    retainedAtMs: nowMs,
    tenant,
    ...(properties === undefined ? {} : { properties: encodeProperties(properties) }),
    ...(expiresAtMs === Infinity ? {} : { expiresAtMs }),
  }
  const text = JSON.stringify(head)
  const headBytes = Buffer.byteLength(text)
  const value = Buffer.allocUnsafeSlow(PREFIX_BYTES + headBytes + payload.length)
  value[0] = VERSION
  value.writeUInt32LE(headBytes, 1)
  value.write(text, PREFIX_BYTES)
  value.set(payload, PREFIX_BYTES + headBytes)
  return { key, value }
}

/** The payload within the value that `retainedChange` made. It is not copied. */
export function payloadOfChange(value: Buffer): Buffer {
  return value.subarray(PREFIX_BYTES + value.readUInt32LE(1))
}

/**
 * Reads the retained message of an entry, and the tenant that it was counted for. The message
 * shares the memory of the value. Throws UnreadableRecordError.
 */
export function retainedMessage({ value }: StateEntry): {
  readonly message: Message
  readonly tenant: string | undefined
} {
  const { head, payload } = read(value)
  const { topicName, qos, publisherKey, expiresAtMs } = head
  const properties = head.properties && decodeProperties(head.properties)
  const fields = { topicName, payload, qos, retain: true, properties, publisherKey }
  const message = new Message(fields, expiresAtMs ?? Infinity)
  message.ownedAtMs = head.retainedAtMs ?? 0
  return { message, tenant: head.tenant }
}

function read(value: Buffer): { readonly head: RetainedHead; readonly payload: Buffer } {
  if (value[0] === FIRST_BYTE_OF_JSON) {
    const record = decode(value) as RetainedHead & { readonly payload: { readonly base64: string } }
    return { head: record, payload: textToBytes(record.payload) }
  }
  if (value[0] !== VERSION) {
    throw new UnreadableRecordError(`a retained message has version ${value[0]}; this program reads ${VERSION}`)
  }
  const payload = payloadOfChange(value)
  try {
    return { head: JSON.parse(value.toString('utf8', PREFIX_BYTES, value.length - payload.length)), payload }
  } catch {
    throw new UnreadableRecordError('the record of a retained message is damaged')
  }
}
