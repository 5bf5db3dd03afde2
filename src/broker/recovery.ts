/**
 * Restores the state after a restart: Sessions, groups, QoS 2 messages in flight and retained
 * messages. All connections of the earlier process are over. Their Sessions rest, and go on reading
 * at their saved cursors.
 */
import { later, momentOf } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'
import type { Counters } from './ports/counters.ts'
import type { Delivery } from './delivery/delivery.ts'
import type { Engine, StateChange } from './ports/engine.ts'
import type { Logger } from '../logger.ts'
import type { RetainedMessages } from './delivery/retained-messages.ts'
import { hasExpired } from './ports/message.ts'
import { retainedMessage } from './durable/retained-store.ts'
import {
  decodeCheckpoint,
  decodeGroup,
  decodeInflight,
  decodeSession,
  decodeSubscription,
  decodeWill,
} from './durable/session-record.ts'
import type {
  CheckpointRecord,
  GroupRecord,
  InflightRecord,
  SessionRecord,
  SubscriptionRecord,
} from './durable/session-record.ts'
import { placeKey } from './sessions/session.ts'
import type { Inflight, Session, Subscription } from './sessions/session.ts'
import type { Completed } from './durable/session-store.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { SharedGroup } from './sessions/shared-group.ts'
import { STATE_KEYS, splitKey } from './durable/state-keys.ts'
import { parseSharedSubscription } from '../mqtt/topic-filter.ts'
import type { WillMessages } from './sessions/will-messages.ts'

/** The parts of the broker that take the recovered state. */
export interface Recovered {
  readonly engine: Engine
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  readonly wills: WillMessages
  readonly clock: Clock
  readonly counters: Counters
  readonly log: Logger
}

/** The entries that the state may forget. */
export interface Leftovers {
  /** Entries of Sessions that are over. */
  readonly orphans: readonly StateChange[]
  /** QoS 2 messages whose Packet Identifier belongs to another message by now. */
  readonly completed: readonly Completed[]
}

/**
 * Call once when the engine is open, before anything is written. Throws UnreadableRecordError for a
 * newer program's state.
 */
export async function recover(parts: Recovered): Promise<Leftovers> {
  const { engine, sessions, log } = parts
  const startedAt = parts.clock.steady()
  const orphans: StateChange[] = []
  const completed: Completed[] = []
  const checkpoint = await loadCheckpoint(engine)
  const restored = new Map<string, { readonly session: Session; readonly record: SessionRecord }>()
  for await (const { key, value } of engine.load(STATE_KEYS.sessions)) {
    const record = decodeSession(value)
    const session = restoreSession(parts, record, startedAt)
    if (session === undefined) orphans.push({ key, value: undefined })
    else restored.set(session.key, { session, record })
  }
  await restoreSubscriptions(parts, restored, orphans)
  const handled = new Map<Session | SharedGroup, Set<string>>()
  await restoreSent(parts, restored, handled, orphans, completed)
  await restoreReceived(parts, restored, orphans)
  for (const { session, record } of restored.values()) {
    resumeSession(parts, session, record, checkpoint, handled)
  }
  await resumeGroups(parts, checkpoint, handled, orphans)
  await restoreRetained(parts, orphans, startedAt)
  const count = [...sessions.all()].length
  if (count > 0)
    log.info({ sessions: count, retained: parts.retained.count, clean: checkpoint.isClean }, 'broker.recovered')
  return { orphans, completed }
}

/** Without a saved checkpoint everything begins at the tail. */
async function loadCheckpoint(engine: Engine): Promise<CheckpointRecord> {
  const tails = Array.from({ length: engine.partitions }, (_, partition) => engine.tail(partition))
  for await (const { key, value } of engine.load(STATE_KEYS.checkpoint)) {
    if (key !== STATE_KEYS.checkpoint) continue
    const saved = decodeCheckpoint(value)
    return { ...saved, tails: tails.map((tail, partition) => Math.min(saved.tails[partition] ?? tail, tail)) }
  }
  return { tails, isClean: true }
}

/** Undefined when the Session has expired meanwhile. */
function restoreSession(parts: Recovered, record: SessionRecord, now: SteadyMs): Session | undefined {
  const { sessions, wills, clock } = parts
  // A clock that was set back meanwhile lets no Session live longer than it would from now on.
  const restingSince = earlier(record.restingSinceMs === undefined ? now : momentOf(record.restingSinceMs, clock), now)
  const isExpired = later(restingSince, record.expirySeconds * 1000) <= now
  if (isExpired && record.will === undefined) return undefined
  const session = sessions.create(record, record.clientId)
  session.expirySeconds = record.expirySeconds
  session.isSaved = true
  for (const saved of record.subscriptions ?? [])
    sessions.subscribe(session, restoreSubscription(sessions, record, saved))
  if (record.will !== undefined) {
    const { will, ground, dueAtMs, permitExpiresAtMs } = record.will
    const latest = later(now, will.delayIntervalSeconds * 1000)
    const dueAt = dueAtMs === undefined ? latest : earlier(momentOf(dueAtMs, clock), latest)
    wills.restore(session, { will: decodeWill(will), ground, permitExpiresAtMs }, dueAt)
  }
  // A Session that expired while no process ran ends with the first tick, and its Will Message is
  // published.
  sessions.restore(session, restingSince)
  return session
}

/** Restores the subscriptions with records of their own. */
async function restoreSubscriptions(
  { engine, sessions }: Recovered,
  restored: ReadonlyMap<string, { readonly session: Session; readonly record: SessionRecord }>,
  orphans: StateChange[],
): Promise<void> {
  for await (const { key, value } of engine.load(STATE_KEYS.subscriptions)) {
    const [tenant, identity, clientId, topicFilter = ''] = splitKey(key)
    const known = restored.get([tenant, identity, clientId].join('\0'))
    if (known === undefined) {
      orphans.push({ key, value: undefined })
      continue
    }
    const { session, record } = known
    sessions.subscribe(session, restoreSubscription(sessions, record, decodeSubscription(value, topicFilter)))
    session.unsavedSubscriptions?.delete(topicFilter)
  }
}

function earlier(one: SteadyMs, other: SteadyMs): SteadyMs {
  return one < other ? one : other
}

function restoreSubscription(sessions: Sessions, owner: SessionRecord, saved: SubscriptionRecord): Subscription {
  const { topicFilter, qos, noLocal, retainAsPublished, subscriptionIdentifier, since, replayFrom, isOwed } = saved
  const shared = parseSharedSubscription(topicFilter)
  return {
    topicFilter: sessions.sharedText(owner.tenant, topicFilter),
    qos,
    noLocal,
    retainAsPublished,
    subscriptionIdentifiers: subscriptionIdentifier === undefined ? undefined : [subscriptionIdentifier],
    group:
      shared === undefined || shared === 'invalid'
        ? undefined
        : sessions.group(owner.tenant, shared.shareName, shared.topicFilter),
    since: since === undefined ? undefined : new Map(since),
    replayFrom,
    readsLog: qos > 0 || replayFrom !== undefined || isOwed === true,
  }
}

/**
 * Restores QoS 2 messages in flight, and those brought to their end that a saved cursor may still
 * meet.
 */
async function restoreSent(
  { engine, sessions }: Recovered,
  restored: ReadonlyMap<string, { readonly session: Session; readonly record: SessionRecord }>,
  handled: Map<Session | SharedGroup, Set<string>>,
  orphans: StateChange[],
  completed: Completed[],
): Promise<void> {
  for await (const { key, value } of engine.load(STATE_KEYS.sentMessages)) {
    const entry = decodeInflight(value)
    const known = restored.get(splitKey(key).slice(0, 3).join('\0'))
    if (known === undefined) {
      orphans.push({ key, value: undefined })
      continue
    }
    const { session } = known
    const group = entry.group === undefined ? undefined : sessions.findGroup(entry.group)
    place(handled, group ?? session).add(placeKey(entry.partition, entry.offset))
    session.restoreOrder(entry.order)
    const other = session.inflight.get(entry.packetId)
    // Identifiers are used again: the newest message is in flight.
    const isNewest = other === undefined || entry.order > other.order
    const over = isNewest ? other : entry
    if (over !== undefined) {
      completed.push({ session, reader: group ?? session, partition: over.partition, offset: over.offset })
    }
    if (isNewest) session.inflight.set(entry.packetId, inflightOf(entry, group))
  }
}

function inflightOf(entry: InflightRecord, group: SharedGroup | undefined): Inflight {
  const { packetId, qos, partition, offset, retain, awaiting, order, subscriptionIdentifiers } = entry
  const message = undefined
  return {
    message,
    packetId,
    qos,
    partition,
    offset,
    retain,
    awaiting,
    order,
    subscriptionIdentifiers,
    group,
    isStored: true,
    bytes: 0,
    watcher: undefined,
  }
}

async function restoreReceived(
  { engine }: Recovered,
  restored: ReadonlyMap<string, { readonly session: Session }>,
  orphans: StateChange[],
): Promise<void> {
  for await (const { key } of engine.load(STATE_KEYS.receivedMessages)) {
    const parts = splitKey(key)
    const known = restored.get(parts.slice(0, 3).join('\0'))
    if (known === undefined) orphans.push({ key, value: undefined })
    // No connection of this process has this epoch.
    else known.session.received.set(Number(parts[3]), { isOwned: true, connectionEpoch: -1 })
  }
}

function resumeSession(
  { delivery, sessions, engine }: Recovered,
  session: Session,
  record: SessionRecord,
  checkpoint: CheckpointRecord,
  handled: Map<Session | SharedGroup, Set<string>>,
): void {
  for (const entry of record.inflight) {
    const group = entry.group === undefined ? undefined : sessions.findGroup(entry.group)
    const places = place(handled, group ?? session)
    const key = placeKey(entry.partition, entry.offset)
    session.restoreOrder(entry.order)
    // QoS 2 messages have records of their own, which count.
    if (entry.qos === 1 && !session.inflight.has(entry.packetId)) {
      session.inflight.set(entry.packetId, inflightOf(entry, group))
      places.add(key)
    }
  }
  // The messages are sent again in the order in which they were sent first [MQTT-4.6.0-1].
  const inOrder = [...session.inflight.values()].toSorted((a, b) => a.order - b.order)
  session.inflight.clear()
  for (const entry of inOrder) session.inflight.set(entry.packetId, entry)
  session.restorePacketIds(record.lastPacketId)
  const cursors = new Map(record.behind)
  const wasLive = record.restingSinceMs === undefined
  const sentBefore = new Map<number, number>()
  for (const subscription of session.subscriptions.values()) {
    if (subscription.group !== undefined || !subscription.readsLog) continue
    for (const partition of delivery.partitionsOf(subscription.topicFilter)) {
      if (!cursors.has(partition)) cursors.set(partition, checkpoint.tails[partition] as number)
      if (wasLive && !checkpoint.isClean) sentBefore.set(partition, engine.tail(partition))
    }
  }
  delivery.resume(session, cursors)
  session.recovery = { handled: handled.get(session) ?? new Set(), sentBefore }
}

/** Restores the groups. Every group rests: it has no connected member. */
async function resumeGroups(
  { engine, sessions, delivery }: Recovered,
  checkpoint: CheckpointRecord,
  handled: ReadonlyMap<Session | SharedGroup, ReadonlySet<string>>,
  orphans: StateChange[],
): Promise<void> {
  const records = new Map<string, GroupRecord>()
  for await (const { key, value } of engine.load(STATE_KEYS.groups)) {
    records.set(key.slice(STATE_KEYS.groups.length), decodeGroup(value))
  }
  const groups = new Set<SharedGroup>()
  for (const session of sessions.all()) for (const group of session.groups) groups.add(group)
  // The Sessions of the group's members ended with their connections.
  for (const key of records.keys()) {
    if (sessions.findGroup(key) === undefined) orphans.push({ key: STATE_KEYS.group(key), value: undefined })
  }
  for (const group of groups) {
    const record = records.get(group.key)
    const cursors = new Map(record?.behind)
    const sentBefore = new Map<number, number>()
    for (const partition of delivery.partitionsOf(group.topicFilter)) {
      if (!cursors.has(partition)) cursors.set(partition, checkpoint.tails[partition] as number)
      if (!checkpoint.isClean) sentBefore.set(partition, engine.tail(partition))
    }
    for (const [partition, offset] of record?.returned ?? []) {
      group.returned.push({ message: undefined, partition, offset })
    }
    delivery.resume(group, cursors)
    const places = new Set(handled.get(group))
    for (const { partition, offset } of group.returned) places.add(placeKey(partition, offset))
    group.recovery = { handled: places, sentBefore }
  }
}

async function restoreRetained(parts: Recovered, orphans: StateChange[], now: SteadyMs): Promise<void> {
  for await (const entry of parts.engine.load(STATE_KEYS.retainedMessages)) {
    const { message, tenant } = retainedMessage(entry)
    if (hasExpired(message, now)) orphans.push({ key: entry.key, value: undefined })
    else parts.retained.restore(message, tenant)
  }
}

function place<Key>(sets: Map<Key, Set<string>>, key: Key): Set<string> {
  let known = sets.get(key)
  if (known === undefined) {
    known = new Set()
    sets.set(key, known)
  }
  return known
}
