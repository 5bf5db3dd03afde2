/** UNSUBSCRIBE (MQTT 5.0 §3.10, MQTT 3.1.1 §3.10). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { ProtocolVersion, UnsubscribePacket } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { MAXIMUM_TOPIC_FILTERS, readTopicFilter, refuseTooMany } from './subscribe.ts'
import { utf8Size } from './utf8.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

/** Reads an UNSUBSCRIBE. Its Topic Filters are valid. */
export function decodeUnsubscribe(cursor: PacketCursor, protocolVersion: ProtocolVersion): UnsubscribePacket {
  const packetId = cursor.readPacketId()
  const properties = protocolVersion === 5 ? decodeProperties(cursor, 'unsubscribe') : undefined
  if (cursor.remaining === 0) cursor.protocolError('there is no Topic Filter') // [MQTT-3.10.3-2] [MQTT311-3.10.3-2]
  const topicFilters: string[] = []
  while (cursor.remaining > 0) {
    if (topicFilters.length === MAXIMUM_TOPIC_FILTERS) refuseTooMany(cursor)
    topicFilters.push(readTopicFilter(cursor))
  }
  return { type: 'unsubscribe', packetId, topicFilters, properties }
}

export function encodeUnsubscribe(packet: UnsubscribePacket, protocolVersion: ProtocolVersion): Buffer {
  const properties = protocolVersion === 5 ? propertiesSize('unsubscribe', packet.properties) : 0
  let size = 2
  if (protocolVersion === 5) size += variableByteIntegerSize(properties) + properties
  for (const topicFilter of packet.topicFilters) size += 2 + utf8Size(topicFilter)

  const writer = new PacketWriter(0xa2, size) // [MQTT-3.10.1-1]
  writer.writeUint16(packet.packetId)
  if (protocolVersion === 5) writeProperties(writer, 'unsubscribe', packet.properties, properties)
  for (const topicFilter of packet.topicFilters) writer.writeUtf8(topicFilter)
  return writer.finish()
}
