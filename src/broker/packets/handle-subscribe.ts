/**
 * SUBSCRIBE: one Reason Code a Topic Filter, in order; then the retained messages that go with the
 * new subscriptions.
 */
import type { QoS, SubscribePacket, SubscriptionRequest } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import { isValidTopicFilter, matches, parseSharedSubscription } from '../../mqtt/topic-filter.ts'
import type { Connection } from '../connections/connection.ts'
import { EXPIRY_TOPIC_NAME } from '../delivery/expiry-notice.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { sharedNameOf } from '../ports/policy.ts'
import type { Permit, Unmatched } from '../ports/policy.ts'
import { reasonCodeFor } from '../connections/reason-code-for.ts'
import { findReplayStart, replayProperty, splitReplayFilter } from './replay.ts'
import type { ReplayStart } from './replay.ts'
import { saveSession } from './save-session.ts'
import type { Message } from '../ports/message.ts'
import { branchOf, wasWithin } from '../sessions/own-branches.ts'
import type { Subscription } from '../sessions/session.ts'
import { SharedGroup } from '../sessions/shared-group.ts'
import type { HandlerParts } from './handler-parts.ts'
import { isTopicWithin } from '../ports/limits.ts'

type SubscribeParts = Pick<
  HandlerParts,
  'engine' | 'limits' | 'clock' | 'counters' | 'refusals' | 'delivery' | 'retained' | 'sessions' | 'store' | 'groups'
>

export function handleSubscribe(
  parts: SubscribeParts,
  connection: Connection,
  packet: SubscribePacket,
): Promise<void> | undefined {
  const wishes = wishesOf(packet)
  // The messages that the client published before must be in the log, and its retained messages in
  // place, before it subscribes.
  const settled = connection.hasPending ? connection.window.settled() : undefined
  // Where topics may have belonged to another tenant, the age of their retained messages is
  // checked.
  const mayBeOlder = connection.permit.belongsSinceMs !== undefined && parts.retained.count > 0
  const why = explain(connection, wishes)
  const groups = parts.groups?.prepare(groupKeysOf(connection, wishes))
  const waits = settled !== undefined || groups !== undefined || mayBeOlder || why.some((one) => one instanceof Promise)
  if (!waits && !wishes.some(({ replayFrom }) => replayFrom !== undefined)) {
    return subscribeAll(parts, connection, packet, { wishes, pasts: [], why: why as Explanations })
  }
  return prepareAndSubscribe(parts, connection, packet, wishes, { settled, groups, why })
}

/**
 * By Topic Filter: why nothing can match it at present; undefined where something can match, or
 * where the policy was not asked.
 */
type Explanations = readonly (Unmatched | undefined)[]

/**
 * The number of Topic Filters of one SUBSCRIBE that are explained: the Reason String has room for
 * no more, and each may cost a look-up.
 */
const MAXIMUM_EXPLAINED = 20

/** Asks the policy only for a client that can be told. */
function explain(
  { permit, wantsReasons }: Connection,
  wishes: readonly Wish[],
): readonly (Unmatched | undefined | Promise<Unmatched | undefined>)[] {
  if (permit.whyUnmatched === undefined || !wantsReasons) return []
  return wishes.slice(0, MAXIMUM_EXPLAINED).map(({ topicFilter }) => {
    if (!isValidTopicFilter(topicFilter)) return undefined
    const shared = parseSharedSubscription(topicFilter)
    if (shared === 'invalid') return undefined
    const asked = shared?.topicFilter ?? topicFilter
    if (!permit.maySubscribe(asked).allowed) return undefined
    const why = permit.whyUnmatched?.(asked)
    // A look-up that fails is no reason to keep the client waiting.
    return why instanceof Promise ? why.catch(() => undefined) : why
  })
}

/** The groups that the client may join by these Topic Filters. */
function groupKeysOf({ permit }: Connection, wishes: readonly Wish[]): readonly string[] {
  const keys: string[] = []
  for (const { topicFilter } of wishes) {
    const shared = isValidTopicFilter(topicFilter) ? parseSharedSubscription(topicFilter) : undefined
    if (shared === undefined || shared === 'invalid' || !permit.maySubscribe(shared.topicFilter).allowed) continue
    keys.push(SharedGroup.key(permit.tenant, sharedNameOf(permit.identity, shared.shareName), shared.topicFilter))
  }
  return keys
}

/** A SUBSCRIBE with everything that was looked up for it. */
interface Prepared {
  readonly wishes: readonly Wish[]
  readonly pasts: readonly Past[]
  readonly why: Explanations
}

/** One Topic Filter of a SUBSCRIBE, without its replay prefix. */
interface Wish {
  readonly request: SubscriptionRequest
  readonly topicFilter: string
  readonly replayFrom: string | undefined
}

/** The older messages that a new subscription may receive. */
interface Past {
  /** Messages older than this do not belong to the tenant; ms since 1970. */
  readonly sinceMs: number
  readonly start: ReplayStart | undefined
}

const ALL_PAST: Past = { sinceMs: 0, start: undefined }

interface Outcome {
  readonly reasonCode: ReasonCode
  readonly reason?: string
  /** Set when the subscription was granted and its retained messages are to be sent. */
  readonly subscription?: Subscription
}

function wishesOf(packet: SubscribePacket): readonly Wish[] {
  const property = replayProperty(packet)
  return packet.subscriptions.map((request) => {
    const { topicFilter, from } = splitReplayFilter(request.topicFilter)
    return { request, topicFilter, replayFrom: from ?? property }
  })
}

async function prepareAndSubscribe(
  parts: SubscribeParts,
  connection: Connection,
  packet: SubscribePacket,
  wishes: readonly Wish[],
  before: {
    readonly settled: Promise<void> | undefined
    readonly groups: Promise<void> | undefined
    readonly why: ReturnType<typeof explain>
  },
): Promise<void> {
  try {
    await before.groups
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    refuseAll(parts, connection, packet, [], { reasonCode: ReasonCodes.unspecifiedError, reason })
    return
  }
  await before.settled
  const pasts: Past[] = []
  for (const wish of wishes) pasts.push(await pastOf(parts, connection, wish))
  const why: (Unmatched | undefined)[] = []
  for (const one of before.why) why.push(await one)
  await subscribeAll(parts, connection, packet, { wishes, pasts, why })
}

/** Looks nothing up for a client that may not subscribe. */
async function pastOf(parts: SubscribeParts, connection: Connection, wish: Wish): Promise<Past> {
  const { topicFilter, replayFrom } = wish
  const { permit } = connection
  if (connection.isClosed || !isValidTopicFilter(topicFilter)) return ALL_PAST
  if (parseSharedSubscription(topicFilter) !== undefined) {
    return replayFrom === undefined ? ALL_PAST : { sinceMs: 0, start: NO_SHARED_REPLAY }
  }
  if (!permit.maySubscribe(topicFilter).allowed) return ALL_PAST
  const sinceMs = (await permit.belongsSinceMs?.(topicFilter)) ?? 0
  return { sinceMs, start: await replayStart(parts, connection, wish, sinceMs) }
}

const NO_SHARED_REPLAY: ReplayStart = {
  reasonCode: ReasonCodes.implementationSpecificError,
  reason: 'a shared subscription can not be caught up: it has one place in the log for all of its members',
}

/**
 * The offsets from which the log is to be read. Undefined for a client that does not ask for a
 * replay, or whose replay is under way already.
 */
async function replayStart(
  parts: SubscribeParts,
  connection: Connection,
  { topicFilter, replayFrom }: Wish,
  sinceMs: number,
): Promise<ReplayStart | undefined> {
  if (replayFrom === undefined) return undefined
  // A client that comes back and subscribes again goes on where it was.
  if (connection.session.subscriptions.get(topicFilter)?.replayFrom === replayFrom) return undefined
  return findReplayStart(parts.engine, parts.delivery.partitionsOf(topicFilter), replayFrom, sinceMs)
}

function subscribeAll(
  parts: SubscribeParts,
  connection: Connection,
  packet: SubscribePacket,
  { wishes, pasts, why }: Prepared,
): Promise<void> | undefined {
  if (connection.isClosed) return undefined
  const { session } = connection
  const before = wishes.map(({ topicFilter }) => {
    const isUnsaved = session.unsavedSubscriptions?.has(topicFilter) === true
    return { topicFilter, subscription: session.subscriptions.get(topicFilter), isUnsaved }
  })
  const outcomes = wishes.map((wish, index) => subscribe(parts, connection, packet, wish, pasts[index]?.start))
  const told = (): void => {
    if (connection.isClosed) return
    connection.send({
      type: 'suback',
      packetId: packet.packetId,
      reasonCodes: outcomes.map(({ reasonCode }) => reasonCode), // [MQTT-3.8.4-6]
      properties: connection.reasonProperties(reasonOf(outcomes, wishes, why, connection.permit)),
    })
    // The same Topic Filter may stand in the packet a thousand times: its retained messages are
    // looked for once.
    const last = new Map(outcomes.map(({ subscription }) => [subscription?.topicFilter, subscription]))
    for (const [index, { subscription }] of outcomes.entries()) {
      if (subscription === undefined || last.get(subscription.topicFilter) !== subscription) continue
      const { sinceMs } = pasts[index] ?? ALL_PAST
      const messages = retainedFor(parts, subscription, sinceMs)
      if (messages.length > 0) parts.delivery.sendRetained(session, messages, subscription)
    }
    if (outcomes.some((outcome, index) => isNoticeGranted(outcome, wishes[index]))) connection.expiryNoticeWanted()
    parts.delivery.readerReady(session)
  }
  return saveSession(parts.store, session, told, (failure) => {
    for (const { topicFilter, subscription, isUnsaved } of before.toReversed()) {
      if (subscription !== undefined) {
        parts.sessions.subscribe(session, subscription)
        continue
      }
      // A checkpoint may have written it meanwhile: then the state must forget it.
      const isWritten = session.unsavedSubscriptions?.has(topicFilter) !== true
      parts.sessions.unsubscribe(session, topicFilter)
      // The state never had it. A disk that stays full must not make a list of such Topic Filters.
      if (!isUnsaved && !isWritten) session.unsavedSubscriptions?.delete(topicFilter)
    }
    refuseAll(parts, connection, packet, outcomes, failure)
  })
}

/** True for a subscription that brings the notice before the permit's end. */
function isNoticeGranted({ reasonCode }: Outcome, wish: Wish | undefined): boolean {
  const topicFilter = wish?.topicFilter ?? ''
  return reasonCode < 0x80 && topicFilter.startsWith('$notice/') && matches(topicFilter, EXPIRY_TOPIC_NAME)
}

/**
 * The reason of the first refusal. Without a refusal: why a granted subscription gets nothing at
 * present, or less than it reads.
 */
function reasonOf(
  outcomes: readonly Outcome[],
  wishes: readonly Wish[],
  why: Explanations,
  permit: Permit,
): string | undefined {
  const refused = outcomes.find(({ reason }) => reason !== undefined)
  if (refused !== undefined) return refused.reason
  const first = why.findIndex((unmatched) => unmatched !== undefined)
  if (first < 0) return whyNarrower(wishes, permit)
  const more = why.filter((unmatched) => unmatched !== undefined).length - 1
  const others = more === 0 ? '' : ` (and ${more} more of this SUBSCRIBE)`
  return `granted, but nothing matches ${wishes[first]?.topicFilter}: ${why[first]?.reason}${others}`
}

/**
 * The retained messages of a subscription. Within branches each branch is asked for: the messages
 * of other tenants are not gone through.
 */
function retainedFor(
  { retained, clock }: Pick<SubscribeParts, 'retained' | 'clock'>,
  { topicFilter, branches }: Subscription,
  sinceMs: number,
): readonly Message[] {
  const now = clock.steady()
  if (branches === undefined) return retained.match(topicFilter, now).filter(({ ownedAtMs }) => ownedAtMs >= sinceMs)
  const rest = topicFilter.slice(branchOf(topicFilter).length)
  return [...branches.keys()]
    .flatMap((branch) => retained.match(branch + rest, now))
    .filter((message) => wasWithin(branches, message))
}

/** The first granted subscription that brings less than its Topic Filter reads. */
function whyNarrower(wishes: readonly Wish[], permit: Permit): string | undefined {
  if (permit.whyNarrower === undefined) return undefined
  for (const { topicFilter } of wishes.slice(0, MAXIMUM_EXPLAINED)) {
    const shared = parseSharedSubscription(topicFilter)
    const only = shared === 'invalid' ? undefined : permit.whyNarrower(shared?.topicFilter ?? topicFilter)
    if (only !== undefined) return `granted, but the token lets only a part of ${topicFilter} through: ${only}`
  }
  return undefined
}

/**
 * A subscription that can't be stored was not granted: a client that hears nothing would wait, and
 * a client that hears success would rely on it.
 */
function refuseAll(
  parts: SubscribeParts,
  connection: Connection,
  packet: SubscribePacket,
  outcomes: readonly Outcome[],
  { reasonCode, reason }: EngineFailure,
): void {
  if (connection.isClosed) return
  const refused = reasonCodeFor('suback', reasonCode)
  for (const [index, { topicFilter }] of packet.subscriptions.entries()) {
    if ((outcomes[index]?.reasonCode ?? 0) >= 0x80) continue
    parts.counters.subscribesRefused += 1
    const refusal = { kind: 'subscribe', code: 'not_owned', reason, topic: topicFilter } as const
    parts.refusals.refused(connection, refusal, { topicFilter, reasonCode })
  }
  connection.send({
    type: 'suback',
    packetId: packet.packetId,
    // [MQTT-3.8.4-6]
    reasonCodes: packet.subscriptions.map((_, index) => {
      const outcome = outcomes[index]
      return outcome !== undefined && outcome.reasonCode >= 0x80 ? outcome.reasonCode : refused
    }),
    properties: connection.reasonProperties(reason),
  })
}

function subscribe(
  parts: SubscribeParts,
  connection: Connection,
  packet: SubscribePacket,
  { request, topicFilter, replayFrom }: Wish,
  start: ReplayStart | undefined,
): Outcome {
  const { session, permit } = connection
  const { limits } = parts
  const refuse = (reasonCode: ReasonCode, reason: string, code: string): Outcome => {
    parts.counters.subscribesRefused += 1
    parts.refusals.refused(
      connection,
      { kind: 'subscribe', code, reason, topic: topicFilter },
      { topicFilter, reasonCode },
    )
    return { reasonCode: reasonCodeFor('suback', reasonCode), reason: `${topicFilter}: ${reason}` }
  }
  if (!isValidTopicFilter(topicFilter) || !isTopicWithin(topicFilter, limits)) {
    return refuse(
      ReasonCodes.topicFilterInvalid,
      'not a valid Topic Filter, or too long or deep',
      'topic_filter_invalid',
    )
  }
  const shared = parseSharedSubscription(topicFilter)
  if (shared === 'invalid') {
    return refuse(ReasonCodes.topicFilterInvalid, 'not a valid shared subscription', 'topic_filter_invalid') // [MQTT-4.8.2-1], [MQTT-4.8.2-2]
  }
  const decision = permit.maySubscribe(shared?.topicFilter ?? topicFilter)
  if (!decision.allowed) return refuse(decision.reasonCode, decision.reason, decision.code)
  if (start !== undefined && 'reason' in start) return refuse(start.reasonCode, start.reason, 'replay_invalid')
  const whyNoRoom = parts.sessions.whyNoSubscription(session, topicFilter)
  if (whyNoRoom !== undefined) return refuse(ReasonCodes.quotaExceeded, whyNoRoom, 'too_many_subscriptions')
  const known = session.subscriptions.get(topicFilter)
  const text = known?.topicFilter ?? parts.sessions.sharedText(session, topicFilter)
  const qos = Math.min(request.qos, limits.maximumQoS) as QoS
  const subscriptionIdentifier = packet.properties?.subscriptionIdentifier
  const isOwed = known !== undefined && parts.delivery.owes(session, known)
  const subscription: Subscription = {
    topicFilter: text,
    qos,
    noLocal: request.noLocal,
    retainAsPublished: request.retainAsPublished,
    subscriptionIdentifiers: subscriptionIdentifier === undefined ? undefined : [subscriptionIdentifier],
    group:
      shared === undefined
        ? undefined
        : parts.sessions.group(session.tenant, sharedNameOf(session.identity, shared.shareName), shared.topicFilter),
    // Messages that wait for the subscription that it replaces are not lost [MQTT-3.8.4-4].
    branches: shared === undefined ? parts.sessions.branchesOf(session.tenant, topicFilter) : undefined,
    since: known?.readsLog === true ? known.since : parts.delivery.beginnings(session, topicFilter),
    replayFrom,
    readsLog: qos > 0 || replayFrom !== undefined || isOwed,
  }
  const isNew = parts.sessions.subscribe(session, subscription)
  if (start !== undefined) parts.delivery.replay(session, subscription, start.from)
  // Shared subscriptions and replays get no retained messages. Retain Handling decides for the
  // others [MQTT-3.3.1-9], [MQTT-3.3.1-10], [MQTT-3.3.1-11].
  const wantsRetained =
    shared === undefined &&
    replayFrom === undefined &&
    (request.retainHandling === 0 || (request.retainHandling === 1 && isNew))
  return wantsRetained ? { reasonCode: qos, subscription } : { reasonCode: qos }
}
