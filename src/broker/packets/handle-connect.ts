/** CONNECT, as a list of named steps; the first step that refuses ends it. */
import type { ConnackProperties, ConnectPacket, WillMessage } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { Topic } from '../../mqtt/topic.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import { accountOf } from '../ports/policy.ts'
import type { Permit, PermitEnd, PermitHolder } from '../ports/policy.ts'
import type { Session } from '../sessions/session.ts'
import { expiryProperties } from './expiry-properties.ts'
import type { HandlerParts } from './handler-parts.ts'
import type { SessionMoves } from '../restoring/session-moves.ts'
import { isTopicWithin } from '../ports/limits.ts'
import type { Limits } from '../ports/limits.ts'

type ConnectParts = Pick<
  HandlerParts,
  | 'policy'
  | 'limits'
  | 'clock'
  | 'connections'
  | 'delivery'
  | 'sessions'
  | 'store'
  | 'wills'
  | 'moves'
  | 'randomId'
  | 'expiryProperty'
>

/** A CONNECT that the policy admits. */
interface AdmittedConnect {
  readonly connection: Connection
  readonly packet: ConnectPacket
  readonly permit: Permit
  readonly clientId: string
  /** The Session of this Client Identifier, if there is one already. */
  readonly known: Session | undefined
}

/** MQTT 5.0 §3.1.2.11.3: the Receive Maximum when a client names none. */
const DEFAULT_RECEIVE_MAXIMUM = 65_535
/** The Session Expiry Interval that means "never". */
const NEVER_EXPIRES = 0xffff_ffff

export async function handleConnect(parts: ConnectParts, connection: Connection, packet: ConnectPacket): Promise<void> {
  const { limits, policy, connections, sessions, clock } = parts
  if (!connection.judging(packet.properties?.maximumPacketSizeBytes ?? Infinity)) {
    connection.disconnect(ReasonCodes.protocolError, 'a second CONNECT', 'second_connect') // [MQTT-3.1.0-2]
    return
  }
  const { clientId: askedClientId } = packet
  const refuse = (reasonCode: ReasonCode, reason: string, code: string, holder?: PermitHolder): void =>
    connection.refuse(reasonCode, reason, code, { clientId: askedClientId, holder })

  const clientId = clientIdOf(parts, packet)
  if (clientId === undefined) {
    refuse(
      ReasonCodes.clientIdentifierNotValid,
      'the Client Identifier is empty or too long for this server',
      'client_id_invalid',
    )
    return
  }
  const { will } = packet
  const fault = whyLeaving(connections) ?? (will && willFault(limits, will))
  if (fault !== undefined) {
    refuse(fault.reasonCode, fault.reason, fault.code)
    return
  }

  const admission = await policy.authenticate({
    protocolVersion: packet.protocolVersion,
    clientId,
    userName: packet.userName,
    password: packet.password,
    authenticationMethod: packet.properties?.authenticationMethod,
    authenticationData: packet.properties?.authenticationData,
    peer: connection.peer,
  })
  if (connection.isClosed) return
  if (!admission.allowed) {
    refuse(admission.reasonCode, admission.reason, admission.code, admission.holder)
    return
  }
  const { permit } = admission
  // Nothing more is done for a CONNECT beyond the rate: a storm of them must stay cheap.
  const overRate = connections.accounts.whyTooManyConnects(accountOf(permit), clock.steady())
  if (overRate !== undefined) {
    connection.refuse(ReasonCodes.connectionRateExceeded, overRate, 'connection_rate', {
      clientId: askedClientId,
      holder: permit,
      isLogged: true,
    })
    return
  }
  if (will !== undefined) {
    const decision = await permit.mayPublish(new Topic(will.topicName))
    if (connection.isClosed) return
    if (!decision.allowed) {
      refuse(decision.reasonCode, `the Will Message: ${decision.reason}`, decision.code, permit)
      return
    }
  }
  if (parts.moves !== undefined && !(await acquire(parts.moves, connection, permit, clientId, packet))) return
  const known = sessions.find(permit, clientId)
  const late = whyLeaving(connections) ?? whyFull(parts, permit, known)
  if (late !== undefined) {
    refuse(late.reasonCode, late.reason, late.code, permit)
    parts.moves?.releaseUnused(permit, clientId)
    return
  }
  accept(parts, { connection, packet, permit, clientId, known })
}

/** The reason why the service takes no clients any more; undefined where it does. */
function whyLeaving({ isClosing, isDraining }: HandlerParts['connections']): PermitEnd | undefined {
  if (isClosing) {
    const reason = 'the server is shutting down'
    return { reasonCode: ReasonCodes.serverShuttingDown, reason, code: 'shutting_down' }
  }
  if (!isDraining) return undefined
  return {
    reasonCode: ReasonCodes.serverUnavailable,
    reason: 'the service drains: connect again',
    code: 'node_draining',
  }
}

/** Brings the client's Session to this node. False: the connection is over. */
async function acquire(
  moves: SessionMoves,
  connection: Connection,
  permit: Permit,
  clientId: string,
  { clientId: askedClientId }: ConnectPacket,
): Promise<boolean> {
  try {
    await moves.acquire(permit, clientId)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const of = { clientId: askedClientId, holder: permit }
    connection.refuse(ReasonCodes.serverUnavailable, reason, 'session_elsewhere', of)
    // This node is not the home of the Session: there is nothing to release.
    return false
  }
  if (connection.isClosed) moves.releaseUnused(permit, clientId)
  return !connection.isClosed
}

/** The fault of a Will Message by itself; undefined where it has none. */
function willFault(limits: Limits, { qos, retain, topicName }: WillMessage): PermitEnd | undefined {
  if (qos > limits.maximumQoS) {
    return { reasonCode: ReasonCodes.qosNotSupported, reason: 'the Will QoS is above the maximum', code: 'will_qos' } // [MQTT-3.2.2-12]
  }
  if (retain && !limits.retainAvailable) {
    const reason = 'retained messages are not available'
    return { reasonCode: ReasonCodes.retainNotSupported, reason, code: 'will_retain' } // [MQTT-3.2.2-13]
  }
  if (isTopicWithin(topicName, limits)) return undefined
  const reason = 'the Will Topic is too long or too deep'
  return { reasonCode: ReasonCodes.topicNameInvalid, reason, code: 'will_topic' }
}

/** The bound that has no room for the connection or its Session; undefined where all have room. */
function whyFull(
  { connections, sessions }: ConnectParts,
  permit: Permit,
  known: Session | undefined,
): PermitEnd | undefined {
  if (known?.connection === undefined && !connections.hasRoomFor(permit)) {
    return { reasonCode: ReasonCodes.quotaExceeded, reason: 'too many connections', code: 'too_many_connections' }
  }
  // A Session in the place of an earlier one needs no room.
  const reason = known === undefined ? sessions.whyFull(permit) : undefined
  if (reason === undefined) return undefined
  return { reasonCode: ReasonCodes.quotaExceeded, reason, code: 'too_many_sessions' }
}

/** Nothing waits from here on: the take-over and the new connection are one step. */
function accept(parts: ConnectParts, { connection, packet, permit, clientId, known }: AdmittedConnect): void {
  const { limits, connections, delivery, sessions, store, wills } = parts
  if (known?.connection !== undefined) {
    known.connection.disconnect(
      ReasonCodes.sessionTakenOver,
      'another connection uses this Client Identifier',
      'taken_over',
    ) // [MQTT-3.1.4-3]
  }
  // The take-over may have ended the Session.
  let session = sessions.find(permit, clientId)
  if (session !== undefined && packet.cleanStart) {
    sessions.end(session) // [MQTT-3.1.2-4]
    session = undefined
  }
  const sessionPresent = session !== undefined
  session ??= sessions.create(permit, clientId)
  sessions.wake(session)
  wills.cancel(session)
  session.expirySeconds = expiryOf(limits, packet, permit)
  const properties = packet.properties ?? {}
  const keepAliveSeconds = keepAliveOf(limits, packet)
  session.connection = connection
  session.connectionEpoch += 1
  connection.accepted({
    protocolVersion: packet.protocolVersion,
    session,
    permit,
    will: packet.will,
    keepAliveSeconds,
    sendMaximum: Math.min(properties.receiveMaximum ?? DEFAULT_RECEIVE_MAXIMUM, limits.maximumInflight),
    outgoingTopicAliasMaximum: Math.min(properties.topicAliasMaximum ?? 0, limits.outgoingTopicAliasMaximum),
    requestProblemInformation: properties.requestProblemInformation ?? true,
    authenticationMethod: properties.authenticationMethod,
  })
  connections.accepted(connection)
  const isKept = store?.keeps(session) === true
  const holdsWill = isKept && packet.will !== undefined
  // CONNACK says that the Will Message is stored, as the client's Session is [MQTT-3.1.2-7].
  if (holdsWill) connection.holdOutput()
  connection.send({
    type: 'connack',
    sessionPresent, // [MQTT-3.2.2-2], [MQTT-3.2.2-3]
    reasonCode: ReasonCodes.success,
    properties: connackProperties(parts, connection, packet, clientId),
  })
  // The CONNACK may have been too large for the client.
  if (sessionPresent && !connection.isClosed) {
    // Subscriptions that the permit no longer allows are not inherited.
    sessions.dropRefusedSubscriptions(session, permit)
    delivery.attach(session)
    delivery.readerReady(session)
  }
  // From here on the Session is live: after a restart, messages behind its saved cursor may have
  // reached the client already.
  const saved = (): void => {
    if (holdsWill) connection.releaseOutput()
  }
  // The next checkpoint tries again where the engine has refused.
  if (isKept) store.save(session, saved, saved)
  else store?.forget(session)
}

/**
 * The Client Identifier, or one that we assign [MQTT-3.1.3-6]; undefined when it can't be accepted.
 */
function clientIdOf({ limits, randomId }: ConnectParts, packet: ConnectPacket): string | undefined {
  if (packet.clientId === '') {
    // MQTT 3.1.1 has no way to tell the client [MQTT311-3.1.3-8].
    if (packet.protocolVersion === 4 && !packet.cleanStart) return undefined
    return `fieldgate-${randomId()}`
  }
  return Buffer.byteLength(packet.clientId) <= limits.maximumClientIdBytes ? packet.clientId : undefined
}

function expiryOf(limits: Limits, packet: ConnectPacket, permit: Permit): number {
  const maximum = limits.maximumSessionExpirySeconds
  if (packet.protocolVersion === 4) return packet.cleanStart ? 0 : maximum
  const unlessAsked = packet.cleanStart ? 0 : (permit.defaultSessionExpirySeconds ?? 0)
  const asked = packet.properties?.sessionExpiryIntervalSeconds ?? unlessAsked
  return Math.min(asked === NEVER_EXPIRES ? Infinity : asked, maximum)
}

function keepAliveOf(limits: Limits, packet: ConnectPacket): number {
  const maximum = limits.maximumKeepAliveSeconds
  const asked = packet.keepAliveSeconds
  if (maximum === 0 || packet.protocolVersion === 4) return asked
  return asked === 0 || asked > maximum ? maximum : asked
}

function connackProperties(
  { limits, expiryProperty }: ConnectParts,
  connection: Connection,
  packet: ConnectPacket,
  clientId: string,
): ConnackProperties {
  const { session, keepAliveSeconds } = connection
  const asked = packet.properties?.sessionExpiryIntervalSeconds ?? 0
  return {
    sessionExpiryIntervalSeconds: asked === session.expirySeconds ? undefined : session.expirySeconds,
    receiveMaximum: connection.receiveMaximum,
    maximumQoS: limits.maximumQoS === 2 ? undefined : limits.maximumQoS,
    retainAvailable: limits.retainAvailable ? undefined : false,
    maximumPacketSizeBytes: limits.maximumPacketSizeBytes,
    assignedClientIdentifier: packet.clientId === '' ? clientId : undefined,
    topicAliasMaximum: limits.topicAliasMaximum === 0 ? undefined : limits.topicAliasMaximum,
    serverKeepAliveSeconds: keepAliveSeconds === packet.keepAliveSeconds ? undefined : keepAliveSeconds,
    authenticationMethod: packet.properties?.authenticationMethod,
    userProperties: expiryProperties(expiryProperty, connection.permit),
  }
}
