/** Reads all records of a segment, and finds the damaged bytes between them. */
import type { DiskFile } from '../ports/disk.ts'
import type { Accounts } from './accounts.ts'
import { KIND_MESSAGE, kindOf, placeOfRecord } from './record.ts'
import type { ScanOutcome } from './scan-records.ts'
import { buildIndex } from './segment-indexes.ts'
import { SegmentIndex, endOf } from './segment-index.ts'
import type { Segment } from './segment.ts'

export interface SegmentReading extends ScanOutcome {
  readonly index: SegmentIndex
  readonly records: number
  readonly messages: number
  /**
   * The earliest and the latest time at which the messages in damaged bytes were taken, ms since
   * 1970, as their neighbours tell; undefined: nothing between two records is damaged.
   */
  readonly betweenMs: readonly [from: number, to: number] | undefined
  /** The time at which the last message was taken. */
  readonly lastMs: number
}

/**
 * Reads the first `segment.length` bytes; notes the times of the messages in the segment. Throws as
 * `scanRecords`.
 */
export async function readSegment(
  file: DiskFile,
  segment: Segment,
  accounts: Accounts,
  visit: (bytes: Buffer, start: number, position: number) => void,
): Promise<SegmentReading> {
  const index = new SegmentIndex(segment.bases.length, segment.createdAtMs, accounts)
  let expected = segment.headBytes
  let records = 0
  let messages = 0
  let lastMs = segment.createdAtMs
  let fromMs: number | undefined
  let toMs = -Infinity
  let isBehindDamage = false
  const outcome = await buildIndex(file, segment, index, accounts, (bytes, start, position, length) => {
    records += 1
    if (position !== expected) {
      fromMs ??= lastMs
      isBehindDamage = true
    }
    expected = position + length
    if (kindOf(bytes, start) === KIND_MESSAGE) {
      messages += 1
      lastMs = placeOfRecord(bytes, start).ownedAtMs
      if (isBehindDamage) toMs = lastMs
      isBehindDamage = false
    }
    visit(bytes, start, position)
  })
  if (isBehindDamage) toMs = Math.max(toMs, lastMs)
  return { ...outcome, index, records, messages, lastMs, betweenMs: fromMs === undefined ? undefined : [fromMs, toMs] }
}

/**
 * By partition: the offset behind the last message of the index; for a partition without messages,
 * its base.
 */
export function endsOf(index: SegmentIndex, bases: Float64Array): Float64Array {
  return bases.map((base, partition) => {
    const entries = index.partition(partition)
    return entries === undefined ? base : Math.max(base, endOf(entries))
  })
}
