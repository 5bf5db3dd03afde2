/**
 * Sessions, subscriptions and groups as records of the engine's state: JSON with a version, since
 * few are written and people may have to read them. A subscription has a record of its own: a
 * Session may have a megabyte of Topic Filters, and one SUBSCRIBE must not write all of them.
 */
import type { MessageProperties, QoS, WillMessage } from '../../mqtt/packet.ts'
import { dayTimeOf } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import { given } from '../../given.ts'
import type { Inflight, Session, Subscription } from '../sessions/session.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'

/** Grows with each change of the format that an earlier program can't read. */
const VERSION = 1
/**
 * The version of the records of Sessions. A record of version 1 contains the subscriptions; since
 * version 2 they have records of their own.
 */
const SESSION_VERSION = 2

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

/** A message in flight, as far as its record tells of it. */
type SentMessage = Pick<
  Inflight,
  'packetId' | 'qos' | 'partition' | 'offset' | 'retain' | 'order' | 'subscriptionIdentifiers' | 'group'
>

export interface WillRecord {
  readonly will: EncodedWill
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
  /** Absent since version 2. */
  readonly subscriptions?: readonly SubscriptionRecord[]
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
export class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError'
}

/** `tails` are cursors for the partitions in which the Session is at the tail. */
export function encodeSession(session: Session, clock: Clock, tails: readonly number[] = []): Buffer {
  const behind = new Map(tails.entries())
  for (const [partition, { offset }] of session.behind) behind.set(partition, offset)
  const record = {
    version: SESSION_VERSION,
    tenant: session.tenant,
    identity: session.identity,
    clientId: session.clientId,
    expirySeconds: session.expirySeconds,
    ...(session.connection === undefined
      ? { restingSinceMs: dayTimeOf(session.restingSince ?? clock.steady(), clock) }
      : {}),
    lastPacketId: session.lastPacketId,
    behind: [...behind],
    inflight: session
      .inflightInOrder()
      .filter(({ offset }) => offset >= 0)
      .map((entry) => inflightRecord(entry, entry.awaiting)),
    ...willRecord(session, clock),
  } satisfies SessionRecord & { readonly version: number }
  return encode(record)
}

/** The Topic Filter is in the key of the record. */
export function encodeSubscription(subscription: Subscription): Buffer {
  const { topicFilter: _, ...record } = subscriptionRecord(subscription)
  return encode(record)
}

export function encodeGroup(group: SharedGroup): Buffer {
  const returned: [partition: number, offset: number][] = []
  for (const { partition, offset } of group.returned) returned.push([partition, offset])
  for (const { partition, offset } of group.heldByUnkept()) returned.push([partition, offset])
  for (const remote of group.remotes) {
    for (const { partition, offset } of remote.outstanding) returned.push([partition, offset])
  }
  return encode({ behind: offsetsOf(group.behind), returned } satisfies GroupRecord)
}

export function encodeInflight(entry: SentMessage, awaiting: 'publish' | 'pubrel'): Buffer {
  return encode(inflightRecord(entry, awaiting))
}

export function encodeCheckpoint(checkpoint: CheckpointRecord): Buffer {
  return encode(checkpoint)
}

/** Throws UnreadableRecordError. */
export function decodeSession(value: Buffer): SessionRecord {
  return decode(value, SESSION_VERSION) as SessionRecord
}

/** Throws UnreadableRecordError. */
export function decodeSubscription(value: Buffer, topicFilter: string): SubscriptionRecord {
  return { ...(decode(value) as Omit<SubscriptionRecord, 'topicFilter'>), topicFilter }
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

type EncodedWill = Omit<WillMessage, 'payload' | 'properties'> & {
  readonly payload: EncodedBytes
  readonly properties?: EncodedProperties | undefined
}

/** Properties whose bytes are text. */
export type EncodedProperties = Omit<MessageProperties, 'correlationData'> & {
  readonly correlationData?: EncodedBytes | undefined
}

/** The record must contain no Buffer: `JSON.stringify` makes a number of each byte. */
function encode(record: object): Buffer {
  return Buffer.from(JSON.stringify({ version: VERSION, ...record }))
}

/** Throws UnreadableRecordError. */
export function decode(value: Buffer, newestVersion = VERSION): object {
  let record: unknown
  try {
    record = JSON.parse(value.toString())
  } catch {
    throw new UnreadableRecordError('a record of a Session is damaged')
  }
  if (typeof record !== 'object' || record === null) throw new UnreadableRecordError('a record of a Session is damaged')
  const version = 'version' in record ? record.version : undefined
  if (typeof version !== 'number' || version > newestVersion) {
    throw new UnreadableRecordError(
      `a record of a Session has version ${String(version)}; this program reads ${newestVersion}`,
    )
  }
  return record
}

export function encodeProperties(properties: MessageProperties): EncodedProperties {
  const { correlationData, ...others } = properties
  return { ...others, ...given({ correlationData: correlationData && bytesToText(correlationData) }) }
}

export function decodeProperties(encoded: EncodedProperties): MessageProperties {
  const { correlationData, ...others } = encoded
  return { ...others, ...given({ correlationData: correlationData && textToBytes(correlationData) }) }
}

function bytesToText(bytes: Buffer): EncodedBytes {
  return { base64: bytes.toString('base64') }
}

export function textToBytes({ base64 }: EncodedBytes): Buffer {
  return Buffer.from(base64, 'base64')
}

function encodeWill({ payload, properties, ...others }: WillMessage): EncodedWill {
  return {
    ...others,
    payload: bytesToText(payload),
    ...given({ properties: properties && encodeProperties(properties) }),
  }
}

export function decodeWill({ payload, properties, ...others }: EncodedWill): WillMessage {
  return {
    ...others,
    payload: textToBytes(payload),
    ...given({ properties: properties && decodeProperties(properties) }),
  }
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

function inflightRecord(entry: SentMessage, awaiting: 'publish' | 'pubrel'): InflightRecord {
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
      will: encodeWill(will),
      ground: (isLive ? connection.permit.ground : pendingWill?.ground) ?? '',
      ...given({
        dueAtMs: isLive || pendingWill === undefined ? undefined : dayTimeOf(pendingWill.dueAt, clock),
        permitExpiresAtMs: expiresAtMs,
      }),
    },
  }
}
