/** CONNACK (MQTT 5.0 §3.2, MQTT 3.1.1 §3.2). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { ConnackPacket, ProtocolVersion } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes, connectReturnCode } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

const reasonCodes: ReadonlySet<ReasonCode> = new Set([
  0x00, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b,
  0x9c, 0x9d, 0x9f,
])

/** The Connect Return Codes 0 to 5 of MQTT 3.1.1 §3.2.2.3 as Reason Codes. */
const reasonCodesOfReturnCodes: readonly ReasonCode[] = [
  ReasonCodes.success,
  ReasonCodes.unsupportedProtocolVersion,
  ReasonCodes.clientIdentifierNotValid,
  ReasonCodes.serverUnavailable,
  ReasonCodes.badUserNameOrPassword,
  ReasonCodes.notAuthorized,
]

/**
 * Reads a CONNACK. A Connect Return Code of MQTT 3.1.1 becomes the Reason Code with the same
 * meaning.
 */
export function decodeConnack(cursor: PacketCursor, protocolVersion: ProtocolVersion): ConnackPacket {
  const flags = cursor.readUint8('the Connect Acknowledge Flags')
  if (flags > 1) cursor.malformed('a reserved Connect Acknowledge Flag is set') // [MQTT-3.2.2-1]
  const reasonCode = readReasonCode(cursor, protocolVersion)
  if (flags === 1 && reasonCode !== ReasonCodes.success) {
    cursor.protocolError('Session Present in a refusal') // [MQTT-3.2.2-6] [MQTT311-3.2.2-4]
  }
  const properties = protocolVersion === 5 ? decodeProperties(cursor, 'connack') : undefined
  cursor.expectEnd()
  return { type: 'connack', sessionPresent: flags === 1, reasonCode, properties }
}

function readReasonCode(cursor: PacketCursor, protocolVersion: ProtocolVersion): ReasonCode {
  const code = cursor.readUint8('the Reason Code')
  if (protocolVersion === 5) {
    if (!reasonCodes.has(code)) cursor.protocolError(`CONNACK has no Reason Code ${code}`) // [MQTT-3.2.2-8]
    return code
  }
  return reasonCodesOfReturnCodes[code] ?? cursor.malformed(`Connect Return Code ${code} is reserved`)
}

/**
 * Writes a CONNACK. For MQTT 3.1.1 the Reason Code becomes the nearest Connect Return Code, and the
 * properties are left out.
 */
export function encodeConnack(packet: ConnackPacket, protocolVersion: ProtocolVersion): Buffer {
  const flags = packet.sessionPresent ? 1 : 0
  if (protocolVersion === 4) return Buffer.from([0x20, 2, flags, connectReturnCode(packet.reasonCode)])
  const properties = propertiesSize('connack', packet.properties)
  const writer = new PacketWriter(0x20, 2 + variableByteIntegerSize(properties) + properties)
  writer.writeUint8(flags)
  writer.writeUint8(packet.reasonCode)
  writeProperties(writer, 'connack', packet.properties, properties)
  return writer.finish()
}
