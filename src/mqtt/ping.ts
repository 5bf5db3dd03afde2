/** PINGREQ and PINGRESP (MQTT 5.0 §3.12 and §3.13, MQTT 3.1.1 likewise): a fixed header alone. */
import type { PacketCursor } from './packet-cursor.ts'
import type { PingreqPacket, PingrespPacket } from './packet.ts'

const pingreq: PingreqPacket = Object.freeze({ type: 'pingreq' })
const pingresp: PingrespPacket = Object.freeze({ type: 'pingresp' })

/** The same object each time. */
export function decodePingreq(cursor: PacketCursor): PingreqPacket {
  cursor.expectEnd()
  return pingreq
}

/** The same object each time. */
export function decodePingresp(cursor: PacketCursor): PingrespPacket {
  cursor.expectEnd()
  return pingresp
}

/** Two bytes, for the receiver alone: the buffer is new. */
export function encodePing(packet: PingreqPacket | PingrespPacket): Buffer {
  return Buffer.from([packet.type === 'pingreq' ? 0xc0 : 0xd0, 0])
}
