/** Rewrites the segments of a log that have lost many messages, one after the other. */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { codeOf } from '../ports/disk.ts'
import type { Disk } from '../ports/disk.ts'
import type { Accounts } from '../segments/accounts.ts'
import type { SegmentFiles } from '../segments/segment-files.ts'
import { adoptShares } from '../segments/segment-indexes.ts'
import type { SegmentIndexes } from '../segments/segment-indexes.ts'
import type { Segment } from '../segments/segment.ts'
import { PAUSE_FACTOR, PAUSE_FACTOR_UNDER_PRESSURE, createBackgroundPace } from './background-pace.ts'
import { chooseRewrite, freeableBytes, waitsForSnapshot } from './choose-rewrite.ts'
import type { Choice } from './choose-rewrite.ts'
import { rewriteSegments } from './rewrite-segments.ts'
import { snapshotsOf } from './state-store.ts'

export interface LogRewriterOptions {
  readonly disk: Disk
  readonly logDirectory: string
  readonly stateDirectory: string
  readonly files: SegmentFiles
  readonly indexes: SegmentIndexes
  readonly accounts: Accounts
  readonly clock: Clock
  readonly logger: Logger
  /** The segments of the log, ascending. */
  readonly segments: Segment[]
  /** The bytes of all segments from which the log counts as nearly full. */
  readonly filledBytes: number
  readonly segmentBytes: number
  readonly segmentMs: number
  /** Called when a segment is no longer part of the log. */
  readonly forget: (segment: Segment) => Promise<void>
}

/** `done`: nothing is worth a rewriting. `blocked`: a snapshot must be made first. */
export type RewriterOutcome = 'done' | 'interrupted' | 'blocked'

export interface Limit {
  /** True: the rewriting under way is given up. */
  readonly isInterrupted: () => boolean
  /** True: no further rewriting is begun. */
  readonly isEnough: () => boolean
}

export class LogRewriter {
  readonly #options: LogRewriterOptions
  readonly #spoiled = new Set<Segment>()

  constructor(options: LogRewriterOptions) {
    this.#options = options
  }

  /** True while the files have so many bytes that room must be made soon. */
  get isUnderPressure(): boolean {
    const { segments, filledBytes } = this.#options
    return segments.reduce((sum, { length }) => sum + length, 0) > filledBytes
  }

  /** Rewrites everything that is worth it. Rejects with the disk's errors. */
  async run({ isInterrupted, isEnough }: Limit): Promise<RewriterOutcome> {
    const { segments } = this.#options
    for (const segment of this.#spoiled) if (segment.isGone) this.#spoiled.delete(segment)
    do {
      const choice = await this.#choice()
      const sources = chooseRewrite(segments, choice)
      if (sources === undefined) return waitsForSnapshot(segments, choice) ? 'blocked' : 'done'
      await this.#rewrite(sources, choice, isInterrupted)
    } while (!isInterrupted() && !isEnough())
    return 'interrupted'
  }

  async #choice(): Promise<Choice> {
    const { disk, stateDirectory, segmentBytes, segmentMs } = this.#options
    // A start may need the older of the two snapshots, and then all changes of state behind it.
    const [, older] = snapshotsOf(await disk.list(stateDirectory))
    const below = older?.at.segment ?? 0
    return { below, isUnderPressure: this.isUnderPressure, segmentBytes, segmentMs, spoiled: this.#spoiled }
  }

  async #rewrite(sources: readonly Segment[], choice: Choice, isInterrupted: () => boolean): Promise<void> {
    const { disk, logDirectory: directory, files, indexes, accounts, clock, logger } = this.#options
    const startedAt = clock.steady()
    const freeable = sources.reduce((sum, segment) => sum + freeableBytes(segment), 0)
    const pauseFactor = choice.isUnderPressure ? PAUSE_FACTOR_UNDER_PRESSURE : PAUSE_FACTOR
    const replaced: { target?: Segment } = {}
    try {
      const outcome = await rewriteSegments(sources, {
        disk,
        directory,
        files,
        indexes,
        accounts,
        pace: createBackgroundPace(clock, pauseFactor, isInterrupted),
        isInterrupted,
        replace: (target) => {
          replaced.target = target
          this.#replace(sources, target)
        },
      })
      if (outcome === 'damaged') for (const segment of sources) this.#spoiled.add(segment)
    } catch (error) {
      // The segments can be read as far as they are whole. They are not tried again at once.
      if (codeOf(error) === 'EIO') for (const segment of sources) this.#spoiled.add(segment)
      throw error
    } finally {
      const { target } = replaced
      if (target !== undefined) {
        for (const segment of sources) await this.#options.forget(segment)
        await indexes.save(target)
        const durationMs = clock.steady() - startedAt
        logger.info({ segments: sources.length, number: target.number, bytes: freeable, durationMs }, 'log.rewritten')
      }
    }
  }

  /** Readers see the old segments or the new one, never a part of both. */
  #replace(sources: readonly Segment[], target: Segment): void {
    const { segments } = this.#options
    segments.splice(segments.indexOf(sources[0] as Segment), sources.length, target)
    for (const segment of sources) {
      segment.isGone = true
      segment.shares?.uncount()
    }
    if (target.index !== undefined) adoptShares(target, target.index.shares)
  }
}
