/** PUBLISH (MQTT 5.0 §3.3, MQTT 3.1.1 §3.3). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { ProtocolVersion, PublishPacket, PublishProperties, QoS } from './packet.ts'
import { IncomingPublish } from './incoming-publish.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes } from './reason-codes.ts'
import { utf8Size } from './utf8.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

/**
 * Reads a PUBLISH. `flags` is the lower half of its first byte; `fromClient` forbids everything
 * that only a server may send. The payload is not copied.
 */
export function decodePublish(
  cursor: PacketCursor,
  flags: number,
  protocolVersion: ProtocolVersion,
  fromClient: boolean,
): IncomingPublish {
  const { hasShortestLength } = cursor
  const qos = (flags >> 1) & 3
  const dup = (flags & 8) !== 0
  if (qos === 3) cursor.malformed('QoS is 3') // [MQTT-3.3.1-4] [MQTT311-3.3.1-4]
  if (dup && qos === 0) cursor.malformed('DUP is set at QoS 0') // [MQTT-3.3.1-2] [MQTT311-3.3.1-2]
  const topic = cursor.readTopic('the Topic Name') // [MQTT-3.3.2-1]
  const topicName = topic.name
  const packetIdOffset = qos === 0 ? 0 : cursor.position - cursor.start
  const packetId = qos === 0 ? 0 : cursor.readPacketId()
  const hasProperties = protocolVersion === 5 && cursor.bytes[cursor.position] !== 0
  const properties = protocolVersion === 5 ? decodeProperties(cursor, 'publish') : undefined
  if (topicName === '' && properties?.topicAlias === undefined) {
    // [MQTT-4.7.3-1] [MQTT311-4.7.3-1]
    if (protocolVersion === 4) cursor.fail(ReasonCodes.topicNameInvalid, 'the Topic Name is empty')
    cursor.protocolError('an empty Topic Name without Topic Alias')
  }
  if (fromClient && properties?.subscriptionIdentifiers !== undefined) {
    cursor.protocolError('a Subscription Identifier from a client') // [MQTT-3.3.4-6]
  }
  const encodedFor = hasShortestLength && !hasProperties ? protocolVersion : undefined
  const retain = (flags & 1) !== 0
  const fields = { topic, qos: qos as QoS, retain, dup, packetId, properties, encodedFor, packetIdOffset }
  return new IncomingPublish(fields, cursor)
}

/** A PUBLISH in bytes: those of a buffer from `start` up to `end`. */
export interface EncodedPublish {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** Where the Packet Identifier stands, from `start` on; 0 at QoS 0, which has none. */
  readonly packetIdOffset: number
}

/**
 * A PUBLISH for many receivers, in a buffer of its own. The Packet Identifier is 0, and the caller
 * writes it into a copy. The payload is copied. Throws RangeError as `encodePacket` does.
 */
export function encodePublish(
  publish: {
    readonly topicName: string
    readonly payload: Buffer
    readonly qos: QoS
    readonly retain: boolean
    readonly dup: boolean
    readonly properties?: PublishProperties | undefined
  },
  protocolVersion: ProtocolVersion,
): EncodedPublish {
  const { topicName, payload, qos, properties } = publish
  const topicNameSize = utf8Size(topicName)
  let size = 2 + topicNameSize + payload.length
  if (qos > 0) size += 2 // [MQTT-2.2.1-2] [MQTT311-2.3.1-5]
  const propertiesBytes = protocolVersion === 5 ? propertiesSize('publish', properties) : 0
  if (protocolVersion === 5) size += variableByteIntegerSize(propertiesBytes) + propertiesBytes

  const writer = new PacketWriter(0x30 | (publish.dup ? 8 : 0) | (qos << 1) | (publish.retain ? 1 : 0), size)
  writer.writeUtf8(topicName, topicNameSize)
  const packetIdOffset = qos === 0 ? 0 : writer.position
  if (qos > 0) writer.writeUint16(0)
  if (protocolVersion === 5) writeProperties(writer, 'publish', properties, propertiesBytes)
  writer.writeRest(payload)
  const bytes = writer.finish()
  return { bytes, start: 0, end: bytes.length, packetIdOffset }
}

/** Writes the whole packet for one receiver. */
export function encodePublishPacket(packet: PublishPacket, protocolVersion: ProtocolVersion): Buffer {
  const { bytes, packetIdOffset } = encodePublish(packet, protocolVersion)
  if (packetIdOffset > 0) bytes.writeUInt16BE(packet.packetId, packetIdOffset)
  return bytes
}
