/** The way from a packet to its bytes; each packet type has a file of its own. */
import { encodeAcknowledgement } from './acknowledgement.ts'
import { encodeAuth } from './auth.ts'
import { encodeConnack } from './connack.ts'
import { encodeConnect } from './connect.ts'
import { encodeDisconnect } from './disconnect.ts'
import type { Packet, ProtocolVersion } from './packet.ts'
import { encodePing } from './ping.ts'
import { encodePublishPacket } from './publish.ts'
import { encodeSuback } from './suback.ts'
import { encodeSubscribe } from './subscribe.ts'
import { encodeUnsuback } from './unsuback.ts'
import { encodeUnsubscribe } from './unsubscribe.ts'

/**
 * The packet as a buffer of its own. Fields that MQTT 3.1.1 does not have are left out, or become
 * the nearest value that it has; a CONNECT is written in its own `protocolVersion`. The caller
 * makes sure that the values are allowed. Throws RangeError for values that have no form on the
 * wire: a string or binary value above 65,535 bytes, a string with U+0000, a packet above
 * 268,435,455 bytes, a number too great for its field, AUTH in MQTT 3.1.1.
 */
export function encodePacket(packet: Packet, protocolVersion: ProtocolVersion): Buffer {
  switch (packet.type) {
    case 'connect':
      return encodeConnect(packet)
    case 'connack':
      return encodeConnack(packet, protocolVersion)
    case 'publish':
      return encodePublishPacket(packet, protocolVersion)
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return encodeAcknowledgement(packet, protocolVersion)
    case 'subscribe':
      return encodeSubscribe(packet, protocolVersion)
    case 'suback':
      return encodeSuback(packet, protocolVersion)
    case 'unsubscribe':
      return encodeUnsubscribe(packet, protocolVersion)
    case 'unsuback':
      return encodeUnsuback(packet, protocolVersion)
    case 'pingreq':
    case 'pingresp':
      return encodePing(packet)
    case 'disconnect':
      return encodeDisconnect(packet, protocolVersion)
    case 'auth':
      break
  }
  if (protocolVersion === 4) throw new RangeError('MQTT 3.1.1 has no AUTH')
  return encodeAuth(packet)
}
