/** PUBACK, PUBREC, PUBREL and PUBCOMP (MQTT 5.0 §3.4 to §3.7, MQTT 3.1.1 likewise): one shape. */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { AcknowledgementPacket, ProtocolVersion, ReasonProperties } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

type AcknowledgementType = AcknowledgementPacket['type']

/**
 * The Reason Codes of the packets that answer a PUBLISH: PUBACK [MQTT-3.4.2-1] and PUBREC
 * [MQTT-3.5.2-1].
 */
const answers: ReadonlySet<ReasonCode> = new Set([0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99])
/**
 * The Reason Codes of the packets that end QoS 2: PUBREL [MQTT-3.6.2-1] and PUBCOMP [MQTT-3.7.2-1].
 */
const releases: ReadonlySet<ReasonCode> = new Set([0x00, 0x92])

const firstBytes: { readonly [type in AcknowledgementType]: number } = {
  puback: 0x40,
  pubrec: 0x50,
  pubrel: 0x62, // [MQTT-3.6.1-1]
  pubcomp: 0x70,
}

/**
 * Reads any of the four packets. In MQTT 5 the properties may be left off, or the properties and
 * the Reason Code.
 */
export function decodeAcknowledgement(
  cursor: PacketCursor,
  type: AcknowledgementType,
  protocolVersion: ProtocolVersion,
): AcknowledgementPacket {
  const packetId = cursor.readPacketId()
  let reasonCode: ReasonCode = ReasonCodes.success
  let properties: ReasonProperties | undefined
  if (protocolVersion === 5 && cursor.remaining > 0) {
    reasonCode = cursor.readUint8('the Reason Code')
    const allowed = type === 'puback' || type === 'pubrec' ? answers : releases
    if (!allowed.has(reasonCode)) cursor.protocolError(`this packet has no Reason Code ${reasonCode}`)
    if (cursor.remaining > 0) properties = decodeProperties(cursor, 'acknowledgement')
  }
  cursor.expectEnd()
  return { type, packetId, reasonCode, properties }
}

/**
 * Writes the shortest form: success without properties takes 4 bytes, as does every acknowledgement
 * of MQTT 3.1.1.
 */
export function encodeAcknowledgement(packet: AcknowledgementPacket, protocolVersion: ProtocolVersion): Buffer {
  const { packetId, reasonCode, properties } = packet
  const firstByte = firstBytes[packet.type]
  const propertiesBytes = protocolVersion === 5 ? propertiesSize('acknowledgement', properties) : 0
  let size = 2
  if (protocolVersion === 5 && propertiesBytes > 0)
    size = 3 + variableByteIntegerSize(propertiesBytes) + propertiesBytes
  else if (protocolVersion === 5 && reasonCode !== ReasonCodes.success) size = 3

  const writer = new PacketWriter(firstByte, size)
  writer.writeUint16(packetId)
  if (size > 2) writer.writeUint8(reasonCode)
  if (size > 3) writeProperties(writer, 'acknowledgement', properties, propertiesBytes)
  return writer.finish()
}
