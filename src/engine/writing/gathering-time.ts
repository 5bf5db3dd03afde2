/**
 * How long a batch gathers requests while more are to be expected. A write and a sync cost the same
 * for ten records as for a hundred, so a stream costs less CPU time in fewer batches. Publishers
 * that wait for each acknowledgement send less meanwhile. So the longer time is tried, and kept
 * only where as many records come with it.
 */
import type { Clock } from '../../clock.ts'
import { Trial } from '../../trial.ts'

/** The longer time, in parts of the shorter one. */
const LONGER = 2.5
/** The longer time is tried where so many records come within the shorter one. */
const STREAM_RECORDS = 16
/** The longer time is kept where at least this share of the records comes with it. */
const KEPT_SHARE = 0.9
/** Records are counted for this long by either time, ms. */
const COUNTED_MS = 200
/** The decision holds for this long, ms. */
const DECIDED_MS = 5_000

export class GatheringTime {
  readonly #shorterMs: number
  readonly #trial: Trial<number>
  #records = 0
  #ms: number

  /** `shorterMs`: the time of a batch while little comes; 0: a batch never waits. */
  constructor(clock: Pick<Clock, 'steady'>, shorterMs: number) {
    this.#shorterMs = shorterMs
    this.#ms = shorterMs
    this.#trial = new Trial({
      clock,
      countedMs: COUNTED_MS,
      decidedMs: DECIDED_MS,
      count: (elapsedMs) => this.#count(elapsedMs),
      isWorth: (recordsPerMs) => recordsPerMs * shorterMs >= STREAM_RECORDS,
      isBetter: (recordsPerMs, [before, after]) => 2 * recordsPerMs >= KEPT_SHARE * (before + after),
    })
  }

  /** The time from the beginning of one batch to the next, ms. */
  get ms(): number {
    return this.#ms
  }

  /** A batch has taken so many records. */
  took(records: number): void {
    this.#records += records
    this.#ms = this.#trial.step() ? LONGER * this.#shorterMs : this.#shorterMs
  }

  /** The records in a ms. */
  #count(elapsedMs: number): number {
    const recordsPerMs = this.#records / elapsedMs
    this.#records = 0
    return recordsPerMs
  }
}
