/**
 * PINGREQ and PINGRESP (MQTT 5.0 §3.12 and §3.13, MQTT 3.1.1 likewise), which have only a fixed
 * header.
 */
import type { PacketCursor } from './packet-cursor.ts'
import type { PingreqPacket, PingrespPacket } from './packet.ts'

const pingreq: PingreqPacket = Object.freeze({ type: 'pingreq' })
const pingresp: PingrespPacket = Object.freeze({ type: 'pingresp' })

/** Reads a PINGREQ; returns the same object each time. */
export function decodePingreq(cursor: PacketCursor): PingreqPacket {
  cursor.expectEnd()
  return pingreq
}

/** Reads a PINGRESP; returns the same object each time. */
export function decodePingresp(cursor: PacketCursor): PingrespPacket {
  cursor.expectEnd()
  return pingresp
}

/** Writes the two bytes into a new buffer, which the receiver owns. */
export function encodePing(packet: PingreqPacket | PingrespPacket): Buffer {
  return Buffer.from([packet.type === 'pingreq' ? 0xc0 : 0xd0, 0])
}
