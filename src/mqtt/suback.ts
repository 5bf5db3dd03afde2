/** SUBACK (MQTT 5.0 §3.9, MQTT 3.1.1 §3.9). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { ProtocolVersion, SubackPacket } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes, isFailure } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

const reasonCodes5: ReadonlySet<ReasonCode> = new Set([
  0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2,
])
const reasonCodes4: ReadonlySet<ReasonCode> = new Set([0x00, 0x01, 0x02, 0x80])

/** Reads a SUBACK. */
export function decodeSuback(cursor: PacketCursor, protocolVersion: ProtocolVersion): SubackPacket {
  const packetId = cursor.readPacketId()
  const properties = protocolVersion === 5 ? decodeProperties(cursor, 'suback') : undefined
  const allowed = protocolVersion === 5 ? reasonCodes5 : reasonCodes4
  if (cursor.remaining === 0) cursor.protocolError('there is no Reason Code') // [MQTT-3.8.4-6]
  const reasonCodes: ReasonCode[] = []
  while (cursor.remaining > 0) {
    const reasonCode = cursor.readUint8('a Reason Code')
    // [MQTT-3.9.3-2] [MQTT311-3.9.3-2]
    if (!allowed.has(reasonCode)) cursor.protocolError(`SUBACK has no Reason Code ${reasonCode}`)
    reasonCodes.push(reasonCode)
  }
  return { type: 'suback', packetId, reasonCodes, properties }
}

/** Writes a SUBACK. For MQTT 3.1.1 every failure becomes 0x80 [MQTT311-3.9.3-2]. */
export function encodeSuback(packet: SubackPacket, protocolVersion: ProtocolVersion): Buffer {
  const properties = protocolVersion === 5 ? propertiesSize('suback', packet.properties) : 0
  let size = 2 + packet.reasonCodes.length
  if (protocolVersion === 5) size += variableByteIntegerSize(properties) + properties
  const writer = new PacketWriter(0x90, size)
  writer.writeUint16(packet.packetId)
  if (protocolVersion === 5) writeProperties(writer, 'suback', packet.properties, properties)
  for (const reasonCode of packet.reasonCodes) {
    writer.writeUint8(protocolVersion === 4 && isFailure(reasonCode) ? ReasonCodes.unspecifiedError : reasonCode)
  }
  return writer.finish()
}
