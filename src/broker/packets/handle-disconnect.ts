/** DISCONNECT: the client's orderly end, with or without its Will Message. */
import type { DisconnectPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import type { HandlerParts } from './handler-parts.ts'

export function handleDisconnect(
  { limits, log }: Pick<HandlerParts, 'limits' | 'log'>,
  connection: Connection,
  packet: DisconnectPacket,
): void {
  const expiry = packet.properties?.sessionExpiryIntervalSeconds
  if (expiry !== undefined) {
    const { session } = connection
    if (session.expirySeconds === 0 && expiry > 0) {
      connection.disconnect(ReasonCodes.protocolError, 'a Session that was to end can not be kept', 'session_expiry') // MQTT 5.0 §3.14.2.2.2
      return
    }
    session.expirySeconds = Math.min(expiry, limits.maximumSessionExpirySeconds)
  }
  if (packet.reasonCode === ReasonCodes.success) connection.will = undefined // [MQTT-3.14.4-3]
  log.debug({ clientId: connection.clientId, reasonCode: packet.reasonCode }, 'connection.disconnected')
  connection.close()
}
