/** A PUBLISH as it came: its fields, and its bytes within their chunk. */
import type { PacketCursor } from './packet-cursor.ts'
import type { EncodedPublish } from './publish.ts'
import type { ProtocolVersion, PublishPacket, PublishProperties, QoS } from './packet.ts'
import type { Topic } from './topic.ts'

/** The fields that `decodePublish` has read. */
type ReadFields = Pick<
  IncomingPublish,
  'topic' | 'qos' | 'retain' | 'dup' | 'packetId' | 'properties' | 'encodedFor' | 'packetIdOffset'
>

/**
 * Most messages go on as they came. So the bytes are the encoding for the readers, and nothing is
 * copied or encoded for them. A view of the payload costs more than a copy of 200 bytes: it is made
 * for code that asks for it, and for no other message.
 */
export class IncomingPublish implements PublishPacket, EncodedPublish {
  readonly type = 'publish'
  readonly topicName: string
  readonly topic: Topic
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  readonly packetId: number
  readonly properties: PublishProperties | undefined
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly packetIdOffset: number
  /**
   * The version in which the bytes are the ones that `encodePublish` writes, but for the first byte
   * and the Packet Identifier. Undefined: they have properties, or a longer form of a length.
   */
  readonly encodedFor: ProtocolVersion | undefined
  readonly #payloadStart: number

  /** The cursor is at the payload, which is the rest of the packet. */
  constructor(fields: ReadFields, cursor: PacketCursor) {
    this.topic = fields.topic
    this.topicName = fields.topic.name
    this.qos = fields.qos
    this.retain = fields.retain
    this.dup = fields.dup
    this.packetId = fields.packetId
    this.properties = fields.properties
    this.encodedFor = fields.encodedFor
    this.packetIdOffset = fields.packetIdOffset
    this.bytes = cursor.bytes
    this.start = cursor.start
    this.end = cursor.end
    this.#payloadStart = cursor.position
  }

  /** A view into the chunk. Each call makes one. */
  get payload(): Buffer {
    return this.bytes.subarray(this.#payloadStart, this.end)
  }

  get payloadBytes(): number {
    return this.end - this.#payloadStart
  }

  /** Copies the payload into the buffer, which has room for it at this position. */
  copyPayload(target: Buffer, at: number): void {
    this.bytes.copy(target, at, this.#payloadStart, this.end)
  }

  /** True when the bytes fit all readers of a version with a Packet Identifier, or without one. */
  fits(protocolVersion: ProtocolVersion, withPacketId: boolean): boolean {
    return this.encodedFor === protocolVersion && (withPacketId ? this.qos > 0 : this.qos === 0 && !this.retain)
  }
}
