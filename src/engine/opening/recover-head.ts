/**
 * Reconstructs the damaged head of a segment from the segments around it and from its own records.
 */
import type { DiskFile } from '../ports/disk.ts'
import { KIND_MESSAGE, kindOf, placeOfRecord } from '../segments/record.ts'
import { isRecordAt, scanRecords } from '../segments/scan-records.ts'
import { GREATEST_JUMP } from '../segments/segment-indexes.ts'
import type { SegmentIndex } from '../segments/segment-index.ts'
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
  readonly index: SegmentIndex | undefined
  /** The head of the next segment; undefined: there is none, or it follows another segment. */
  readonly following: SegmentHeader | undefined
}

/**
 * Undefined: the segment has no whole record, and nothing shows that there was one. Throws as
 * `scanRecords`.
 */
export async function headerWithoutHead(file: DiskFile, around: Surroundings): Promise<SegmentHeader | undefined> {
  const { number, partitions, before, index, following } = around
  const from = segmentHeaderBytes(partitions)
  const to = following?.previous?.length ?? (await file.size())
  // In a log of version 1 the first record has no seal. It stands at a place where no tenant can
  // write.
  const seal = (await isRecordAt(file, { from, to }, 0)) ? 0 : around.seal
  const firstSeen = new Map<number, number>()
  let createdAtMs: number | undefined
  let records = 0
  await scanRecords(file, { from, to }, seal, ({ bytes, start }) => {
    records += 1
    if (kindOf(bytes, start) !== KIND_MESSAGE) return
    const { partition, offset, ownedAtMs } = placeOfRecord(bytes, start)
    createdAtMs ??= ownedAtMs
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
    if (seen !== undefined && (seen < base || seen > base + GREATEST_JUMP)) return seen
    return end === undefined ? base : Math.min(base, end)
  })
  createdAtMs ??= following?.createdAtMs ?? 0
  return { number, seal, createdAtMs, gap: 0, previous: undefined, bases }
}
