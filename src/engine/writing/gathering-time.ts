/**
 * How long a batch gathers requests while more are to be expected. A write costs the same for ten
 * records as for a hundred, so a stream costs less CPU time in fewer batches. Publishers that wait
 * for each acknowledgement send less meanwhile. So two measures are tried: no wait, which is kept
 * only where clearly more records come, and a longer time, which is kept only where as many records
 * come.
 */
import type { Clock } from '../../clock.ts'
import { Trial } from '../../trial.ts'

/** The longer time is tried where so many records come within the usual one. */
const STREAM_RECORDS = 16
/** The longer time is kept where at least this share of the records comes with it. */
const KEPT_SHARE = 0.9
/** Batches without a wait are tried where so many records come within the usual time. */
const WAITING_RECORDS = 1
/** Records are counted for this long with each time, ms. */
const COUNTED_MS = 200
/** The decision holds for this long, ms. */
const DECIDED_MS = 5_000

/** Times from the beginning of one batch to the next, ms. */
export interface GatheringTimes {
  /** The time while little comes; 0: a batch never waits. */
  readonly usualMs: number
  /** The longer time. Absent: only the usual one, or no wait. */
  readonly longerMs?: number
  /** Batches don't wait where at least so many times the records come without a wait. */
  readonly growthWithoutWait: number
}

export class GatheringTime {
  readonly #usualMs: number
  readonly #longerMs: number
  readonly #noWait: Trial<number>
  readonly #longer: Trial<number>
  readonly #records = { noWait: 0, longer: 0 }
  #ms: number

  constructor(clock: Pick<Clock, 'steady'>, { usualMs, longerMs = usualMs, growthWithoutWait }: GatheringTimes) {
    this.#usualMs = usualMs
    this.#longerMs = longerMs
    this.#ms = usualMs
    const times = { clock, countedMs: COUNTED_MS, decidedMs: DECIDED_MS }
    this.#noWait = new Trial({
      ...times,
      firstKeptMs: COUNTED_MS,
      count: (elapsedMs) => this.#count('noWait', elapsedMs),
      isWorth: (recordsPerMs) => recordsPerMs * usualMs >= WAITING_RECORDS,
      isBetter: (recordsPerMs, [before, after]) => 2 * recordsPerMs >= growthWithoutWait * (before + after),
    })
    this.#longer = new Trial({
      ...times,
      count: (elapsedMs) => this.#count('longer', elapsedMs),
      isWorth: (recordsPerMs) => longerMs > usualMs && recordsPerMs * usualMs >= STREAM_RECORDS,
      isBetter: (recordsPerMs, [before, after]) => 2 * recordsPerMs >= KEPT_SHARE * (before + after),
    })
  }

  /** The time from the beginning of one batch to the next, ms. */
  get ms(): number {
    return this.#ms
  }

  /** A batch has taken so many records. */
  took(records: number): void {
    this.#records.noWait += records
    this.#records.longer += records
    this.#ms = this.#next()
  }

  #next(): number {
    // One trial at a time: either would spoil the other's figures.
    if (!this.#longer.isUnderWay && this.#noWait.step()) return 0
    if (this.#noWait.isUnderWay) return this.#usualMs
    return this.#longer.step() ? this.#longerMs : this.#usualMs
  }

  /** The records in a ms. */
  #count(trial: 'noWait' | 'longer', elapsedMs: number): number {
    const recordsPerMs = this.#records[trial] / elapsedMs
    this.#records[trial] = 0
    return recordsPerMs
  }
}
