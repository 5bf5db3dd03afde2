/** The steps from the broker to the client: subscription, token, connection, delivery. */
import { faultOfTopicFilter } from '../../lorawan/nearest-topic-filter.ts'
import type { KnownThings, TopicFault } from '../../lorawan/nearest-topic-filter.ts'
import type { BrokerAccess } from '../../identity/tokens/broker-access-records.ts'
import type { KeptRefusal, LiveConnection } from '../operation/broker-views.ts'
import type { KeptSession } from '../operation/session-views.ts'
import { remedyOf } from './remedies.ts'
import { asSentence, at, ok, problem, unknown } from './steps.ts'
import type { Step } from './steps.ts'

/** A client, as far as the asker may see it. */
export interface SeenClient {
  readonly clientId: string
  readonly session: KeptSession | undefined
  readonly connection: LiveConnection | undefined
  /** Refusals to this client, the newest first. */
  readonly refusals: readonly KeptRefusal[]
  /** The token of the client, as far as it is on record. */
  readonly token: BrokerAccess | undefined
  /** Clients without TLS, which have no name: the newest first. Only global admins see them. */
  readonly nameless: readonly KeptRefusal[]
}

/** A token that ends within this time is named in the advice. */
const SOON_MS = 3_600_000
const SHARE_PREFIX = /^\$share\/[^/]+\//

/** Whether the client is connected. */
export function connectionStep({ clientId, session, connection, refusals, nameless }: SeenClient): Step {
  if (connection !== undefined) {
    const { peer, openedAtMs } = connection.facts
    const facts = { address: peer.address, listener: peer.listener, openedAt: at(openedAtMs) }
    return ok('connection', `The client has been connected since ${at(openedAtMs)}.`, facts)
  }
  if (session?.isConnected === true) return ok('connection', 'The client is connected.')
  const refused = refusals.find(({ kind }) => kind === 'connect')
  if (refused !== undefined && refused.atMs >= (session?.awaySinceMs ?? 0)) {
    const { code, reason, atMs, address, count } = refused
    const sentence = asSentence(`the broker refused the client at ${at(atMs)}: ${reason}`)
    return problem('connection', code, [sentence, remedyOf(code)], { address, at: at(atMs), count })
  }
  if (session !== undefined) return awayStep(session)
  const [without] = nameless
  if (without !== undefined) {
    const { code, address, atMs, count } = without
    const sentence =
      `No client ${clientId} has reached the broker. A client at ${address} spoke without TLS at ${at(atMs)}, ` +
      'so it could not be asked for its name.'
    return problem('connection', code, [sentence, remedyOf(code)], { address, at: at(atMs), count })
  }
  const told = [
    `No client ${clientId} is connected, has a Session, or was refused since the service started.`,
    'Check the address, the port, TLS and the Client Identifier in the client.',
  ] as const
  return problem('connection', 'client_unknown', told)
}

function awayStep({ awaySinceMs, waiting, expirySeconds }: KeptSession): Step {
  const count = `${waiting.isAll ? '' : 'more than '}${waiting.messages}`
  const facts = {
    awaySince: at(awaySinceMs),
    waitingMessages: waiting.messages,
    waitingMessagesAreAll: String(waiting.isAll),
    sessionExpirySeconds: expirySeconds,
  }
  const sentence = `The client has been away since ${at(awaySinceMs)}, and ${count} messages wait for it.`
  const advice =
    'Start the client with the same Client Identifier and without Clean Start: it then gets the messages that wait.'
  return problem('connection', 'client_away', [sentence, advice], facts)
}

/** Whether the token is good, and for how much it is. */
export function tokenStep({ token, session, refusals }: SeenClient, nowMs: number): Step {
  if (token === undefined) {
    const refused = refusals.find(({ kind, code }) => kind === 'connect' && code.startsWith('token_'))
    if (refused !== undefined && session?.isConnected !== true) {
      return problem('token', refused.code, [asSentence(refused.reason), remedyOf(refused.code)])
    }
    if (session?.holder.serviceCredentialId !== undefined) {
      return ok('token', 'The client is a network server with a service credential, which does not expire.')
    }
    return unknown('token', 'The token of the client is not known.')
  }
  const { expiresAtMs, scope } = token
  const facts = { expiresAt: at(expiresAtMs), tokenID: token.tokenId, scope: scope && JSON.stringify(scope) }
  if (expiresAtMs <= nowMs) {
    const told = [`The token expired at ${at(expiresAtMs)}.`, remedyOf('token_expired')] as const
    return problem('token', 'token_expired', told, facts)
  }
  const soon = expiresAtMs - nowMs < SOON_MS ? ' Renew it before then.' : ''
  const narrow = scope === undefined ? '' : ' It is limited: only what its scope names comes.'
  return ok('token', `The token is good until ${at(expiresAtMs)}.${soon}${narrow}`, facts)
}

/** Whether the subscriptions of the client can match events. */
export async function subscriptionStep(
  { session, connection, refusals, token }: SeenClient,
  known: KnownThings,
): Promise<Step> {
  const topicFilters = session?.topicFilters ?? []
  // An earlier refusal was perhaps mended since.
  const refused = refusals.find(
    ({ kind, topic = '', atMs }) =>
      kind === 'subscribe' && !topicFilters.includes(topic) && atMs >= (connection?.facts.openedAtMs ?? 0),
  )
  if (refused !== undefined) return refusedSubscription(refused, known)
  if (session === undefined) return unknown('subscription', 'The subscriptions of the client are not known.')
  if (session.holder.serviceCredentialId !== undefined) {
    return ok('subscription', 'The client is a network server, and subscribes to commands.')
  }
  if (topicFilters.length === 0) {
    const told = ['The client has no subscription.', 'Let the client subscribe after each CONNACK.'] as const
    return problem('subscription', 'no_subscription', told)
  }
  for (const topicFilter of topicFilters) {
    const fault = await faultOfFilter(topicFilter, known)
    if (fault !== undefined) return faultStep(topicFilter, fault)
  }
  const outside = topicFilters.find((topicFilter) => isOutside(topicFilter, token))
  if (outside !== undefined) {
    const sentence = `The token does not let the events of ${outside} through.`
    return problem('subscription', 'token_scope', [sentence, 'Create a token whose limits include this topic.'])
  }
  const count = session.topicFilterCount === 1 ? 'The subscription' : `The ${session.topicFilterCount} subscriptions`
  return ok('subscription', `${count} of the client can match events.`, { topicFilters: topicFilters.join(', ') })
}

/** The judgement of one Topic Filter that a person asks about. */
export async function topicStep(topicFilter: string, known: KnownThings): Promise<Step> {
  const fault = await faultOfFilter(topicFilter, known)
  return fault === undefined ? ok('subscription', `Events can match ${topicFilter}.`) : faultStep(topicFilter, fault)
}

/** Topics of notices are for each client, and match nothing of others. */
async function faultOfFilter(topicFilter: string, known: KnownThings): Promise<TopicFault | undefined> {
  const behind = topicFilter.replace(SHARE_PREFIX, '')
  return behind.startsWith('$') ? undefined : faultOfTopicFilter(behind, known)
}

function faultStep(topicFilter: string, { code, reason, nearest }: TopicFault): Step {
  const sentence = `No event can match ${topicFilter}: ${reason}.`
  return problem('subscription', code, [sentence, adviceFor(nearest)], { topicFilter, nearest })
}

async function refusedSubscription({ code, reason, topic = '', atMs }: KeptRefusal, known: KnownThings): Promise<Step> {
  const fault = await faultOfFilter(topic, known)
  const why = fault?.reason ?? reason
  const sentence = `The broker refused the subscription to ${topic} at ${at(atMs)}: ${why}.`
  const advice = fault === undefined ? remedyOf(code) : adviceFor(fault.nearest)
  return problem('subscription', code, [sentence, advice], { topicFilter: topic, nearest: fault?.nearest })
}

function adviceFor(nearest: string | undefined): string {
  return nearest === undefined
    ? 'Subscribe to application/<id>/device/+/event/+ with the id of an application of the organization.'
    : `Subscribe to ${nearest}.`
}

/** True where the scope of the token names something else than the Topic Filter does. */
function isOutside(topicFilter: string, token: BrokerAccess | undefined): boolean {
  const [, applicationId = '', , devEui = '', , kind = ''] = topicFilter.replace(SHARE_PREFIX, '').split('/')
  const { applicationIds, devEuis, eventKinds } = token?.scope ?? {}
  return (
    (applicationId !== '+' && applicationIds?.includes(applicationId) === false) ||
    (devEui !== '+' && devEuis?.includes(devEui) === false) ||
    (kind !== '+' && eventKinds?.some((one) => one === kind) === false)
  )
}

/** Whether messages reach the connected client. */
export function deliveryStep({ session, connection }: SeenClient): Step {
  if (session?.isConnected !== true) return unknown('delivery', 'Nothing is delivered while the client is away.')
  const { unacknowledged, unacknowledgedSinceMs, sendMaximum, isCongested, waiting, sharedTopicFilters } = session
  const facts = {
    messagesOut: connection?.facts.carried.messagesOut,
    unacknowledged,
    unacknowledgedSince: at(unacknowledgedSinceMs),
    receiveMaximum: sendMaximum,
    waitingMessages: waiting.messages,
  }
  if (unacknowledged > 0 && unacknowledged >= sendMaximum) {
    const sentence =
      `The client has not acknowledged ${unacknowledged} messages, the first since ${at(unacknowledgedSinceMs)}: ` +
      'its Receive Maximum is used up, and it gets no further ones.'
    const advice = 'Let the client acknowledge each message by PUBACK, or restart the client.'
    return problem('delivery', 'window_full', [sentence, advice], facts)
  }
  if (isCongested) {
    const told = [
      'The client does not read what was sent to it.',
      'Look for the work that keeps the client busy.',
    ] as const
    return problem('delivery', 'slow_reader', told, facts)
  }
  if (sharedTopicFilters.length > 0) {
    const shared = sharedTopicFilters.join(', ')
    return unknown('delivery', `Other clients share ${shared}: each event goes to one of them.`, facts)
  }
  if (waiting.messages > 0) {
    return unknown('delivery', `The client catches up: ${waiting.messages} messages wait for it.`, facts)
  }
  return ok('delivery', `The client has taken ${connection?.facts.carried.messagesOut ?? 0} messages.`, facts)
}
