/**
 * An Application Message on its way through the broker: owned once, encoded once for each wire
 * form, shared by all its readers.
 */
import type { MessageProperties, ProtocolVersion, QoS } from '../../mqtt/packet.ts'
import { propertiesSize } from '../../mqtt/properties.ts'
import { encodePublish } from '../../mqtt/publish.ts'
import type { EncodedPublish } from '../../mqtt/publish.ts'
import type { IncomingPublish } from '../../mqtt/incoming-publish.ts'
import { Topic } from '../../mqtt/topic.ts'
import { later } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'

export interface MessageFields {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  /** The key of the Session that published the message (No Local); empty for the service's own. */
  readonly publisherKey: string
  /** The Topic Name as an object. Absent: the message makes one when it is asked for it. */
  readonly topic?: Topic | undefined
}

/** About the bytes that a message takes beside its content: objects and places in maps. */
const OVERHEAD_BYTES = 128

/** Bytes of memory that a message holds, for the bounds on queues and on retained messages. */
export function sizeOfMessage(message: Pick<MessageFields, 'topicName' | 'payload' | 'properties'>): number {
  return message.payload.length + sizeBesidePayload(message)
}

function sizeBesidePayload({ topicName, properties }: Pick<MessageFields, 'topicName' | 'properties'>): number {
  return topicName.length + propertiesSize('publish', properties) + OVERHEAD_BYTES
}

/** From this size on a copy of the payload is worth sharing. */
const LARGE_PAYLOAD_BYTES = 2_048

/** The id of the message at a place in the log; `placeOfId` reads it. */
export function messageId(partition: number, offset: number): string {
  return `${partition}-${offset}`
}

/** A message's place in the log. */
export interface Place {
  readonly partition: number
  readonly offset: number
}

/** The place that an id names; undefined when the text is no id. */
export function placeOfId(id: string): Place | undefined {
  const match = /^(\d{1,5})-(\d{1,15})$/.exec(id)
  return match === null ? undefined : { partition: Number(match[1]), offset: Number(match[2]) }
}

/**
 * The moment at which a message expires that is received now, by its Message Expiry Interval.
 * Infinity where the message has none.
 */
export function expiryOf(properties: MessageProperties | undefined, clock: Clock): number {
  const expiry = properties?.messageExpiryIntervalSeconds
  return expiry === undefined ? Infinity : later(clock.steady(), expiry * 1000)
}

/** True when nobody may get the message any more [MQTT-3.3.2-5]. */
export function hasExpired({ expiresAtMs }: Message, now: SteadyMs): boolean {
  return expiresAtMs <= now
}

export class Message {
  /** Changed by `readdress` alone, before anybody owns the message. */
  topicName: string
  kept = false
  readonly qos: QoS
  /** Cleared when there is no room to retain the message, and the message goes on all the same. */
  retain: boolean
  properties: MessageProperties | undefined
  readonly publisherKey: string
  /**
   * A moment of the steady clock (`SteadyMs`), as the log keeps it; Infinity when the message does
   * not expire. `hasExpired` compares it.
   */
  readonly expiresAtMs: number
  /** The message's place in the log, set by the engine that owns it; -1 while nobody owns it. */
  partition = -1
  offset = -1
  /**
   * The time at which the log or the retained store took the message, ms since 1970; 0 before that.
   */
  ownedAtMs = 0
  /** The packet that brought the message, as long as its payload is this one. */
  #received: IncomingPublish | undefined
  /** Set where the message was not received, and once somebody has asked for it. */
  #payload: Buffer | undefined
  #topic: Topic | undefined
  #sizeBytes: number | undefined = undefined
  #tellsId = false
  #plain4: EncodedPublish | undefined = undefined
  #plain5: EncodedPublish | undefined = undefined
  #identified4: EncodedPublish | undefined = undefined
  #identified5: EncodedPublish | undefined = undefined

  /**
   * `expiresAtMs` is absolute; `expiryOf` gives it for a message that is received now. The payload
   * is that of the fields, or that of the packet that brought the message. It is not copied: call
   * `keep` before the message outlives the turn that it came in.
   */
  constructor(fields: MessageFields, expiresAtMs: number)
  constructor(fields: Omit<MessageFields, 'payload'>, expiresAtMs: number, received: IncomingPublish | undefined)
  constructor(
    fields: Partial<MessageFields> & Omit<MessageFields, 'payload'>,
    expiresAtMs: number,
    received?: IncomingPublish,
  ) {
    this.#received = received
    this.#payload = received === undefined ? fields.payload : undefined
    this.topicName = fields.topicName
    this.qos = fields.qos
    this.retain = fields.retain
    this.properties = fields.properties
    this.publisherKey = fields.publisherKey
    this.#topic = fields.topic
    this.expiresAtMs = expiresAtMs
  }

  /** The topic, with what is known of it. */
  get topic(): Topic {
    return (this.#topic ??= new Topic(this.topicName))
  }

  /** A view, if the message was received and is not kept. */
  get payload(): Buffer {
    return (this.#payload ??= (this.#received as IncomingPublish).payload)
  }

  set payload(payload: Buffer) {
    this.#payload = payload
    this.#received = undefined
  }

  get payloadBytes(): number {
    return this.#received?.payloadBytes ?? this.payload.length
  }

  /** Copies the payload into the buffer, which has room for it at this position. */
  copyPayload(target: Buffer, at: number): void {
    if (this.#received === undefined) target.set(this.payload, at)
    else this.#received.copyPayload(target, at)
  }

  /** Gives the message another topic, before anybody owns or counts the message. */
  readdress(topic: Topic): void {
    this.#changesForm()
    this.topicName = topic.name
    this.#topic = topic
  }

  /** Bytes of memory that the message holds, for the bounds on queues. The number never changes. */
  get sizeBytes(): number {
    return (this.#sizeBytes ??= this.payloadBytes + sizeBesidePayload(this))
  }

  /**
   * Names the message's place in the log: the same id for as long as the message is stored, and
   * never another message's. Empty while the message has no place.
   */
  get id(): string {
    return this.offset < 0 ? '' : messageId(this.partition, this.offset)
  }

  /**
   * From here on MQTT 5 readers of the message get its id as the last User Property, with this
   * name. Does nothing for a message without a place in the log.
   */
  tellId(userProperty: string): void {
    if (this.#tellsId || this.offset < 0) return
    this.#tellsId = true
    this.#changesForm()
    // The size counts the message as it came.
    this.#sizeBytes = this.sizeBytes
    const userProperties = [...(this.properties?.userProperties ?? []), [userProperty, this.id] as const]
    this.properties = { ...this.properties, userProperties }
    this.#plain5 = undefined
    this.#identified5 = undefined
  }

  /**
   * Makes the message fit to outlive its turn: a small view that would keep a large chunk alive is
   * copied.
   */
  keep(): void {
    if (this.kept) return
    this.kept = true
    this.payload = this.#received === undefined ? ownCopy(this.payload) : ownPayload(this.#received)
    const correlationData = this.properties?.correlationData
    if (correlationData !== undefined)
      this.properties = { ...this.properties, correlationData: ownCopy(correlationData) }
  }

  /**
   * Takes a copy of the payload in the place of the payload, so that both need not be in memory.
   * The copy is in memory that somebody else keeps for as long as the message.
   */
  holdWithin(copy: Buffer): void {
    if (copy.length < LARGE_PAYLOAD_BYTES) return
    this.payload = copy
    this.keep()
  }

  /**
   * The same message without its wire forms and its topic's object. For a retained message: as long
   * as it is retained, they would take several times the bytes that its tenant is counted for.
   */
  withoutForms(): Message {
    const copy = new Message(this, this.expiresAtMs, this.#received)
    copy.#topic = undefined
    copy.partition = this.partition
    copy.offset = this.offset
    copy.ownedAtMs = this.ownedAtMs
    copy.kept = this.kept
    copy.#sizeBytes = this.sizeBytes
    copy.#tellsId = this.#tellsId
    return copy
  }

  /** Makes the message fit to outlive most others: its payload is no slice of a shared slab. */
  keepForLong(): void {
    this.keep()
    const { payload } = this
    if (payload.buffer.byteLength === payload.length || payload.length >= LARGE_PAYLOAD_BYTES) return
    this.payload = Buffer.allocUnsafeSlow(payload.length)
    this.payload.set(payload)
  }

  /**
   * The PUBLISH without the parts that differ between readers, made once for each version and form,
   * or as it came. At QoS 0 its first byte is that of a message without RETAIN. At QoS 1 and 2 the
   * caller writes the first byte and the Packet Identifier into a copy. In MQTT 5 it fits only a
   * reader without Subscription Identifier and Topic Alias, and a message that does not expire.
   */
  shared(protocolVersion: ProtocolVersion, withPacketId: boolean): EncodedPublish {
    if (this.#received?.fits(protocolVersion, withPacketId) === true) return this.#received
    if (protocolVersion === 5) {
      return withPacketId ? (this.#identified5 ??= this.#encode(5, 1)) : (this.#plain5 ??= this.#encode(5, 0))
    }
    return withPacketId ? (this.#identified4 ??= this.#encode(4, 1)) : (this.#plain4 ??= this.#encode(4, 0))
  }

  /** The bytes of the packet that brought the message are no longer its encoding. */
  #changesForm(): void {
    if (this.#received !== undefined) this.payload = this.#received.payload
  }

  #encode(protocolVersion: ProtocolVersion, qos: 0 | 1): EncodedPublish {
    const { topicName, payload } = this
    const properties = protocolVersion === 5 ? this.properties : undefined
    return encodePublish({ topicName, payload, qos, retain: false, dup: false, properties }, protocolVersion)
  }
}

function ownPayload(received: IncomingPublish): Buffer {
  if (received.payloadBytes >= LARGE_PAYLOAD_BYTES) return ownCopy(received.payload)
  const copy = Buffer.allocUnsafe(received.payloadBytes)
  received.copyPayload(copy, 0)
  return copy
}

function ownCopy(view: Buffer): Buffer {
  return view.buffer.byteLength > view.length * 2 + 1024 ? Buffer.from(view) : view
}
