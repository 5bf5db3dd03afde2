/**
 * The records of the log, which fill its segments and the snapshots of the state. Integers and
 * floating point numbers are little-endian.
 *
 *     0   uint32   length: bytes behind the CRC
 *     4   uint32   CRC-32 of those bytes, begun with the seal of the log
 *     8   uint8    version of the record
 *     9   uint8    kind: 1 a message, 2 changes of state, 3 the end of a snapshot,
 *                  4 the accounts that have lost messages to the rewriting of a segment
 *
 * A message, with the changes that are owned together with it:
 *
 *     10  uint8    flags: QoS (2 bits), RETAIN 4, expires 8, has properties 16, has changes 32
 *     11  uint16   partition
 *     13  float64  offset
 *     21  float64  when the log took it, ms since 1970
 *     29  uint16   bytes of the Topic Name
 *     31  uint32   bytes of the publisher's key
 *     35           Topic Name; publisher's key; [float64 expiry];
 *                  [uint32 length, properties as in PUBLISH]; [uint32 length, changes]; payload
 *
 * The seal is a random number that no tenant knows. Without it, a payload could hold bytes that
 * look like a whole record, and a reader that looks for the next record behind damage would take
 * these bytes for a record. A log of version 1 has the seal 0.
 *
 * Changes, one behind the other: uint8 1 with a new value or 0 forgotten, uint32 bytes of the key,
 * key, [uint32 bytes of the value, value].
 *
 * Accounts, one behind the other: uint16 partition; uint16 bytes, topic branch; uint16 bytes,
 * tenant.
 */
import assert from 'node:assert'
import { crc32 } from 'node:zlib'
import type { StateChange } from '../../broker/ports/engine.ts'
import { Message } from '../../broker/ports/message.ts'
import { PacketCursor } from '../../mqtt/packet-cursor.ts'
import { PacketWriter } from '../../mqtt/packet-writer.ts'
import type { MessageProperties, QoS } from '../../mqtt/packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from '../../mqtt/properties.ts'
import { Topic } from '../../mqtt/topic.ts'
import { TopicNameCache } from '../../mqtt/topic-name-cache.ts'
import { hasWildcard } from '../../mqtt/topic-name.ts'

/** The version that this program writes; it reads this version and all earlier ones. */
const RECORD_VERSION = 1
/** Bytes of the length and the CRC. */
export const PREFIX_BYTES = 8
/** Bytes of the shortest record: a version and a kind. */
export const SMALLEST_RECORD_BYTES = PREFIX_BYTES + 2

export const KIND_MESSAGE = 1
export const KIND_CHANGES = 2
export const KIND_END = 3
/** Stands in rewritten segments alone, so programs that do not know it never meet it. */
export const KIND_REMOVED = 4

const RETAIN = 4
const EXPIRES = 8
const HAS_PROPERTIES = 16
const HAS_CHANGES = 32
const MESSAGE_HEAD_BYTES = 35

/**
 * A cache of texts, shared by all logs of the process: the same devices publish to the same topics,
 * and their publishers have the same keys.
 */
const knownTexts = new TopicNameCache()

/** The place of a message in the log. */
export interface Place {
  readonly partition: number
  readonly offset: number
  readonly ownedAtMs: number
}

/** A newer version of the program wrote the record. */
export class NewerRecordError extends Error {
  readonly code = 'newer_format'

  constructor(version: number) {
    super(
      `it holds records of version ${version}, written by a newer Fieldgate; this one reads versions up to ${RECORD_VERSION}`,
    )
  }
}

/**
 * The most bytes that the message's record takes, so that the writer can make room first. Throws
 * RangeError for properties that could not be read again.
 */
export function messageRecordBound(message: Message, changes: readonly StateChange[] | undefined): number {
  const texts = 3 * (message.topicName.length + message.publisherKey.length)
  const properties = message.properties === undefined ? 0 : propertiesBound(message.properties)
  return MESSAGE_HEAD_BYTES + 16 + texts + properties + changesBound(changes) + message.payloadBytes
}

/** The most bytes that a record of changes takes. */
export function changesRecordBound(changes: readonly StateChange[]): number {
  return SMALLEST_RECORD_BYTES + changesBound(changes)
}

/**
 * Writes the message's record at `start`, where the buffer has room for `messageRecordBound`.
 * Returns the position behind it. The payload is copied.
 */
export function writeMessageRecord(
  bytes: Buffer,
  start: number,
  message: Message,
  place: Place,
  changes: readonly StateChange[] | undefined,
  seal: number,
): number {
  const { properties, expiresAtMs } = message
  let flags = message.qos | (message.retain ? RETAIN : 0)
  let at = start + MESSAGE_HEAD_BYTES
  const topicBytes = bytes.write(message.topicName, at)
  assert(topicBytes <= 0xffff, 'a Topic Name has at most 65,535 bytes')
  at += topicBytes
  const keyBytes = bytes.write(message.publisherKey, at)
  at += keyBytes
  if (expiresAtMs !== Infinity) {
    flags |= EXPIRES
    at = bytes.writeDoubleLE(expiresAtMs, at)
  }
  if (properties !== undefined) {
    flags |= HAS_PROPERTIES
    at = writeMessageProperties(bytes, at, properties)
  }
  if (changes !== undefined && changes.length > 0) {
    flags |= HAS_CHANGES
    const end = writeChanges(bytes, at + 4, changes)
    bytes.writeUInt32LE(end - at - 4, at)
    at = end
  }
  message.copyPayload(bytes, at)
  at += message.payloadBytes
  bytes[start + 10] = flags
  bytes.writeUInt16LE(place.partition, start + 11)
  bytes.writeDoubleLE(place.offset, start + 13)
  bytes.writeDoubleLE(place.ownedAtMs, start + 21)
  bytes.writeUInt16LE(topicBytes, start + 29)
  bytes.writeUInt32LE(keyBytes, start + 31)
  return finishRecord(bytes, start, at, KIND_MESSAGE, seal)
}

/** Writes a record of changes, all of one group, at `start`. Returns the position behind it. */
export function writeChangesRecord(
  bytes: Buffer,
  start: number,
  changes: readonly StateChange[],
  seal: number,
): number {
  return finishRecord(bytes, start, writeChanges(bytes, start + SMALLEST_RECORD_BYTES, changes), KIND_CHANGES, seal)
}

/** The end of a snapshot: no record follows it in the file. */
export interface SnapshotEnd {
  /** Entries of the whole snapshot. */
  readonly entries: number
  /**
   * By partition: the offset behind the last message when the snapshot was begun. Empty in a
   * snapshot of version 1.
   */
  readonly tails: Float64Array
}

/** Bytes of an end record. */
export function endRecordBytes(partitions: number): number {
  return SMALLEST_RECORD_BYTES + 8 + 8 * partitions
}

/** Writes the end of a snapshot at `start`. Returns the position behind it. */
export function writeEndRecord(bytes: Buffer, start: number, { entries, tails }: SnapshotEnd, seal: number): number {
  let at = bytes.writeDoubleLE(entries, start + SMALLEST_RECORD_BYTES)
  for (const tail of tails) at = bytes.writeDoubleLE(tail, at)
  return finishRecord(bytes, start, at, KIND_END, seal)
}

/** Reads the end of a snapshot; its record begins at `start`. */
export function readEndRecord(bytes: Buffer, start: number): SnapshotEnd {
  const from = start + SMALLEST_RECORD_BYTES
  const end = start + PREFIX_BYTES + bytes.readUInt32LE(start)
  const length = Math.floor((end - from - 8) / 8)
  const tails = Float64Array.from({ length }, (_, index) => bytes.readDoubleLE(from + 8 + 8 * index))
  return { entries: bytes.readDoubleLE(from), tails }
}

/** An account that has lost messages of a partition. */
export interface RemovedAccount {
  readonly partition: number
  readonly topicBranch: string
  readonly tenant: string
}

/** The record of the accounts that have lost messages to the rewriting of a segment. */
export function removedRecord(removed: readonly RemovedAccount[], seal: number): Buffer {
  const pieces = removed.map(({ partition, topicBranch, tenant }) => {
    const head = Buffer.alloc(4)
    const branch = Buffer.from(topicBranch)
    const owner = Buffer.from(tenant)
    const between = Buffer.alloc(2)
    head.writeUInt16LE(partition, 0)
    head.writeUInt16LE(branch.length, 2)
    between.writeUInt16LE(owner.length, 0)
    return Buffer.concat([head, branch, between, owner])
  })
  const bytes = Buffer.concat([Buffer.alloc(SMALLEST_RECORD_BYTES), ...pieces])
  finishRecord(bytes, 0, bytes.length, KIND_REMOVED, seal)
  return bytes
}

/** Reads the record of `removedRecord` that begins at `start`. */
export function readRemoved(bytes: Buffer, start: number): RemovedAccount[] {
  const end = start + PREFIX_BYTES + bytes.readUInt32LE(start)
  const removed: RemovedAccount[] = []
  for (let at = start + SMALLEST_RECORD_BYTES; at < end;) {
    const branchEnd = at + 4 + bytes.readUInt16LE(at + 2)
    const tenantEnd = branchEnd + 2 + bytes.readUInt16LE(branchEnd)
    const topicBranch = bytes.toString('utf8', at + 4, branchEnd)
    const tenant = bytes.toString('utf8', branchEnd + 2, tenantEnd)
    removed.push({ partition: bytes.readUInt16LE(at), topicBranch, tenant })
    at = tenantEnd
  }
  return removed
}

/**
 * Looks for a whole, valid record at `start`. Returns its bytes; 0 if there is none; a negative
 * number of bytes if the buffer must hold that many to tell. Throws `NewerRecordError` for a valid
 * record of a newer version.
 */
export function checkRecord(bytes: Buffer, start: number, end: number, maximumBytes: number, seal: number): number {
  if (end - start < SMALLEST_RECORD_BYTES) return -SMALLEST_RECORD_BYTES
  const length = bytes.readUInt32LE(start)
  if (length < 2 || length + PREFIX_BYTES > maximumBytes) return 0
  const kind = bytes[start + 9] as number
  if (kind < KIND_MESSAGE || kind > KIND_REMOVED) return 0
  if (end - start < length + PREFIX_BYTES) return -(length + PREFIX_BYTES)
  const body = bytes.subarray(start + PREFIX_BYTES, start + PREFIX_BYTES + length)
  if (crc32(body, seal) !== bytes.readUInt32LE(start + 4)) return 0
  const version = bytes[start + 8] as number
  if (version > RECORD_VERSION) throw new NewerRecordError(version)
  return length + PREFIX_BYTES
}

export function kindOf(bytes: Buffer, start: number): number {
  return bytes[start + 9] as number
}

/** The place of the message whose record begins at `start`. */
export function placeOfRecord(bytes: Buffer, start: number): Place {
  return {
    partition: bytes.readUInt16LE(start + 11),
    offset: bytes.readDoubleLE(start + 13),
    ownedAtMs: bytes.readDoubleLE(start + 21),
  }
}

/** The Topic Name of the message whose record begins at `start`. */
export function topicNameOfRecord(bytes: Buffer, start: number): string {
  const at = start + MESSAGE_HEAD_BYTES
  return readText(bytes, at, at + bytes.readUInt16LE(start + 29))
}

/**
 * Reads the message whose record begins at `start`. The message holds copies, and does not keep the
 * buffer alive.
 */
export function readMessageRecord(bytes: Buffer, start: number): Message {
  const end = start + PREFIX_BYTES + bytes.readUInt32LE(start)
  const flags = bytes[start + 10] as number
  let at = start + MESSAGE_HEAD_BYTES
  const topicEnd = at + bytes.readUInt16LE(start + 29)
  const topicName = readText(bytes, at, topicEnd)
  at = topicEnd + bytes.readUInt32LE(start + 31)
  const publisherKey = readText(bytes, topicEnd, at)
  let expiresAtMs = Infinity
  if ((flags & EXPIRES) !== 0) {
    expiresAtMs = bytes.readDoubleLE(at)
    at += 8
  }
  let properties: MessageProperties | undefined
  if ((flags & HAS_PROPERTIES) !== 0) {
    const from = at + 4
    at = from + bytes.readUInt32LE(at)
    properties = readMessageProperties(bytes, from, at)
  }
  if ((flags & HAS_CHANGES) !== 0) at += 4 + bytes.readUInt32LE(at)
  const payload = Buffer.from(bytes.subarray(at, end))
  const qos = (flags & 3) as QoS
  const retain = (flags & RETAIN) !== 0
  const message = new Message({ topicName, payload, qos, retain, properties, publisherKey }, expiresAtMs)
  message.partition = bytes.readUInt16LE(start + 11)
  message.offset = bytes.readDoubleLE(start + 13)
  message.ownedAtMs = bytes.readDoubleLE(start + 21)
  return message
}

/** The changes of state in the record that begins at `start`, if any; the values are copies. */
export function changesOfRecord(bytes: Buffer, start: number): StateChange[] {
  const end = start + PREFIX_BYTES + bytes.readUInt32LE(start)
  const kind = kindOf(bytes, start)
  if (kind === KIND_CHANGES) return readChanges(bytes, start + SMALLEST_RECORD_BYTES, end)
  const flags = bytes[start + 10] as number
  if (kind !== KIND_MESSAGE || (flags & HAS_CHANGES) === 0) return []
  let at = start + MESSAGE_HEAD_BYTES + bytes.readUInt16LE(start + 29) + bytes.readUInt32LE(start + 31)
  if ((flags & EXPIRES) !== 0) at += 8
  if ((flags & HAS_PROPERTIES) !== 0) at += 4 + bytes.readUInt32LE(at)
  return readChanges(bytes, at + 4, at + 4 + bytes.readUInt32LE(at))
}

function finishRecord(bytes: Buffer, start: number, end: number, kind: number, seal: number): number {
  bytes[start + 8] = RECORD_VERSION
  bytes[start + 9] = kind
  bytes.writeUInt32LE(end - start - PREFIX_BYTES, start)
  bytes.writeUInt32LE(crc32(bytes.subarray(start + PREFIX_BYTES, end), seal), start + 4)
  return end
}

/**
 * Writes the length of the properties and the properties at `start`, where the buffer has room for
 * `propertiesBound`. Returns the position behind them.
 */
export function writeMessageProperties(bytes: Buffer, start: number, properties: MessageProperties): number {
  const size = propertiesSize('publish', properties)
  // The writer makes a packet; only the bytes behind its fixed header are needed.
  const writer = new PacketWriter(0, 4 + size)
  const from = writer.position
  writeProperties(writer, 'publish', properties, size)
  const length = writer.position - from
  bytes.writeUInt32LE(length, start)
  writer.bytes.copy(bytes, start + 4, from, writer.position)
  return start + 4 + length
}

/** Reads the properties that stand between two positions, without their length. */
export function readMessageProperties(bytes: Buffer, start: number, end: number): MessageProperties | undefined {
  const cursor = new PacketCursor()
  cursor.packetType = 'publish'
  cursor.bytes = bytes
  cursor.position = start
  cursor.end = end
  const properties = decodeProperties(cursor, 'publish')
  const correlationData = properties?.correlationData
  return correlationData === undefined ? properties : { ...properties, correlationData: Buffer.from(correlationData) }
}

/**
 * The most bytes that the properties of a message take. Throws RangeError for properties that could
 * not be read again.
 */
export function propertiesBound(properties: MessageProperties): number {
  const { responseTopic } = properties
  // Only the service itself can make such a message. Once stored, it would stop all readers of its
  // partition.
  if (responseTopic !== undefined && (responseTopic === '' || hasWildcard(responseTopic))) {
    throw new RangeError('the Response Topic is no Topic Name')
  }
  return 16 + propertiesSize('publish', properties)
}

function changesBound(changes: readonly StateChange[] | undefined): number {
  let bound = 4
  if (changes !== undefined) {
    for (const { key, value } of changes) bound += 9 + 3 * key.length + (value?.length ?? 0)
  }
  return bound
}

function writeChanges(bytes: Buffer, start: number, changes: readonly StateChange[]): number {
  let at = start
  for (const { key, value } of changes) {
    bytes[at] = value === undefined ? 0 : 1
    const keyBytes = bytes.write(key, at + 5)
    bytes.writeUInt32LE(keyBytes, at + 1)
    at += 5 + keyBytes
    if (value === undefined) continue
    at = bytes.writeUInt32LE(value.length, at)
    at += value.copy(bytes, at)
  }
  return at
}

function readChanges(bytes: Buffer, start: number, end: number): StateChange[] {
  const changes: StateChange[] = []
  let at = start
  while (at < end) {
    const hasValue = bytes[at] === 1
    const keyEnd = at + 5 + bytes.readUInt32LE(at + 1)
    const key = bytes.toString('utf8', at + 5, keyEnd)
    at = keyEnd
    if (!hasValue) {
      changes.push({ key, value: undefined })
      continue
    }
    const valueEnd = at + 4 + bytes.readUInt32LE(at)
    changes.push({ key, value: Buffer.from(bytes.subarray(at + 4, valueEnd)) })
    at = valueEnd
  }
  return changes
}

function readText(bytes: Buffer, start: number, end: number): string {
  if (start === end) return ''
  const known = knownTexts.find(bytes, start, end)
  if (known !== undefined) return known.name
  const text = bytes.toString('utf8', start, end)
  knownTexts.remember(new Topic(text), bytes, start, end)
  return text
}
