/**
 * Goes through the records of a file from one end to the other. Behind damaged bytes, it looks for
 * the next whole record.
 */
import { readDespiteErrors } from '../ports/disk.ts'
import type { DiskFile } from '../ports/disk.ts'
import { PREFIX_BYTES, SMALLEST_RECORD_BYTES, checkRecord } from './record.ts'

/** Bytes read at a time; a longer record is read with all its bytes. */
const WINDOW_BYTES = 4_194_304
/** The most stretches that are listed; further ones are only counted. */
const MAXIMUM_STRETCHES = 1_000
/**
 * Bytes whose checksum is computed in search of the next record. Damaged bytes, or a payload made
 * for this attack, can look like the heads of a million long records. Beyond this budget only short
 * records are tried, so that a start ends.
 */
const SEARCH_BUDGET_BYTES = 4_294_967_296
const SHORT_RECORD_BYTES = 4_096

/** A record in memory; only valid during the visit. */
export interface VisitedRecord {
  readonly bytes: Buffer
  /** Where the record begins in `bytes`. */
  readonly start: number
  /** Where the record begins in the file. */
  readonly position: number
  /** The record's bytes, with its prefix. */
  readonly length: number
}

/** Bytes of a file that are no record, from one position (included) to another (excluded). */
export interface Stretch {
  readonly from: number
  readonly to: number
}

export interface ScanOutcome {
  /** Where the last whole record ends; the rest of the range is no record. */
  readonly end: number
  /**
   * The bytes that are no record though a whole record stands behind them, ascending; the first
   * 1,000 stretches.
   */
  readonly stretches: readonly Stretch[]
  /** The number of all stretches, listed or not. */
  readonly damages: number
  /** The bytes of all stretches, listed or not. */
  readonly damagedBytes: number
}

/** The pace of a reader that must not disturb others. */
export interface Pace {
  /** Bytes read at a time. */
  readonly windowBytes: number
  /** Called before each read; the scan waits for it, and rejects if it rejects. */
  turn(): Promise<void>
}

/**
 * Visits the whole records between two positions, in order, and passes over all other bytes. Bytes
 * that the disk can't read count as damaged. Throws `NewerRecordError` and the disk's other errors.
 */
export async function scanRecords(
  file: DiskFile,
  range: { readonly from: number; readonly to: number },
  seal: number,
  visit: (record: VisitedRecord) => void,
  pace?: Pace,
): Promise<ScanOutcome> {
  const { from } = range
  const to = Math.min(range.to, await file.size())
  const window = new Window(file, from, to, pace)
  const stretches: Stretch[] = []
  let position = from
  let end = from
  let damages = 0
  let damagedBytes = 0
  let isInDamage = false
  let budget = SEARCH_BUDGET_BYTES
  while (position < to) {
    let found: number
    if (isInDamage) {
      const candidate = window.candidateBytes(position)
      const isTried = budget > 0 || candidate <= SHORT_RECORD_BYTES
      budget -= candidate
      found = isTried ? window.check(position, seal) : 0
    } else found = window.check(position, seal)
    if (found < 0 && (await window.reach(position, -found))) continue
    if (found > 0) {
      if (isInDamage) {
        isInDamage = false
        damages += 1
        damagedBytes += position - end
        if (stretches.length < MAXIMUM_STRETCHES) stretches.push({ from: end, to: position })
      }
      visit({ bytes: window.bytes, start: position - window.at, position, length: found })
      position += found
      end = position
      continue
    }
    // If the length is undamaged, the next record stands right behind.
    const next = isInDamage ? undefined : await nextByLength(file, window, { position, to }, seal)
    isInDamage = true
    position = next ?? position + 1
  }
  return { end, stretches, damages, damagedBytes }
}

/** True if a whole record begins at the first byte of the range. */
export async function isRecordAt(file: DiskFile, { from, to }: Stretch, seal: number): Promise<boolean> {
  const window = new Window(file, from, to)
  for (let found = -SMALLEST_RECORD_BYTES; found < 0; found = window.check(from, seal)) {
    if (!(await window.reach(from, -found))) return false
  }
  return window.check(from, seal) > 0
}

async function nextByLength(
  file: DiskFile,
  window: Window,
  { position, to }: { readonly position: number; readonly to: number },
  seal: number,
): Promise<number | undefined> {
  await window.reach(position, PREFIX_BYTES)
  const next = position + window.candidateBytes(position)
  if (next < position + SMALLEST_RECORD_BYTES || next + SMALLEST_RECORD_BYTES > to) return undefined
  return (await isRecordAt(file, { from: next, to }, seal)) ? next : undefined
}

/** The part of a file that is in memory. */
class Window {
  bytes: Buffer
  /** The window's position in the file. */
  at: number
  readonly #file: DiskFile
  readonly #to: number
  readonly #pace: Pace | undefined
  #filled = 0

  constructor(file: DiskFile, from: number, to: number, pace?: Pace) {
    this.#file = file
    this.#pace = pace
    this.#to = to
    this.at = from
    this.bytes = Buffer.allocUnsafeSlow(0)
  }

  /** As `checkRecord`; 0 if the range ends before a record could. */
  check(position: number, seal: number): number {
    const left = this.#to - position
    if (left < SMALLEST_RECORD_BYTES) return 0
    return checkRecord(this.bytes, position - this.at, this.#filled, left, seal)
  }

  /** The bytes that a record at this position would have; 0 if its length is not in memory. */
  candidateBytes(position: number): number {
    const start = position - this.at
    return start + PREFIX_BYTES > this.#filled ? 0 : PREFIX_BYTES + this.bytes.readUInt32LE(start)
  }

  /**
   * Reads on until `wanted` bytes from the position on are in memory; false: the range has no more.
   */
  async reach(position: number, wanted: number): Promise<boolean> {
    const start = position - this.at
    if (this.at + this.#filled >= this.#to || this.#filled - start >= wanted) return false
    await this.#pace?.turn()
    const windowBytes = this.#pace?.windowBytes ?? WINDOW_BYTES
    const size = Math.min(Math.max(windowBytes, wanted), this.#to - position)
    const larger = size > this.bytes.length ? Buffer.allocUnsafeSlow(size) : this.bytes
    const kept = Math.max(0, this.#filled - start)
    if (kept > 0) this.bytes.copy(larger, 0, start, this.#filled)
    this.bytes = larger
    this.#filled = kept
    this.at = position
    const room = Math.min(larger.length - this.#filled, this.#to - position - this.#filled)
    const piece = larger.subarray(this.#filled, this.#filled + room)
    const bytesRead = await readDespiteErrors(this.#file, [piece], position + this.#filled)
    this.#filled += bytesRead
    return bytesRead > 0
  }
}
