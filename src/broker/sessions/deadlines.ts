/**
 * Many deadlines, one timer: a wheel of whole seconds, so that 100,000 connections cost no timers
 * of their own.
 */
import type { SteadyMs } from '../../clock.ts'

/** The mark of a deadline that is in the second being run, and that has not run yet. */
const DUE = -2

/** An object with something that is due at a time. It has at most one place in the wheel. */
export interface Deadline {
  /**
   * The second under which the object stands in the wheel; -1, as at first, when no time is set.
   * The wheel alone changes it.
   */
  dueSecond: number
  /** Called once, when the time has come. */
  due(now: SteadyMs): void
}

/** Deadlines come due within a second after their time, never before it. */
export class Deadlines {
  readonly #seconds = new Map<number, Set<Deadline>>()
  #last: number

  constructor(now: SteadyMs) {
    this.#last = Math.floor(now / 1000)
  }

  /** Sets or moves a deadline. A time that has passed is due at the next `advance`. */
  set(deadline: Deadline, at: SteadyMs): void {
    this.clear(deadline)
    const second = Math.max(Math.ceil(at / 1000), this.#last + 1)
    deadline.dueSecond = second
    const place = this.#seconds.get(second)
    if (place === undefined) this.#seconds.set(second, new Set([deadline]))
    else place.add(deadline)
  }

  clear(deadline: Deadline): void {
    if (deadline.dueSecond < 0) {
      deadline.dueSecond = -1
      return
    }
    const place = this.#seconds.get(deadline.dueSecond)
    place?.delete(deadline)
    if (place?.size === 0) this.#seconds.delete(deadline.dueSecond)
    deadline.dueSecond = -1
  }

  /**
   * Runs all deadlines that are due by now, in order of the seconds. Call it about once a second.
   */
  advance(now: SteadyMs): void {
    const last = Math.floor(now / 1000)
    if (last <= this.#last) return
    const elapsed = last - this.#last
    this.#last = last
    if (elapsed <= this.#seconds.size) {
      for (let second = last - elapsed + 1; second <= last; second += 1) this.#run(second, now)
    } else {
      const due = [...this.#seconds.keys()].filter((second) => second <= last).toSorted((a, b) => a - b)
      for (const second of due) this.#run(second, now)
    }
  }

  #run(second: number, now: SteadyMs): void {
    const place = this.#seconds.get(second)
    if (place === undefined) return
    this.#seconds.delete(second)
    for (const deadline of place) deadline.dueSecond = DUE
    for (const deadline of place) {
      // A deadline that ran before it in this second may have moved or cleared it.
      if (deadline.dueSecond !== DUE) continue
      deadline.dueSecond = -1
      deadline.due(now)
    }
  }
}
