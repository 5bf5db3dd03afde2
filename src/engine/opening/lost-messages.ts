/**
 * Finds the messages that stood in damaged bytes, from the index, the neighbouring records and the
 * bytes themselves.
 */
import type { DiskFile } from '../ports/disk.ts'
import { readDespiteErrors } from '../ports/disk.ts'
import type { LostMessages } from './log-damage.ts'
import {
  KIND_CHANGES,
  KIND_MESSAGE,
  PREFIX_BYTES,
  SMALLEST_RECORD_BYTES,
  kindOf,
  placeOfRecord,
} from '../segments/record.ts'
import type { Stretch } from '../segments/scan-records.ts'
import { endOf, offsetOf } from '../segments/segment-index.ts'
import type { PartitionIndex, SegmentIndex } from '../segments/segment-index.ts'

/** Bytes of the shortest record of a message. */
export const SMALLEST_MESSAGE_BYTES = 36
/** The most bytes of a stretch that are searched for readable heads of records. */
const MAXIMUM_LOOKED_AT = 1_048_576

/** The messages of each partition between `bases` and `ends` that are missing from the index. */
export function lostMessages(index: SegmentIndex, bases: Float64Array, ends: Float64Array): LostMessages[] {
  const lost: LostMessages[] = []
  for (const [partition, base] of bases.entries()) {
    const end = ends[partition] as number
    let from = base
    const entries = index.partition(partition)
    const length = entries?.length ?? 0
    for (let at = 0; at < length; at += 1) {
      if (entries === undefined || index.positionAt(entries, at) === -1) continue
      const offset = offsetOf(entries, at)
      if (offset > from) lost.push({ partition, from, to: offset })
      from = offset + 1
    }
    if (end > from) lost.push({ partition, from, to: end })
  }
  return lost
}

/** By partition: the messages from where one segment ends to where the next begins. */
export function lostBetween(ends: Float64Array, bases: Float64Array): LostMessages[] {
  return [...bases.entries()].flatMap(([partition, to]) => {
    const from = ends[partition] ?? 0
    return to > from ? [{ partition, from, to }] : []
  })
}

/** Moves the end of a partition up to `end`, unless it is further already. */
export function raise(ends: Float64Array, partition: number, end: number): void {
  ends[partition] = Math.max(ends[partition] ?? 0, end)
}

/** All messages of an index. */
export function messagesOf(index: SegmentIndex, partitions: number): LostMessages[] {
  return Array.from({ length: partitions }, (_, partition) => ({
    partition,
    entries: index.partition(partition),
  })).flatMap(({ partition, entries }) => (entries === undefined ? [] : runsOf(partition, entries)))
}

function runsOf(partition: number, entries: PartitionIndex): LostMessages[] {
  if (entries.offsets === undefined) return [{ partition, from: entries.base, to: endOf(entries) }]
  const runs: { partition: number; from: number; to: number }[] = []
  for (let at = 0; at < entries.length; at += 1) {
    const offset = offsetOf(entries, at)
    const run = runs.at(-1)
    if (run?.to === offset) run.to += 1
    else runs.push({ partition, from: offset, to: offset + 1 })
  }
  return runs
}

/**
 * Damaged bytes often still tell which message they held: a record whose payload is damaged has its
 * length and its place. Raises `ends` behind the messages that are found in this way. Returns the
 * largest number of further messages that the bytes may have held.
 */
export async function endsBehind(file: DiskFile, stretches: readonly Stretch[], ends: Float64Array): Promise<number> {
  let furtherAtMost = 0
  for (const { from, to } of stretches) {
    const bytes = Buffer.alloc(Math.min(to - from, MAXIMUM_LOOKED_AT))
    const bytesRead = await readDespiteErrors(file, [bytes], from)
    const told = bytesToldBy(bytes.subarray(0, bytesRead), ends)
    furtherAtMost += Math.ceil((to - from - told) / SMALLEST_MESSAGE_BYTES)
  }
  return furtherAtMost
}

/**
 * Reads the heads of the damaged records while they make sense. Returns the bytes of these records.
 */
function bytesToldBy(bytes: Buffer, ends: Float64Array): number {
  let at = 0
  while (at + SMALLEST_RECORD_BYTES <= bytes.length) {
    const next = at + PREFIX_BYTES + bytes.readUInt32LE(at)
    if (next < at + SMALLEST_RECORD_BYTES || next > bytes.length) return at
    const kind = kindOf(bytes, at)
    if (kind === KIND_MESSAGE && next - at >= SMALLEST_MESSAGE_BYTES) {
      const { partition, offset } = placeOfRecord(bytes, at)
      const end = ends[partition]
      // The offset must be a known one or the very next. No other offset can stand here.
      if (end === undefined || !Number.isSafeInteger(offset) || offset < 0 || offset > end) return at
      ends[partition] = Math.max(end, offset + 1)
    } else if (kind !== KIND_CHANGES) return at
    at = next
  }
  return at
}
