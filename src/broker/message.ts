/** An Application Message on its way through the broker: owned once, encoded once per wire form, shared by all its readers. */
import type { MessageProperties, ProtocolVersion, QoS } from '../mqtt/packet.ts'
import { encodePublish } from '../mqtt/publish.ts'

/** A PUBLISH in bytes; the Packet Identifier, if any, is zero at its offset, and the first byte has no DUP, QoS or RETAIN. */
export interface SharedPublish {
  readonly bytes: Buffer
  /** 0 when the form is that of QoS 0. */
  readonly packetIdOffset: number
}

export interface MessageFields {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  /** The key of the Session that published it (No Local); empty for the service's own. */
  readonly publisherKey: string
  readonly receivedAtMs: number
}

export class Message {
  readonly topicName: string
  /** Not copied: `keep` the message before it outlives the turn that it came in. */
  payload: Buffer
  kept = false
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  readonly publisherKey: string
  /** ms since 1970; Infinity when the message does not expire. */
  readonly expiresAtMs: number
  #plain4: SharedPublish | undefined = undefined
  #plain5: SharedPublish | undefined = undefined
  #identified4: SharedPublish | undefined = undefined
  #identified5: SharedPublish | undefined = undefined

  constructor(fields: MessageFields) {
    this.topicName = fields.topicName
    this.payload = fields.payload
    this.qos = fields.qos
    this.retain = fields.retain
    this.properties = fields.properties
    this.publisherKey = fields.publisherKey
    const expiry = fields.properties?.messageExpiryIntervalSeconds
    this.expiresAtMs = expiry === undefined ? Infinity : fields.receivedAtMs + expiry * 1000
  }

  /** Bytes that the message holds on to, for the bounds of queues. */
  get sizeBytes(): number {
    return this.payload.length + this.topicName.length + 128
  }

  /** Makes the message fit to outlive its turn: copies a payload that is a small view and would keep a large chunk alive. */
  keep(): void {
    if (this.kept) return
    this.kept = true
    if (this.payload.buffer.byteLength > this.payload.length * 2 + 1024) this.payload = Buffer.from(this.payload)
  }

  /**
   * The PUBLISH without what differs between its readers, made once for each version and form. For MQTT 5 it fits only a
   * reader without Subscription Identifier and Topic Alias, and a message that does not expire.
   */
  shared(protocolVersion: ProtocolVersion, withPacketId: boolean): SharedPublish {
    if (protocolVersion === 5) {
      return withPacketId ? (this.#identified5 ??= this.#encode(5, 1)) : (this.#plain5 ??= this.#encode(5, 0))
    }
    return withPacketId ? (this.#identified4 ??= this.#encode(4, 1)) : (this.#plain4 ??= this.#encode(4, 0))
  }

  #encode(protocolVersion: ProtocolVersion, qos: 0 | 1): SharedPublish {
    const { topicName, payload } = this
    const properties = protocolVersion === 5 ? this.properties : undefined
    const shared = encodePublish({ topicName, payload, qos, retain: false, dup: false, properties }, protocolVersion)
    shared.bytes[0] = 0x30
    return shared
  }
}
