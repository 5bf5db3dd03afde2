/**
 * Restores Sessions and groups from records: after a restart, from a dead node, or one Session that
 * another node has handed over. Nobody is connected to them. They rest, and go on reading at their
 * saved cursors.
 */
import { later, momentOf } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import {
  decodeGroup,
  decodeInflight,
  decodeSession,
  decodeSubscription,
  decodeWill,
} from '../durable/session-record.ts'
import type {
  CheckpointRecord,
  GroupRecord,
  InflightRecord,
  SessionRecord,
  SubscriptionRecord,
} from '../durable/session-record.ts'
import type { Completed } from '../durable/session-store.ts'
import { STATE_KEYS, splitKey } from '../durable/state-keys.ts'
import { parseSharedSubscription } from '../../mqtt/topic-filter.ts'
import type { Engine, StateChange, StateEntry } from '../ports/engine.ts'
import { placeKey } from '../sessions/session.ts'
import type { Inflight, Session, Subscription } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { sharedNameOf } from '../ports/policy.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import type { WillMessages } from '../sessions/will-messages.ts'

/** Records by their keys: the state of the engine, or a part of another node's state. */
export interface StateSource {
  /** The entries whose keys begin with the prefix, in the order of the keys. */
  load(prefix: string): AsyncIterable<StateEntry>
}

/** The parts of the broker that take the Sessions, and the records. */
export interface Restored {
  readonly source: StateSource
  /** Stands for the cursors that no record has. */
  readonly checkpoint: CheckpointRecord
  readonly engine: Pick<Engine, 'tail'>
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly wills: WillMessages
  readonly clock: Clock
  /** The moment since which the Sessions rest. Absent: as their records say. */
  readonly restingSince?: SteadyMs | undefined
}

/** The entries that the state may forget. */
export interface Leftovers {
  readonly sessions: readonly Session[]
  /** Entries of Sessions that are over. */
  readonly orphans: readonly StateChange[]
  /** QoS 2 messages whose Packet Identifier belongs to another message by now. */
  readonly completed: readonly Completed[]
}

/**
 * No Session of the records may be there already. Throws UnreadableRecordError for a newer
 * program's records; then some Sessions may be there.
 */
export async function restoreSessions(parts: Restored): Promise<Leftovers> {
  const { source, clock } = parts
  const startedAt = clock.steady()
  const orphans: StateChange[] = []
  const completed: Completed[] = []
  const restored: RestoredSessions = new Map()
  for await (const { key, value } of source.load(STATE_KEYS.sessions)) {
    const record = decodeSession(value)
    const session = restoreSession(parts, record, startedAt)
    if (session === undefined) orphans.push({ key, value: undefined })
    else restored.set(session.key, { session, record })
  }
  await restoreSubscriptions(parts, restored, orphans)
  const handled = new Map<Session | SharedGroup, Set<string>>()
  await restoreSent(parts, restored, handled, orphans, completed)
  await restoreReceived(parts, restored, orphans)
  for (const { session, record } of restored.values()) resumeSession(parts, session, record, handled)
  await resumeGroups(parts, restored, handled, orphans)
  return { sessions: [...restored.values()].map(({ session }) => session), orphans, completed }
}

type RestoredSessions = Map<string, { readonly session: Session; readonly record: SessionRecord }>

/** Undefined when the Session has expired meanwhile. */
function restoreSession(parts: Restored, record: SessionRecord, now: SteadyMs): Session | undefined {
  const { sessions, wills, clock } = parts
  // A clock that was set back meanwhile lets no Session live longer than it would from now on.
  const { restingSinceMs } = record
  const since = parts.restingSince ?? (restingSinceMs === undefined ? now : momentOf(restingSinceMs, clock))
  const restingSince = earlier(since, now)
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
  { source, sessions }: Restored,
  restored: Readonly<RestoredSessions>,
  orphans: StateChange[],
): Promise<void> {
  for await (const { key, value } of source.load(STATE_KEYS.subscriptions)) {
    const [tenant, identity, clientId, topicFilter = ''] = splitKey(key)
    const known = restored.get([tenant, identity, clientId].join('\0'))
    if (known === undefined) {
      orphans.push({ key, value: undefined })
      continue
    }
    const { session, record } = known
    await sessions.branchesReady(record.tenant, routedFilter(topicFilter))
    sessions.subscribe(session, restoreSubscription(sessions, record, decodeSubscription(value, topicFilter)))
    session.unsavedSubscriptions?.delete(topicFilter)
  }
}

/** The Topic Filter behind the share name, if there is one. */
function routedFilter(topicFilter: string): string {
  const shared = parseSharedSubscription(topicFilter)
  return shared === undefined || shared === 'invalid' ? topicFilter : shared.topicFilter
}

function earlier(one: SteadyMs, other: SteadyMs): SteadyMs {
  return one < other ? one : other
}

function restoreSubscription(sessions: Sessions, owner: SessionRecord, saved: SubscriptionRecord): Subscription {
  const { topicFilter, qos, noLocal, retainAsPublished, subscriptionIdentifier, since, replayFrom, isOwed } = saved
  const shared = parseSharedSubscription(topicFilter)
  return {
    topicFilter: sessions.sharedText(owner, topicFilter),
    qos,
    noLocal,
    retainAsPublished,
    subscriptionIdentifiers: subscriptionIdentifier === undefined ? undefined : [subscriptionIdentifier],
    group:
      shared === undefined || shared === 'invalid'
        ? undefined
        : sessions.group(owner.tenant, sharedNameOf(owner.identity, shared.shareName), shared.topicFilter),
    since: since === undefined ? undefined : new Map(since),
    branches: shared === undefined ? sessions.branchesOf(owner.tenant, topicFilter) : undefined,
    replayFrom,
    readsLog: qos > 0 || replayFrom !== undefined || isOwed === true,
  }
}

/**
 * Restores QoS 2 messages in flight, and those brought to their end that a saved cursor may still
 * meet.
 */
async function restoreSent(
  { source, sessions }: Restored,
  restored: Readonly<RestoredSessions>,
  handled: Map<Session | SharedGroup, Set<string>>,
  orphans: StateChange[],
  completed: Completed[],
): Promise<void> {
  for await (const { key, value } of source.load(STATE_KEYS.sentMessages)) {
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
      const { partition, offset, packetId, order } = over
      completed.push({ session, reader: group ?? session, partition, offset, packetId, order })
    }
    if (isNewest) session.send(inflightOf(entry, group))
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
  { source }: Restored,
  restored: Readonly<RestoredSessions>,
  orphans: StateChange[],
): Promise<void> {
  for await (const { key } of source.load(STATE_KEYS.receivedMessages)) {
    const parts = splitKey(key)
    const known = restored.get(parts.slice(0, 3).join('\0'))
    if (known === undefined) orphans.push({ key, value: undefined })
    // No connection of this process has this epoch.
    else known.session.receive({ packetId: Number(parts[3]), isOwned: true, connectionEpoch: -1 })
  }
}

function resumeSession(
  { delivery, sessions, engine, checkpoint }: Restored,
  session: Session,
  record: SessionRecord,
  handled: Map<Session | SharedGroup, Set<string>>,
): void {
  for (const entry of record.inflight) {
    const group = entry.group === undefined ? undefined : sessions.findGroup(entry.group)
    const places = place(handled, group ?? session)
    const key = placeKey(entry.partition, entry.offset)
    session.restoreOrder(entry.order)
    // QoS 2 messages have records of their own, which count.
    if (entry.qos === 1 && !session.inflight.has(entry.packetId)) {
      session.send(inflightOf(entry, group))
      places.add(key)
    }
  }
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

/** Restores the groups of the Sessions. Every group rests: it has no connected member. */
async function resumeGroups(
  { source, engine, sessions, delivery, checkpoint }: Restored,
  restored: Readonly<RestoredSessions>,
  handled: ReadonlyMap<Session | SharedGroup, ReadonlySet<string>>,
  orphans: StateChange[],
): Promise<void> {
  const records = new Map<string, GroupRecord>()
  for await (const { key, value } of source.load(STATE_KEYS.groups)) {
    records.set(key.slice(STATE_KEYS.groups.length), decodeGroup(value))
  }
  const groups = new Set<SharedGroup>()
  for (const { session } of restored.values()) for (const group of session.groups) groups.add(group)
  // The Sessions of the group's members ended with their connections.
  for (const key of records.keys()) {
    if (sessions.findGroup(key) === undefined) orphans.push({ key: STATE_KEYS.group(key), value: undefined })
  }
  for (const group of groups) {
    if (group.isDistributed || group.elsewhere !== undefined) {
      // Its home restores it. The QoS 2 messages that these Sessions have are not to come again.
      const places = handled.get(group)
      if (group.recovery !== undefined && places !== undefined) {
        group.recovery = { ...group.recovery, handled: group.recovery.handled.union(places) }
      }
      continue
    }
    // The group goes on where it is, if it is there already.
    if ([...group.members.keys()].some(({ key }) => !restored.has(key))) continue
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

function place<Key>(sets: Map<Key, Set<string>>, key: Key): Set<string> {
  let known = sets.get(key)
  if (known === undefined) {
    known = new Set()
    sets.set(key, known)
  }
  return known
}
