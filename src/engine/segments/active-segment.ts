/** The segment that is written to, and how a new one begins. */
import type { Disk, DiskFile } from '../ports/disk.ts'
import { segmentHeaderBytes, segmentName, writeSegmentHeader } from './segment-header.ts'
import { SegmentIndex } from './segment-index.ts'
import { Segment } from './segment.ts'

/**
 * A disk that has room for a segment's head may have none for anything else: before it is trusted
 * again, it must take so much.
 */
const PROBE_BYTES = 1_048_576

export class ActiveSegment {
  readonly segment: Segment
  readonly #file: DiskFile
  /** Bytes written, committed or on their way. */
  written: number
  /** To be written before anything else. */
  head: Buffer | undefined

  constructor(segment: Segment, file: DiskFile, written: number) {
    this.segment = segment
    this.#file = file
    this.written = written
    this.head = undefined
  }

  /** Writes at the end. Resolved: on disk. After a failure nothing more may be written here. */
  async append(pieces: readonly Buffer[]): Promise<void> {
    const position = this.written
    for (const { length } of pieces) this.written += length
    this.head = undefined
    await this.#file.write(pieces, position)
    await this.#file.datasync()
  }

  /** Takes off what is behind the committed records. */
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
  /** Those of the log, ascending; new ones are added. */
  readonly segments: Segment[]
  /** The number of the newest file. */
  readonly lastNumber: number
  /** Of the records of new segments. */
  readonly seal: number
  /** Offsets to skip before the next segment. */
  readonly gap: number
  /** A segment is full with so many bytes, */
  readonly segmentBytes: number
  /** or at this age. */
  readonly segmentMs: number
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

  /** Makes the file of the next segment. It is no part of the log before `link` and `made`. */
  async begin(bases: Float64Array, nowMs: number): Promise<ActiveSegment> {
    const { disk, directory, seal } = this.#options
    // A number is never used again, not even that of a file that could not be written.
    this.#lastNumber += 1
    const segment = new Segment({ number: this.#lastNumber, seal, createdAtMs: nowMs, bases: bases.slice() })
    segment.index = new SegmentIndex(bases.length, nowMs)
    segment.isSealed = false
    const file = await disk.create(`${directory}/${segmentName(segment.number)}`)
    return new ActiveSegment(segment, file, 0)
  }

  /** Makes the head, now that the segment before is complete. */
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
   * The segment is on disk, its head at least: makes its name durable, and makes it the log's last.
   */
  async made(active: ActiveSegment): Promise<void> {
    const { disk, directory, segments } = this.#options
    await disk.syncDirectory(directory)
    segments.push(active.segment)
    this.#gap = 0
  }

  /** A segment that was not made. */
  async drop(active: ActiveSegment): Promise<void> {
    const { disk, directory } = this.#options
    await active.close().catch(() => {})
    // What can't be removed is found and set aside when the log is opened.
    await disk.remove(`${directory}/${segmentName(active.segment.number)}`).catch(() => {})
  }

  /**
   * Cuts off what a segment that a write failed in holds behind its committed records. Its
   * successor, and its index, say how far it is valid where even this fails.
   */
  async abandon(active: ActiveSegment): Promise<void> {
    await active.cut().catch(() => {})
    await active.close().catch(() => {})
  }

  /**
   * Tries whether the disk takes anything again: a new segment, and more than a little in it.
   * Rejects when it does not.
   */
  async probe(bases: Float64Array, nowMs: number): Promise<ActiveSegment> {
    const active = await this.begin(bases, nowMs)
    try {
      this.link(active)
      const head = active.head as Buffer
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
