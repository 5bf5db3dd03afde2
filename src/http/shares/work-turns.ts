/**
 * The turns of requests whose work holds up the event loop: long lists, imports, stored events. The
 * work comes in slices of some milliseconds. Payers take turns, weighted by the time that their
 * slices took, and each payer rests after its slice. So the loop is free for other work in between,
 * and a payer with heavy requests waits for itself.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import { later } from '../../clock.ts'

/** Slices of different payers at the same time. A slice that reads from the disk leaves room. */
const MAXIMUM_AT_ONCE = 4
/** The rest after a slice, as a multiple of the time that the slice took. */
const REST_FACTOR = 2
/** Longer slices waited for the disk: this is no work of the event loop. */
const LONGEST_CHARGE_MS = 20

interface Lane {
  readonly waiting: (() => void)[]
  isRunning: boolean
  /** The end of the rest after the last slice. */
  dueAt: SteadyMs
}

/** Runs slices of heavy work in turns. */
export type Turns = Pick<WorkTurns, 'run'>

/** Runs the slices of all payers. */
export class WorkTurns {
  readonly #clock: Pick<Clock, 'steady' | 'after'>
  /**
   * The payers with slices that wait, run or rest. The requests under way of each payer bound its
   * waiting slices.
   */
  readonly #lanes = new Map<string, Lane>()
  #running = 0
  #cancelTimer: (() => void) | undefined

  constructor(clock: Pick<Clock, 'steady' | 'after'>) {
    this.#clock = clock
  }

  /**
   * Runs one slice of work when it is the payer's turn, and returns its result. A payer has one
   * slice at a time. The slice must not wait for a client, nor for another turn.
   */
  async run<T>(payer: string, slice: () => Promise<T>): Promise<T> {
    const lane = this.#laneOf(payer)
    await new Promise<void>((resolve) => {
      lane.waiting.push(resolve)
      this.#schedule()
    })
    const startedAt = this.#clock.steady()
    try {
      return await slice()
    } finally {
      const now = this.#clock.steady()
      lane.dueAt = later(now, Math.min(now - startedAt, LONGEST_CHARGE_MS) * REST_FACTOR)
      lane.isRunning = false
      // Behind all others that are due at the same moment.
      this.#lanes.delete(payer)
      this.#lanes.set(payer, lane)
      this.#running -= 1
      this.#schedule()
    }
  }

  #laneOf(payer: string): Lane {
    const known = this.#lanes.get(payer)
    if (known !== undefined) return known
    const lane: Lane = { waiting: [], isRunning: false, dueAt: this.#clock.steady() }
    this.#lanes.set(payer, lane)
    return lane
  }

  /** Starts the slices that are due, the longest due first, and comes again for the others. */
  #schedule(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const now = this.#clock.steady()
    while (this.#running < MAXIMUM_AT_ONCE) {
      const next = this.#next(now)
      if (next === undefined) return
      if (next.dueAt > now) {
        this.#cancelTimer = this.#clock.after(next.dueAt - now, () => this.#schedule())
        return
      }
      next.isRunning = true
      this.#running += 1
      next.waiting.shift()?.()
    }
  }

  /** The waiting lane that is due first. Forgets lanes that have rested and wait for nothing. */
  #next(now: SteadyMs): Lane | undefined {
    let first: Lane | undefined
    for (const [payer, lane] of this.#lanes) {
      if (lane.isRunning) continue
      if (lane.waiting.length === 0) {
        if (lane.dueAt <= now) this.#lanes.delete(payer)
      } else if (first === undefined || lane.dueAt < first.dueAt) {
        first = lane
      }
    }
    return first
  }
}
