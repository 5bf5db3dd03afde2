/** The connection of a Session, as the parts of the broker that serve Sessions know it. */
import type { ProtocolVersion, QoS, WillMessage } from '../../mqtt/packet.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Message } from '../ports/message.ts'
import type { Peer, Permit } from '../ports/policy.ts'
import type { ReceiveWindow } from './receive-window.ts'

export interface SessionLink {
  readonly clientId: string | undefined
  readonly peer: Peer
  readonly protocolVersion: ProtocolVersion
  readonly permit: Permit
  /** The permit's own `mayReceive`. */
  readonly mayReceive: Permit['mayReceive']
  /** The Will Message that is owed when the connection ends; undefined when there is none. */
  will: WillMessage | undefined
  readonly isClosed: boolean
  /** True at the bound of bytes buffered towards the client: nothing more may be sent. */
  readonly congested: boolean
  /** QoS 1 and 2 messages that the client takes at once. */
  readonly sendMaximum: number
  /** The messages that the client has published and that are still under way. */
  readonly window: ReceiveWindow
  /**
   * Sends a PUBLISH. False when the packet is larger than the client takes: then it was not sent
   * [MQTT-3.1.2-24].
   */
  sendPublish(
    message: Message,
    qos: QoS,
    retain: boolean,
    dup: boolean,
    packetId: number,
    subscriptionIdentifiers: readonly number[] | undefined,
  ): boolean
  /**
   * Sends PUBACK, PUBREC, PUBREL or PUBCOMP; Reason Code and Reason String are left out where the
   * version or the client has no room for them.
   */
  sendAcknowledgement(
    type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp',
    packetId: number,
    reasonCode?: ReasonCode,
    reason?: string,
  ): void
  /** Ends the connection from our side [MQTT-4.13.1-1]. */
  disconnect(reasonCode: ReasonCode, reason: string, code: string): void
  /** Ends the connection once everything that was read of it is handled and owned. */
  endWhenRead(reasonCode: ReasonCode, reason: string, code: string): void
}
