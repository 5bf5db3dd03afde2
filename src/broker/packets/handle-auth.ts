/**
 * AUTH: a client renews its permit with a fresh credential on the same connection (MQTT 5.0
 * §4.12.1).
 */
import type { AuthPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import { expiryProperties } from './expiry-properties.ts'
import type { HandlerParts } from './handler-parts.ts'

type AuthParts = Pick<HandlerParts, 'policy' | 'refusals' | 'sessions' | 'expiryProperty'>

export function handleAuth(parts: AuthParts, connection: Connection, packet: AuthPacket): Promise<void> | undefined {
  const method = connection.authenticationMethod
  if (method === undefined) {
    connection.disconnect(
      ReasonCodes.protocolError,
      'AUTH without an Authentication Method in CONNECT',
      'auth_unexpected',
    ) // [MQTT-4.12.0-6]
    return undefined
  }
  if (packet.reasonCode !== ReasonCodes.reAuthenticate || packet.properties?.authenticationMethod !== method) {
    connection.disconnect(
      ReasonCodes.protocolError,
      'AUTH is not a re-authentication by the same method',
      'auth_unexpected',
    ) // [MQTT-4.12.1-1]
    return undefined
  }
  return renew(parts, connection, packet, method)
}

async function renew(
  { policy, refusals, sessions, expiryProperty }: AuthParts,
  connection: Connection,
  packet: AuthPacket,
  method: string,
): Promise<void> {
  const held = connection.permit
  const admission = await policy.reauthenticate(held, packet.properties?.authenticationData)
  if (connection.isClosed) return
  if (!admission.allowed) {
    refusals.record(connection, {
      kind: 'connect',
      code: admission.code,
      reason: admission.reason,
      topic: undefined,
    })
    connection.disconnect(admission.reasonCode, admission.reason, admission.code) // [MQTT-4.12.1-2]
    return
  }
  const { permit } = admission
  if (permit.tenant !== held.tenant || permit.identity !== held.identity) {
    connection.disconnect(
      ReasonCodes.notAuthorized,
      'the new credential is of another user or organization, or has other limits',
      'auth_other_identity',
    )
    return
  }
  connection.holdPermit(permit)
  sessions.dropRefusedSubscriptions(connection.session, permit)
  const userProperties = connection.wantsReasons ? expiryProperties(expiryProperty, permit) : undefined
  const properties = { authenticationMethod: method, userProperties }
  connection.send({ type: 'auth', reasonCode: ReasonCodes.success, properties })
}
