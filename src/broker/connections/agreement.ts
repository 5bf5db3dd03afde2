/** The results of CONNECT, given to the connection at once. */
import type { ProtocolVersion, WillMessage } from '../../mqtt/packet.ts'
import type { Permit } from '../ports/policy.ts'
import type { Session } from '../sessions/session.ts'

export interface Agreement {
  readonly protocolVersion: ProtocolVersion
  readonly session: Session
  readonly permit: Permit
  readonly will: WillMessage | undefined
  readonly keepAliveSeconds: number
  /** QoS 1 and 2 messages that the client takes at once, cut to our own bound. */
  readonly sendMaximum: number
  readonly outgoingTopicAliasMaximum: number
  /**
   * False: no Reason String and User Properties but on PUBLISH, CONNACK and DISCONNECT
   * [MQTT-3.1.2-29].
   */
  readonly requestProblemInformation: boolean
  readonly authenticationMethod: string | undefined
}
