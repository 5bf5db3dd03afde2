/** Goes through the records of a file from one end to the other. */
import type { DiskFile } from './disk.ts'
import { SMALLEST_RECORD_BYTES, checkRecord } from './record.ts'

/** Read at a time; a longer record is read with as much as it needs. */
const WINDOW_BYTES = 4_194_304

/** A record where it lies in memory; gone when the visit is over. */
export interface VisitedRecord {
  readonly bytes: Buffer
  /** Where it begins in `bytes`. */
  readonly start: number
  /** Where it begins in the file. */
  readonly position: number
  /** All its bytes. */
  readonly length: number
}

export interface ScanOutcome {
  /** Where the last valid record ends that was visited. */
  readonly end: number
  /** Bytes that were no record; with `stop` all that lies behind the first of them. */
  readonly damagedBytes: number
  /** Stretches of them. */
  readonly damages: number
}

/**
 * Visits the valid records between two positions, in order. At what is no record it stops, or, told to skip, goes on at the next valid one. Throws
 * `NewerRecordError`, and what the disk throws.
 */
export async function scanRecords(
  file: DiskFile,
  range: { readonly from: number; readonly to: number },
  atDamage: 'stop' | 'skip',
  visit: (record: VisitedRecord) => void,
): Promise<ScanOutcome> {
  const { to } = range
  let window = Buffer.allocUnsafeSlow(Math.min(WINDOW_BYTES, Math.max(1, to - range.from)))
  let windowAt = range.from
  let filled = 0
  let position = range.from
  let end = range.from
  let damagedBytes = 0
  let damages = 0
  let isInDamage = false
  while (position < to) {
    const start = position - windowAt
    const found = checkRecord(window, start, filled, to - position)
    if (found > 0) {
      visit({ bytes: window, start, position, length: found })
      position += found
      end = position
      isInDamage = false
      continue
    }
    const isCutShort = to - position < SMALLEST_RECORD_BYTES
    if (found < 0 && !isCutShort && windowAt + filled < to) {
      // Fewer bytes at hand than the record has.
      const larger = -found > window.length ? Buffer.allocUnsafeSlow(-found) : window
      window.copy(larger, 0, start, filled)
      window = larger
      filled -= start
      windowAt = position
      const wanted = Math.min(window.length - filled, to - windowAt - filled)
      const bytesRead = await file.read([window.subarray(filled, filled + wanted)], windowAt + filled)
      if (bytesRead === 0) return { end, damagedBytes: damagedBytes + to - position, damages: damages + 1 }
      filled += bytesRead
      continue
    }
    if (atDamage === 'stop') return { end, damagedBytes: to - position, damages: 1 }
    if (!isInDamage) damages += 1
    isInDamage = true
    damagedBytes += 1
    position += 1
  }
  return { end, damagedBytes, damages }
}
