/**
 * What is done beside writing and reading: snapshots of the state, so that the log need not be kept
 * for it, and retention.
 */
import type { Logger } from '../../logger.ts'
import { codeOf } from '../ports/disk.ts'
import type { Disk } from '../ports/disk.ts'
import type { Clock } from '../../clock.ts'
import { indexName, segmentName, segmentNumberOf } from '../segments/segment-header.ts'
import type { Segment } from '../segments/segment.ts'
import type { Snapshot, StateStore } from './state-store.ts'

/** How often retention looks, beside each time that a segment is complete. */
const MAINTAIN_MS = 60_000

export interface LogUpkeepOptions {
  readonly disk: Disk
  readonly logDirectory: string
  readonly stateDirectory: string
  readonly clock: Clock
  readonly logger: Logger
  /** Those of the log, ascending; the oldest are removed. */
  readonly segments: Segment[]
  /** By partition: behind the last committed message. */
  readonly tails: Float64Array
  readonly state: StateStore
  /** Of the records of snapshots. */
  readonly seal: number
  readonly snapshot: Snapshot | undefined
  /** Retention: a segment whose last message is older goes, */
  readonly maximumAgeMs: number
  /** and the oldest beyond so many bytes of all. */
  readonly maximumBytes: number
  /**
   * A snapshot is made once so much has been written since the last, or as much as that one had.
   */
  readonly snapshotBytes: number
  /** A segment is no longer part of the log: its memory and open file can go. */
  readonly forget: (segment: Segment) => Promise<void>
}

export class LogUpkeep {
  readonly #options: LogUpkeepOptions
  #snapshot: Snapshot | undefined
  /** Serves one request at a time, in order. */
  #work: Promise<void> = Promise.resolve()
  #cancel: (() => void) | undefined
  #isClosed = false
  #pins = 0
  /** The newest segment that is no longer part of the log, and the newest whose file is gone. */
  #droppedNumber = 0
  #removedNumber = 0

  constructor(options: LogUpkeepOptions) {
    this.#options = options
    this.#snapshot = options.snapshot
  }

  /** The snapshot that the state would be recovered from. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot
  }

  /**
   * Writes a snapshot now, in the place of one that is damaged. Failures of the disk are logged;
   * the next that is due takes its place.
   */
  renewSnapshot(): Promise<void> {
    this.#work = this.#work.then(() => this.#tryOnDisk(() => this.#writeSnapshot()))
    return this.#work
  }

  /** Begins to look at what is due every minute. */
  start(): void {
    this.#cancel = this.#options.clock.after(MAINTAIN_MS, () => {
      void this.maintain().then(() => {
        if (!this.#isClosed) this.start()
      })
    })
  }

  /**
   * Does what is due: a snapshot, retention. Failures of the disk are logged; the next time tries
   * again.
   */
  maintain(): Promise<void> {
    this.#work = this.#work.then(() => this.#maintain())
    return this.#work
  }

  /**
   * Keeps retention and snapshots from removing files while they are read by somebody else; until
   * the returned function is called.
   */
  async pin(): Promise<() => void> {
    this.#pins += 1
    await this.#work
    return () => {
      this.#pins -= 1
    }
  }

  /** Ends when what is under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel?.()
    await this.#work
  }

  async #maintain(): Promise<void> {
    if (this.#pins > 0 || this.#isClosed) return
    await this.#tryOnDisk(async () => {
      if (this.#isSnapshotDue()) await this.#writeSnapshot()
      // Nothing goes that the state would be recovered from.
      if (this.#removable() < this.#expired()) await this.#writeSnapshot()
      await this.#drop(Math.min(this.#expired(), this.#removable()))
      await this.#removeFiles()
    })
  }

  async #tryOnDisk(run: () => Promise<void>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (codeOf(error) === 'unknown') throw error
      this.#options.logger.error({ code: codeOf(error) }, 'log.upkeep_failed')
    }
  }

  #isSnapshotDue(): boolean {
    const { segments, state, snapshotBytes } = this.#options
    const at = this.#snapshot?.at
    let bytes = 0
    for (const { number, length } of segments) {
      if (at === undefined || number > at.segment) bytes += length
      else if (number === at.segment) bytes += length - at.position
    }
    // So that snapshots of a large state cost no more than what is written of the log itself.
    return bytes >= Math.max(snapshotBytes, state.bytes)
  }

  async #writeSnapshot(): Promise<void> {
    const { disk, stateDirectory, segments, state, seal, tails, clock, logger } = this.#options
    const last = segments.at(-1)
    if (last === undefined) return
    const startedAt = clock.steady()
    const at = { segment: last.number, position: last.length }
    this.#snapshot = await state.writeSnapshot(disk, stateDirectory, at, { seal, tails })
    logger.debug(
      { entries: state.size, bytes: state.bytes, durationMs: clock.steady() - startedAt },
      'state.snapshot_written',
    )
  }

  /**
   * How many of the oldest segments retention lets go: sealed ones, and never the last, which knows
   * the tails.
   */
  #expired(): number {
    const { segments, maximumAgeMs, maximumBytes, clock } = this.#options
    const oldestMs = clock.now() - maximumAgeMs
    let bytes = segments.reduce((sum, { length }) => sum + length, 0)
    let count = 0
    for (const { isSealed, lastMs, length } of segments.slice(0, -1)) {
      if (!isSealed || (lastMs >= oldestMs && bytes <= maximumBytes)) break
      bytes -= length
      count += 1
    }
    return count
  }

  /** How many of the oldest segments the state does not need any more. */
  #removable(): number {
    const at = this.#snapshot?.at
    if (at === undefined) return 0
    const { segments } = this.#options
    const needed = segments.findIndex(({ number }) => number >= at.segment)
    return needed === -1 ? segments.length : needed
  }

  /** Takes the oldest segments out of the log. */
  async #drop(count: number): Promise<void> {
    const { segments, forget, logger } = this.#options
    const dropped = segments.splice(0, count)
    for (const segment of dropped) {
      this.#droppedNumber = segment.number
      await forget(segment)
    }
    const bytes = dropped.reduce((sum, { length }) => sum + length, 0)
    if (count > 0) logger.info({ segments: count, bytes, first: segments[0]?.number }, 'log.retained')
  }

  /**
   * Removes the files of those that were taken out, and of those among them that a write had failed
   * in before they were made: one by one, the oldest first, so that neither a failure nor a power
   * cut leaves a gap in the log.
   */
  async #removeFiles(): Promise<void> {
    const { disk, logDirectory } = this.#options
    if (this.#droppedNumber <= this.#removedNumber) return
    const numbers = (await disk.list(logDirectory)).flatMap((name) => segmentNumberOf(name) ?? [])
    const leaving = numbers.filter((number) => number <= this.#droppedNumber)
    for (const number of leaving.toSorted((one, other) => one - other)) {
      // The index durably first: one whose segment is gone tells of a segment that is missing.
      await disk.remove(`${logDirectory}/${indexName(number)}`)
      await disk.syncDirectory(logDirectory)
      await disk.remove(`${logDirectory}/${segmentName(number)}`)
    }
    await disk.syncDirectory(logDirectory)
    this.#removedNumber = this.#droppedNumber
  }
}
