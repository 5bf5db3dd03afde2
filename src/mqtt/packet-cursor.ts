/** Reads the fields of one packet: numbers, strings, binary data. */
import { MalformedPacketError } from './malformed-packet.ts'
import type { PacketType } from './malformed-packet.ts'
import type { ProtocolVersion } from './packet.ts'
import { ReasonCodes } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { Topic } from './topic.ts'
import { TopicNameCache } from './topic-name-cache.ts'
import { hasWildcard } from './topic-name.ts'
import { decodeUtf8 } from './utf8.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

const nothing = Buffer.alloc(0)

/**
 * One cache for all connections: the devices of a fleet publish to the same topics over any of
 * them.
 */
const topicNames = new TopicNameCache()

/**
 * A position in the bytes of one packet, from the end of its fixed header to `end`. Every fault,
 * such as reading past the end, throws a `MalformedPacketError` that names the packet. Nothing is
 * copied: `readBinary` returns a view.
 */
export class PacketCursor {
  bytes: Buffer = nothing
  /** Where the fixed header of the packet begins. */
  start = 0
  position = 0
  end = 0
  packetType: PacketType = 'connect'
  protocolVersion: ProtocolVersion | undefined = undefined

  /** Drops the reference to the bytes, so that a chunk does not outlive its packets. */
  release(): void {
    this.bytes = nothing
    this.start = 0
    this.position = 0
    this.end = 0
  }

  /**
   * True when the Remaining Length has no more bytes than it needs. Ask before a field is read.
   */
  get hasShortestLength(): boolean {
    return this.position - this.start === 1 + variableByteIntegerSize(this.remaining)
  }

  get remaining(): number {
    return this.end - this.position
  }

  fail(reasonCode: ReasonCode, message: string): never {
    throw new MalformedPacketError(reasonCode, message, this.packetType, this.protocolVersion)
  }

  malformed(message: string): never {
    return this.fail(ReasonCodes.malformedPacket, message)
  }

  protocolError(message: string): never {
    return this.fail(ReasonCodes.protocolError, message)
  }

  readUint8(field: string): number {
    if (this.position >= this.end) this.malformed(`${field} is missing`)
    return this.bytes[this.position++] as number
  }

  readUint16(field: string): number {
    const position = this.position
    if (position + 2 > this.end) this.malformed(`${field} is cut short`)
    this.position = position + 2
    return ((this.bytes[position] as number) << 8) | (this.bytes[position + 1] as number)
  }

  readUint32(field: string): number {
    const high = this.readUint16(field)
    return high * 0x1_0000 + this.readUint16(field)
  }

  /**
   * Forms that are longer than necessary are accepted up to four bytes: [MQTT-1.5.5-1] binds the
   * writer.
   */
  readVariableByteInteger(field: string): number {
    let value = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.readUint8(field)
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return this.malformed(`${field} is a Variable Byte Integer of more than four bytes`)
  }

  readUtf8(field: string): string {
    return this.#decodeUtf8(field, this.#readLength(field))
  }

  readBinary(field: string): Buffer {
    const start = this.#readLength(field)
    return this.bytes.subarray(start, this.position)
  }

  /**
   * Reads a Topic Name. It may be empty here; the meaning of an empty one depends on the packet.
   */
  readTopic(field: string): Topic {
    const start = this.#readLength(field)
    const known = topicNames.find(this.bytes, start, this.position)
    if (known !== undefined) return known
    const topicName = this.#decodeUtf8(field, start)
    // [MQTT-3.3.2-2] [MQTT-4.7.0-1] [MQTT311-3.3.2-2] [MQTT311-4.7.1-1]
    if (hasWildcard(topicName)) this.fail(ReasonCodes.topicNameInvalid, `${field} holds a wildcard`)
    const topic = new Topic(topicName)
    topicNames.remember(topic, this.bytes, start, this.position)
    return topic
  }

  readPacketId(): number {
    const packetId = this.readUint16('the Packet Identifier')
    if (packetId === 0) this.protocolError('the Packet Identifier is 0') // [MQTT-2.2.1-3] [MQTT311-2.3.1-1]
    return packetId
  }

  expectEnd(): void {
    if (this.position !== this.end) this.malformed(`${this.end - this.position} bytes are left over at the end`)
  }

  #decodeUtf8(field: string, start: number): string {
    const text = decodeUtf8(this.bytes, start, this.position)
    if (text === undefined) this.malformed(`${field} is not well-formed UTF-8`) // [MQTT-1.5.4-1] [MQTT-1.5.4-2] [MQTT311-1.5.3-1] [MQTT311-1.5.3-2]
    return text
  }

  /**
   * Reads the two bytes of a length, moves behind the field, and returns where the field begins.
   */
  #readLength(field: string): number {
    const length = this.readUint16(field)
    const start = this.position
    if (start + length > this.end) this.malformed(`${field} is cut short`)
    this.position = start + length
    return start
  }
}
