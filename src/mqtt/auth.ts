/** AUTH (MQTT 5.0 §3.15). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { AuthPacket, AuthProperties } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

const fromClients: ReadonlySet<ReasonCode> = new Set([0x18, 0x19])
const fromServers: ReadonlySet<ReasonCode> = new Set([0x00, 0x18])

/**
 * Reads an AUTH: empty (Success), or with an Authentication Method. The caller checks that the
 * method is the one in CONNECT [MQTT-4.12.0-5].
 */
export function decodeAuth(cursor: PacketCursor, fromClient: boolean): AuthPacket {
  let reasonCode: ReasonCode = ReasonCodes.success
  let properties: AuthProperties | undefined
  const isEmpty = cursor.remaining === 0
  if (!isEmpty) reasonCode = cursor.readUint8('the Reason Code')
  if (!(fromClient ? fromClients : fromServers).has(reasonCode)) {
    cursor.protocolError(`this AUTH has no Reason Code ${reasonCode}`) // [MQTT-3.15.2-1]
  }
  if (!isEmpty) {
    properties = decodeProperties(cursor, 'auth')
    if (properties?.authenticationMethod === undefined) cursor.protocolError('there is no Authentication Method')
  }
  cursor.expectEnd()
  return { type: 'auth', reasonCode, properties }
}

/** Writes the shortest form: Success without properties takes two bytes. */
export function encodeAuth(packet: AuthPacket): Buffer {
  const properties = propertiesSize('auth', packet.properties)
  const isEmpty = packet.reasonCode === ReasonCodes.success && properties === 0
  const writer = new PacketWriter(0xf0, isEmpty ? 0 : 1 + variableByteIntegerSize(properties) + properties) // [MQTT-3.15.1-1]
  if (!isEmpty) {
    writer.writeUint8(packet.reasonCode)
    writeProperties(writer, 'auth', packet.properties, properties)
  }
  return writer.finish()
}
