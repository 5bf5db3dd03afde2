/**
 * Sessions and groups as records of the engine's state: JSON with a version, since few are written
 * and people may have to read them. Where there is one member per message its name is short.
 */
import type { MessageProperties, QoS, WillMessage } from '../../mqtt/packet.ts'
import { dayTimeOf } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import { given } from '../../given.ts'
import type { Inflight, Session, Subscription } from '../sessions/session.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'

/** Grows with each change of the format that an earlier program can't read. */
const VERSION = 1

/** Offsets by partition. */
export type Offsets = readonly (readonly [partition: number, offset: number])[]

export interface SubscriptionRecord {
  readonly topicFilter: string
  readonly qos: QoS
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly subscriptionIdentifier?: number
  readonly since?: Offsets
  readonly replayFrom?: string
  /**
   * True for a QoS 0 subscription that reads the log though the client did not ask for a replay.
   */
  readonly isOwed?: true
}

export interface InflightRecord {
  readonly packetId: number
  readonly qos: 1 | 2
  readonly partition: number
  readonly offset: number
  readonly retain: boolean
  readonly awaiting: 'publish' | 'pubrel'
  /**
   * Grows with each message that is sent: where a Packet Identifier was used twice, it tells the
   * newer message.
   */
  readonly order: number
  readonly subscriptionIdentifiers?: readonly number[]
  /** The key of the group that chose the Session. */
  readonly group?: string
}

export interface WillRecord {
  readonly will: WillMessage
  /**
   * The time of day at which the Will Message is due, ms since 1970; absent while the connection
   * lives.
   */
  readonly dueAtMs?: number
  /** The ground that the permit to send it rests on. */
  readonly ground: string
  /** The time of day at which the right to send it ends. */
  readonly permitExpiresAtMs?: number
}

export interface SessionRecord {
  readonly tenant: string
  readonly identity: string
  readonly clientId: string
  readonly expirySeconds: number
  /**
   * When the last connection ended, ms since 1970; absent where the Session was connected when it
   * was saved.
   */
  readonly restingSinceMs?: number
  readonly lastPacketId: number
  readonly subscriptions: readonly SubscriptionRecord[]
  readonly behind: Offsets
  readonly inflight: readonly InflightRecord[]
  readonly will?: WillRecord
}

export interface GroupRecord {
  readonly behind: Offsets
  readonly returned: Offsets
}

export interface CheckpointRecord {
  readonly tails: readonly number[]
  /** True when the broker was closed in order: everything that was sent is saved. */
  readonly isClean: boolean
}

/** A record that this program can't read: of a newer version, or damaged. */
class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError'
}

export function encodeSession(session: Session, clock: Clock): Buffer {
  const record: SessionRecord = {
    tenant: session.tenant,
    identity: session.identity,
    clientId: session.clientId,
    expirySeconds: session.expirySeconds,
    ...(session.connection === undefined
      ? { restingSinceMs: dayTimeOf(session.restingSince ?? clock.steady(), clock) }
      : {}),
    lastPacketId: session.lastPacketId,
    subscriptions: [...session.subscriptions.values()].map(subscriptionRecord),
    behind: offsetsOf(session.behind),
    inflight: [...session.inflight.values()]
      .filter(({ offset }) => offset >= 0)
      .map((entry) => inflightRecord(entry, entry.awaiting)),
    ...willRecord(session, clock),
  }
  return record.will === undefined ? encodeText(record) : encode(record)
}

export function encodeGroup(group: SharedGroup): Buffer {
  const returned = group.returned.map(({ partition, offset }) => [partition, offset] as const)
  return encode({ behind: offsetsOf(group.behind), returned } satisfies GroupRecord)
}

export function encodeInflight(entry: Inflight, awaiting: 'publish' | 'pubrel'): Buffer {
  return encode(inflightRecord(entry, awaiting))
}

export function encodeCheckpoint(checkpoint: CheckpointRecord): Buffer {
  return encode(checkpoint)
}

/** Throws UnreadableRecordError. */
export function decodeSession(value: Buffer): SessionRecord {
  return decode(value) as SessionRecord
}

/** Throws UnreadableRecordError. */
export function decodeGroup(value: Buffer): GroupRecord {
  return decode(value) as GroupRecord
}

/** Throws UnreadableRecordError. */
export function decodeInflight(value: Buffer): InflightRecord {
  return decode(value) as InflightRecord
}

/** Throws UnreadableRecordError. */
export function decodeCheckpoint(value: Buffer): CheckpointRecord {
  return decode(value) as CheckpointRecord
}

/** Bytes within a record: base64 in an object of one member. */
interface EncodedBytes {
  readonly base64: string
}

export function encode(record: object): Buffer {
  return Buffer.from(JSON.stringify({ version: VERSION, ...record }, bytesToText))
}

/**
 * Encodes a record without bytes. A Session with a thousand subscriptions has a hundred thousand
 * values, and a call for each of them would take longer than all the rest.
 */
function encodeText(record: object): Buffer {
  return Buffer.from(JSON.stringify({ version: VERSION, ...record }))
}

/** Throws UnreadableRecordError. */
export function decode(value: Buffer): object {
  let record: unknown
  try {
    record = JSON.parse(value.toString(), textToBytes)
  } catch {
    throw new UnreadableRecordError('a record of a Session is damaged')
  }
  if (typeof record !== 'object' || record === null) throw new UnreadableRecordError('a record of a Session is damaged')
  const version = 'version' in record ? record.version : undefined
  if (version !== VERSION) {
    throw new UnreadableRecordError(
      `a record of a Session has version ${String(version)}; this program reads ${VERSION}`,
    )
  }
  return record
}

/**
 * Replaces the Buffers of an object before JSON.stringify comes to them: a Buffer would turn itself
 * into an array of numbers first, and 60 KB took a millisecond.
 */
function bytesToText(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  if (!members.some(([, member]) => Buffer.isBuffer(member))) return value
  return Object.fromEntries(
    members.map(([name, member]) => [name, Buffer.isBuffer(member) ? encodedBytes(member) : member]),
  )
}

function encodedBytes(bytes: Buffer): EncodedBytes {
  return { base64: bytes.toString('base64') }
}

function textToBytes(_key: string, value: unknown): unknown {
  const isBytes = typeof value === 'object' && value !== null && 'base64' in value && Object.keys(value).length === 1
  return isBytes ? Buffer.from(String(value.base64), 'base64') : value
}

function offsetsOf(cursors: ReadonlyMap<number, { readonly offset: number }>): Offsets {
  return [...cursors].map(([partition, { offset }]) => [partition, offset] as const)
}

function subscriptionRecord(subscription: Subscription): SubscriptionRecord {
  const { topicFilter, qos, noLocal, retainAsPublished, subscriptionIdentifiers, since, replayFrom, readsLog } =
    subscription
  return {
    topicFilter,
    qos,
    noLocal,
    retainAsPublished,
    ...given({ subscriptionIdentifier: subscriptionIdentifiers?.[0], since: since && [...since], replayFrom }),
    ...(readsLog && qos === 0 && replayFrom === undefined ? { isOwed: true } : {}),
  }
}

function inflightRecord(entry: Inflight, awaiting: 'publish' | 'pubrel'): InflightRecord {
  const { packetId, qos, partition, offset, retain, order, subscriptionIdentifiers, group } = entry
  return {
    packetId,
    qos,
    partition,
    offset,
    retain,
    awaiting,
    order,
    ...(subscriptionIdentifiers === undefined ? {} : { subscriptionIdentifiers }),
    ...(group === undefined ? {} : { group: group.key }),
  }
}

function willRecord(session: Session, clock: Clock): { readonly will?: WillRecord } {
  const { connection, pendingWill } = session
  const will = connection?.will ?? pendingWill?.will
  if (will === undefined) return {}
  const isLive = connection?.will !== undefined
  const expiresAtMs = isLive ? connection.permit.expiresAtMs : pendingWill?.permitExpiresAtMs
  return {
    will: {
      will,
      ground: (isLive ? connection.permit.ground : pendingWill?.ground) ?? '',
      ...given({
        dueAtMs: isLive || pendingWill === undefined ? undefined : dayTimeOf(pendingWill.dueAt, clock),
        permitExpiresAtMs: expiresAtMs,
      }),
    },
  }
}

/** A message outside the log: a retained one. */
export interface MessageRecord {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly properties?: MessageProperties
  readonly publisherKey: string
  /** When the message expires; absent when it does not. */
  readonly expiresAtMs?: number
}
