/** UNSUBACK (MQTT 5.0 §3.11, MQTT 3.1.1 §3.11). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { ProtocolVersion, UnsubackPacket } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import type { ReasonCode } from './reason-codes.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

const allowedReasonCodes: ReadonlySet<ReasonCode> = new Set([0x00, 0x11, 0x80, 0x83, 0x87, 0x8f, 0x91])

/** Reads an UNSUBACK. In MQTT 3.1.1 it has no Reason Codes. */
export function decodeUnsuback(cursor: PacketCursor, protocolVersion: ProtocolVersion): UnsubackPacket {
  const packetId = cursor.readPacketId()
  const reasonCodes: ReasonCode[] = []
  if (protocolVersion === 4) {
    cursor.expectEnd()
    return { type: 'unsuback', packetId, reasonCodes, properties: undefined }
  }
  const properties = decodeProperties(cursor, 'unsuback')
  if (cursor.remaining === 0) cursor.protocolError('there is no Reason Code') // [MQTT-3.11.3-1]
  while (cursor.remaining > 0) {
    const reasonCode = cursor.readUint8('a Reason Code')
    if (!allowedReasonCodes.has(reasonCode)) {
      cursor.protocolError(`UNSUBACK has no Reason Code ${reasonCode}`) // [MQTT-3.11.3-2]
    }
    reasonCodes.push(reasonCode)
  }
  return { type: 'unsuback', packetId, reasonCodes, properties }
}

/** Writes an UNSUBACK. For MQTT 3.1.1 it has only the Packet Identifier. */
export function encodeUnsuback(packet: UnsubackPacket, protocolVersion: ProtocolVersion): Buffer {
  const properties = protocolVersion === 5 ? propertiesSize('unsuback', packet.properties) : 0
  const size = protocolVersion === 5 ? variableByteIntegerSize(properties) + properties + packet.reasonCodes.length : 0
  const writer = new PacketWriter(0xb0, 2 + size)
  writer.writeUint16(packet.packetId)
  if (protocolVersion === 5) {
    writeProperties(writer, 'unsuback', packet.properties, properties)
    for (const reasonCode of packet.reasonCodes) writer.writeUint8(reasonCode)
  }
  return writer.finish()
}
