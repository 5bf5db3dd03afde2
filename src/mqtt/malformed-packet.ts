/** The error of bytes that are not a packet, with all that the answer to them needs. */
import type { ProtocolVersion } from './packet.ts'
import type { ReasonCode } from './reason-codes.ts'

/** The Control Packets by their names in `Packet.type`. */
export type PacketType =
  | 'connect'
  | 'connack'
  | 'publish'
  | 'puback'
  | 'pubrec'
  | 'pubrel'
  | 'pubcomp'
  | 'subscribe'
  | 'suback'
  | 'unsubscribe'
  | 'unsuback'
  | 'pingreq'
  | 'pingresp'
  | 'disconnect'
  | 'auth'

/**
 * The bytes are not a packet that the sender may send: the connection ends [MQTT-4.13.1-1]
 * [MQTT311-4.8.0-1]. The message names the place in the packet. It repeats nothing of the packet
 * except numbers.
 */
export class MalformedPacketError extends Error {
  override readonly name = 'MalformedPacketError'
  /** The Reason Code for the sender, in CONNACK or DISCONNECT. */
  readonly reasonCode: ReasonCode
  /** The packet that was being read; undefined when its type is unknown. */
  readonly packetType: PacketType | undefined
  /**
   * The protocol version to answer in; for a CONNECT, the version nearest to the level that it asks
   * for. Undefined when the sender has named no version yet, or speaks another protocol: then the
   * connection is closed without an answer.
   */
  readonly protocolVersion: ProtocolVersion | undefined

  constructor(reasonCode: ReasonCode, message: string, packetType?: PacketType, protocolVersion?: ProtocolVersion) {
    super(message)
    this.reasonCode = reasonCode
    this.packetType = packetType
    this.protocolVersion = protocolVersion
  }
}
