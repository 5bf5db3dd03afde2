/** The segment that is written to, and the steps that begin a new one. */
import assert from 'node:assert'
import type { Disk, DiskFile } from '../ports/disk.ts'
import type { Accounts } from './accounts.ts'
import { segmentHeaderBytes, segmentName, writeSegmentHeader } from './segment-header.ts'
import { SegmentIndex } from './segment-index.ts'
import { Segment } from './segment.ts'

/**
 * A disk that has room for a segment's head may have none for anything else. Before the engine
 * trusts it again, the disk must take this many bytes.
 */
const PROBE_BYTES = 1_048_576

export class ActiveSegment {
  readonly segment: Segment
  readonly #file: DiskFile
  /** Bytes written: committed, or being written. */
  written: number
  /** The head, which must be written before anything else; undefined: it is written. */
  head: Buffer | undefined

  constructor(segment: Segment, file: DiskFile, written: number) {
    this.segment = segment
    this.#file = file
    this.written = written
    this.head = undefined
  }

  /**
   * Writes at the end. Resolves when the bytes are on disk. After a failure, nothing more may be
   * written to this segment.
   */
  async append(pieces: readonly Buffer[]): Promise<void> {
    const position = this.written
    for (const { length } of pieces) this.written += length
    this.head = undefined
    await this.#file.write(pieces, position)
  }

  /** Cuts off the bytes behind the committed records. */
  async cut(): Promise<void> {
    await this.#file.truncate(this.segment.length)
    await this.#file.datasync()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

export interface NewSegmentsOptions {
  readonly disk: Disk
  readonly directory: string
  /** The segments of the log, ascending; new ones are added. */
  readonly segments: Segment[]
  /** The number of the newest file. */
  readonly lastNumber: number
  /** The seal of the records of new segments. */
  readonly seal: number
  /** Offsets to skip before the next segment. */
  readonly gap: number
  /** Bytes at which a segment is full. */
  readonly segmentBytes: number
  /** Age at which a segment is full, ms. */
  readonly segmentMs: number
  readonly accounts: Accounts
}

export class NewSegments {
  readonly #options: NewSegmentsOptions
  #lastNumber: number
  #gap: number

  constructor(options: NewSegmentsOptions) {
    this.#options = options
    this.#lastNumber = options.lastNumber
    this.#gap = options.gap
  }

  isFull({ segment, written }: ActiveSegment, nowMs: number): boolean {
    const { segmentBytes, segmentMs } = this.#options
    return written >= segmentBytes || (nowMs - segment.createdAtMs >= segmentMs && !segment.isEmpty)
  }

  /**
   * Makes the file of the next segment. The file is no part of the log before `link` and `made`.
   */
  async begin(bases: Float64Array, nowMs: number): Promise<ActiveSegment> {
    const { disk, directory, seal, accounts } = this.#options
    // A number is never used again, not even the number of a file that could not be written.
    this.#lastNumber += 1
    const segment = new Segment({ number: this.#lastNumber, seal, createdAtMs: nowMs, bases: bases.slice() })
    const index = new SegmentIndex(bases.length, nowMs, accounts)
    index.shares.count()
    segment.index = index
    segment.shares = index.shares
    segment.isSealed = false
    const file = await disk.createSynced(`${directory}/${segmentName(segment.number)}`)
    return new ActiveSegment(segment, file, 0)
  }

  /** Makes the head of the segment. Call it when the segment before is complete. */
  link(active: ActiveSegment): void {
    const { segments } = this.#options
    const gap = this.#gap
    const { number, seal, createdAtMs, bases } = active.segment
    const previous = segments.at(-1)
    const head = Buffer.allocUnsafe(segmentHeaderBytes(bases.length))
    writeSegmentHeader(head, 0, { number, seal, createdAtMs, gap, previous, bases })
    active.head = head
  }

  /**
   * The segment's head, at least, is on disk: makes the file's name durable, and adds the segment
   * to the log as its last.
   */
  async made(active: ActiveSegment): Promise<void> {
    const { disk, directory, segments } = this.#options
    await disk.syncDirectory(directory)
    segments.push(active.segment)
    this.#gap = 0
  }

  /** Removes a segment for which `made` was not called. */
  async drop(active: ActiveSegment): Promise<void> {
    const { disk, directory } = this.#options
    await active.close().catch(() => {})
    // The next opening of the log finds a file that can't be removed here, and sets it aside.
    await disk.remove(`${directory}/${segmentName(active.segment.number)}`).catch(() => {})
  }

  /**
   * Cuts off the bytes behind the committed records after a write to the segment failed. If this
   * fails, too, the next segment and the index still say how far the segment is valid.
   */
  async abandon(active: ActiveSegment): Promise<void> {
    await active.cut().catch(() => {})
    await active.close().catch(() => {})
  }

  /**
   * Tries whether the disk accepts writes again: makes a new segment, and writes more than a little
   * into it. Rejects if the disk does not accept them.
   */
  async probe(bases: Float64Array, nowMs: number): Promise<ActiveSegment> {
    const active = await this.begin(bases, nowMs)
    try {
      this.link(active)
      const { head } = active
      assert(head !== undefined, 'a linked segment has its head')
      await active.append([head, Buffer.alloc(PROBE_BYTES)])
      active.written = head.length
      await active.cut()
      await this.made(active)
      return active
    } catch (error) {
      await this.drop(active)
      throw error
    }
  }
}
