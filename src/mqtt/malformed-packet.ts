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
 * The bytes are no packet that the sender may send: the connection ends [MQTT-4.13.1-1]
 * [MQTT311-4.8.0-1]. The message names the place and never holds anything that the sender sent but
 * numbers.
 */
export class MalformedPacketError extends Error {
  override readonly name = 'MalformedPacketError'
  /** What CONNACK or DISCONNECT tell the sender. */
  readonly reasonCode: ReasonCode
  /** The packet that was being read; undefined when its type is not known. */
  readonly packetType: PacketType | undefined
  /**
   * The protocol to answer in: for a CONNECT the nearest one to the level that it asks for.
   * Undefined when the sender did not get as far as to say, or speaks something else: close without
   * an answer.
   */
  readonly protocolVersion: ProtocolVersion | undefined

  constructor(reasonCode: ReasonCode, message: string, packetType?: PacketType, protocolVersion?: ProtocolVersion) {
    super(message)
    this.reasonCode = reasonCode
    this.packetType = packetType
    this.protocolVersion = protocolVersion
  }
}
