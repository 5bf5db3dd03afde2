/**
 * Reconstructs the damaged head of a segment from the segments around it and from its own records.
 */
import type { DiskFile } from '../ports/disk.ts'
import { SMALLEST_MESSAGE_BYTES } from './lost-messages.ts'
import { KIND_MESSAGE, KIND_REMOVED, kindOf, placeOfRecord } from '../segments/record.ts'
import { isRecordAt, scanRecords } from '../segments/scan-records.ts'
import type { Stretch } from '../segments/scan-records.ts'
import { GREATEST_GAP, GREATEST_JUMP } from '../segments/segment-indexes.ts'
import type { StoredIndex } from '../segments/segment-index-file.ts'
import { segmentHeaderBytes } from '../segments/segment-header.ts'
import type { SegmentHeader } from '../segments/segment-header.ts'

export interface Surroundings {
  readonly number: number
  readonly partitions: number
  /** The seal of the log. */
  readonly seal: number
  /**
   * By partition: where the messages of the segment before end; undefined: there is no segment
   * before.
   */
  readonly before: Float64Array | undefined
  /** The segment's own index; undefined: there is none. */
  readonly stored: StoredIndex | undefined
  /** The head of the next segment; undefined: there is none, or it follows another segment. */
  readonly following: SegmentHeader | undefined
}

/**
 * Undefined: the segment has no whole record, and nothing shows that there was one. Throws as
 * `scanRecords`.
 */
export async function headerWithoutHead(file: DiskFile, around: Surroundings): Promise<SegmentHeader | undefined> {
  const { number, partitions, before, stored, following } = around
  const index = stored?.index
  const from = segmentHeaderBytes(partitions)
  const size = await file.size()
  // In a log of version 1 the first record has no seal. It stands at a place where no tenant can
  // write.
  const seal = (await isRecordAt(file, { from, to: size }, 0)) ? 0 : around.seal
  // The head of the next segment knows the length of the segment as it was before a rewriting.
  const isRewritten = await hasRemoved(file, { from, to: size }, seal)
  const to = isRewritten ? size : (following?.previous?.length ?? size)
  const firstSeen = new Map<number, number>()
  let createdAtMs: number | undefined
  let records = 0
  let messages = 0
  let earliestMs = Infinity
  let latestMs = -Infinity
  const outcome = await scanRecords(file, { from, to }, seal, ({ bytes, start }) => {
    records += 1
    if (kindOf(bytes, start) !== KIND_MESSAGE) return
    const { partition, offset, ownedAtMs } = placeOfRecord(bytes, start)
    createdAtMs ??= ownedAtMs
    messages += 1
    earliestMs = Math.min(earliestMs, ownedAtMs)
    latestMs = Math.max(latestMs, ownedAtMs)
    if (!firstSeen.has(partition)) firstSeen.set(partition, offset)
  })
  if (records === 0 && following === undefined) return undefined
  const bases = Float64Array.from({ length: partitions }, (_, partition) => {
    const seen = firstSeen.get(partition)
    const end = following === undefined ? undefined : (following.bases[partition] as number) - following.gap
    // The very first segment begins with the first message.
    const known = index?.partition(partition)?.base ?? (number === 1 ? 0 : undefined)
    const base = before?.[partition] ?? known ?? seen ?? end ?? 0
    // In a restored log, the offsets go on far behind the last one.
    if (seen !== undefined && (seen < base || seen > base + (isRewritten ? GREATEST_GAP : GREATEST_JUMP))) return seen
    return end === undefined ? base : Math.min(base, end)
  })
  createdAtMs ??= following?.createdAtMs ?? 0
  const header = { number, seal, createdAtMs, gap: 0, previous: undefined, bases }
  if (!isRewritten) return header
  const { generation = 1 } = stored ?? {}
  // The head knew how many messages there were. The index knows it as well; without an index, the
  // damaged bytes behind the head say how many there were at most.
  const ofHead = segmentHeaderBytes(partitions, true) - from
  const damagedBytes = Math.max(0, outcome.damagedBytes - ofHead)
  const atMost = messages + Math.ceil(damagedBytes / SMALLEST_MESSAGE_BYTES)
  const held = stored?.hasShares === true ? stored.index.shares.keptMessages : atMost
  const firstMs = messages === 0 ? createdAtMs : earliestMs
  const lastMs = messages === 0 ? (following?.previous?.lastMs ?? createdAtMs) : latestMs
  return { ...header, rewritten: { length: size, firstMs, lastMs, messages: held, generation } }
}

/** True if a record says which accounts have lost messages: a rewritten segment ends with it. */
async function hasRemoved(file: DiskFile, range: Stretch, seal: number): Promise<boolean> {
  let isFound = false
  await scanRecords(file, range, seal, ({ bytes, start }) => {
    isFound ||= kindOf(bytes, start) === KIND_REMOVED
  })
  return isFound
}
