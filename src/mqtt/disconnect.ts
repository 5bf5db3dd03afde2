/** DISCONNECT (MQTT 5.0 §3.14, MQTT 3.1.1 §3.14). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { DisconnectPacket, DisconnectProperties, ProtocolVersion } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

/**
 * Reason Codes that both sides may send. 0x8C is only in Table 2-6; it ends a failed
 * re-authentication [MQTT-4.12.1-2].
 */
const fromBoth: readonly ReasonCode[] = [
  0x00, 0x80, 0x81, 0x82, 0x83, 0x8c, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
]
const fromClients: ReadonlySet<ReasonCode> = new Set([...fromBoth, 0x04])
// oxfmt-ignore
const fromServers: ReadonlySet<ReasonCode> = new Set([
  ...fromBoth, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x8f, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
])

/**
 * Reads a DISCONNECT. In MQTT 5 the properties may be left off, or the properties and the Reason
 * Code.
 */
export function decodeDisconnect(
  cursor: PacketCursor,
  protocolVersion: ProtocolVersion,
  fromClient: boolean,
): DisconnectPacket {
  // In MQTT 3.1.1 §3.14 DISCONNECT is the client's last packet, and no server sends it.
  if (protocolVersion === 4 && !fromClient) cursor.protocolError('a DISCONNECT from a server')
  let reasonCode: ReasonCode = ReasonCodes.success
  let properties: DisconnectProperties | undefined
  if (protocolVersion === 5 && cursor.remaining > 0) {
    reasonCode = cursor.readUint8('the Reason Code')
    if (!(fromClient ? fromClients : fromServers).has(reasonCode)) {
      cursor.protocolError(`this DISCONNECT has no Reason Code ${reasonCode}`) // MQTT 5.0 §3.14.2.1
    }
    if (cursor.remaining > 0) properties = decodeProperties(cursor, 'disconnect')
    if (!fromClient && properties?.sessionExpiryIntervalSeconds !== undefined) {
      cursor.protocolError('a Session Expiry Interval from a server') // [MQTT-3.14.2-2]
    }
  }
  cursor.expectEnd()
  return { type: 'disconnect', reasonCode, properties }
}

/** Writes the shortest form; MQTT 3.1.1 has no room for a reason. */
export function encodeDisconnect(packet: DisconnectPacket, protocolVersion: ProtocolVersion): Buffer {
  const { reasonCode, properties } = packet
  const propertiesBytes = protocolVersion === 5 ? propertiesSize('disconnect', properties) : 0
  let size = 0
  if (protocolVersion === 5 && propertiesBytes > 0)
    size = 1 + variableByteIntegerSize(propertiesBytes) + propertiesBytes
  else if (protocolVersion === 5 && reasonCode !== ReasonCodes.success) size = 1

  const writer = new PacketWriter(0xe0, size)
  if (size > 0) writer.writeUint8(reasonCode)
  if (size > 1) writeProperties(writer, 'disconnect', properties, propertiesBytes)
  return writer.finish()
}
