/**
 * The periodic work on the log: retention, and snapshots of the state, without which the log would
 * have to be kept for the state.
 */
import type { Logger } from '../../logger.ts'
import { codeOf } from '../ports/disk.ts'
import type { Disk } from '../ports/disk.ts'
import type { Clock } from '../../clock.ts'
import type { Accounts } from '../segments/accounts.ts'
import { indexName, segmentName, segmentNumberOf } from '../segments/segment-header.ts'
import type { SegmentIndexes } from '../segments/segment-indexes.ts'
import type { Segment } from '../segments/segment.ts'
import { InterruptedError, PAUSE_FACTOR, createBackgroundPace } from './background-pace.ts'
import type { LogRewriter } from './log-rewriter.ts'
import type { Snapshot, StateStore } from './state-store.ts'
import type { StoredBounds } from './stored-bounds.ts'

/** The interval of retention; it also runs whenever a segment is complete. */
const MAINTAIN_MS = 60_000
/**
 * The part of its bound by which the log may be larger while segments are being rewritten. A flood
 * may be faster than the rewriting for a while; without this room, the oldest messages of all would
 * go.
 */
const OVERFLOW = 1 / 8

export interface LogUpkeepOptions {
  readonly disk: Disk
  readonly logDirectory: string
  readonly stateDirectory: string
  readonly clock: Clock
  readonly logger: Logger
  /** The segments of the log, ascending; the oldest are removed. */
  readonly segments: Segment[]
  /** By partition: the offset behind the last committed message. */
  readonly tails: Float64Array
  readonly state: StateStore
  /** The seal of the records of snapshots. */
  readonly seal: number
  readonly snapshot: Snapshot | undefined
  /** Retention removes a segment whose last message is older, ms. */
  readonly maximumAgeMs: number
  /** Retention removes the oldest segments while all segments together have more bytes. */
  readonly maximumBytes: number
  /**
   * A snapshot is made after this many bytes were written since the last one, or as many bytes as
   * the state has if that is more.
   */
  readonly snapshotBytes: number
  readonly accounts: Accounts
  readonly indexes: SegmentIndexes
  /** Undefined: the tenants have no bounds of their own. */
  readonly bounds: StoredBounds | undefined
  readonly rewriter: LogRewriter | undefined
  /** Called when a segment is no longer part of the log: drops its memory and its open file. */
  readonly forget: (segment: Segment) => Promise<void>
}

export class LogUpkeep {
  readonly #options: LogUpkeepOptions
  #snapshot: Snapshot | undefined
  /** Orders the work: one request at a time. */
  #work: Promise<void> = Promise.resolve()
  #cancel: (() => void) | undefined
  #isClosed = false
  #pins = 0
  /** Requests that wait for their turn. */
  #waiting = 0
  /** The number of the newest segment that was taken out of the log. */
  #droppedNumber = 0
  /** The number of the newest segment whose file is gone. */
  #removedNumber = 0

  constructor(options: LogUpkeepOptions) {
    this.#options = options
    this.#snapshot = options.snapshot
  }

  /** The snapshot from which a start would recover the state. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot
  }

  /**
   * Writes a snapshot now, to replace a damaged one. The disk's failures are logged; the next
   * snapshot that is due replaces it.
   */
  renewSnapshot(): Promise<void> {
    this.#work = this.#work.then(() => this.#tryOnDisk(() => this.#writeSnapshot()))
    return this.#work
  }

  /** Begins to do the work that is due, every minute. */
  start(): void {
    this.#cancel = this.#options.clock.after(MAINTAIN_MS, () => {
      void this.maintain().then(() => {
        if (!this.#isClosed) this.start()
      })
    })
  }

  /**
   * Does the work that is due: a snapshot, retention. The disk's failures are logged; the next run
   * tries again.
   */
  maintain(): Promise<void> {
    this.#waiting += 1
    this.#work = this.#work.then(() => {
      this.#waiting -= 1
      return this.#maintain()
    })
    return this.#work
  }

  /**
   * Keeps retention and snapshots from removing files while somebody else reads them, until the
   * returned function is called.
   */
  async pin(): Promise<() => void> {
    this.#pins += 1
    await this.#work
    return () => {
      this.#pins -= 1
    }
  }

  /** Resolves when the work under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel?.()
    await this.#work
  }

  async #maintain(): Promise<void> {
    if (this.#pins > 0 || this.#isClosed) return
    await this.#enforceBounds()
    await this.#tryOnDisk(async () => {
      if (this.#isSnapshotDue()) await this.#writeSnapshot()
      // Never drop a segment that recovery still needs.
      if (this.#removable() < this.#expired(this.#options.maximumBytes)) await this.#writeSnapshot()
      const isMoreToCome = await this.#rewrite()
      const maximumBytes = this.#options.maximumBytes * (isMoreToCome ? 1 + OVERFLOW : 1)
      await this.#drop(Math.min(this.#expired(maximumBytes), this.#removable()))
      await this.#removeFiles()
    })
  }

  /** Gives removed messages' bytes back. True: there is more to do, and the next run goes on. */
  async #rewrite(): Promise<boolean> {
    const { rewriter } = this.#options
    if (rewriter === undefined) return false
    const outcome = await rewriter.run({
      isInterrupted: () => this.#isInterrupted,
      isEnough: () => this.#waiting > 0,
    })
    if (outcome === 'blocked' && rewriter.isUnderPressure) await this.#writeSnapshot()
    return outcome !== 'done'
  }

  async #enforceBounds(): Promise<void> {
    const { accounts, bounds, segments, indexes, clock } = this.#options
    if (bounds === undefined) return
    await accounts.resolve(segments.at(-1)?.shares?.accounts.slice() ?? [])
    bounds.enforce()
    // A program of an earlier version wrote no shares. They are made one segment at a time, so that
    // the reading disturbs nobody.
    const unknown = segments.find(({ isSealed, shares }) => isSealed && shares === undefined)
    if (unknown === undefined) return
    const pace = createBackgroundPace(clock, PAUSE_FACTOR, () => this.#isInterrupted)
    await this.#tryOnDisk(() => indexes.rebuild(unknown, pace).then(() => {}))
  }

  /** True: work in the background is to end at once. */
  get #isInterrupted(): boolean {
    return this.#isClosed || this.#pins > 0
  }

  async #tryOnDisk(run: () => Promise<void>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (error instanceof InterruptedError) return
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
    // So the snapshots of a large state cost no more than the writing of the log itself.
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
   * The number of oldest segments that retention may remove. Only sealed segments count, and never
   * the last one, which holds the tails.
   */
  #expired(maximumBytes: number): number {
    const { segments, maximumAgeMs, clock } = this.#options
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

  /** The number of oldest segments that the recovery of the state no longer needs. */
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
      segment.isGone = true
      segment.shares?.uncount()
      await forget(segment)
    }
    const bytes = dropped.reduce((sum, { length }) => sum + length, 0)
    if (count > 0) logger.info({ segments: count, bytes, first: segments[0]?.number }, 'log.retained')
  }

  /**
   * Removes the files of the segments that were taken out of the log, and the leftovers of failed
   * writes among them. Removes one by one, the oldest first, so that neither a failure nor a power
   * cut leaves a gap in the log.
   */
  async #removeFiles(): Promise<void> {
    const { disk, logDirectory } = this.#options
    if (this.#droppedNumber <= this.#removedNumber) return
    const numbers = (await disk.list(logDirectory)).flatMap((name) => segmentNumberOf(name) ?? [])
    const leaving = numbers.filter((number) => number <= this.#droppedNumber)
    for (const number of leaving.toSorted((one, other) => one - other)) {
      // The index is removed first, durably: an index without its segment shows that a segment is
      // missing.
      await disk.remove(`${logDirectory}/${indexName(number)}`)
      await disk.syncDirectory(logDirectory)
      await disk.remove(`${logDirectory}/${segmentName(number)}`)
    }
    await disk.syncDirectory(logDirectory)
    this.#removedNumber = this.#droppedNumber
  }
}
