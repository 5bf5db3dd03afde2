/**
 * A clock for tests: time stands still until a test advances it. Work for after the turn runs by
 * itself.
 */
import type { SteadyMs } from './clock.ts'
import type { Clock } from './clock.ts'

export class TestClock implements Clock {
  #now: number
  #timers: { readonly atMs: number; readonly run: () => void }[] = []

  constructor(startMs = 1_750_000_000_000) {
    this.#now = startMs
  }

  now(): number {
    return this.#now
  }

  steady(): SteadyMs {
    return this.#now as SteadyMs
  }

  afterTurn(run: () => void): void {
    queueMicrotask(run)
  }

  after(ms: number, run: () => void): () => void {
    const timer = { atMs: this.#now + ms, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  cpu(): number {
    return 0
  }

  /** No test waits. */
  rest(): void {}

  /** How many timers wait for their time. */
  get pending(): number {
    return this.#timers.length
  }

  /** Advances the time and runs, in order, the timers that are due. */
  advance(ms: number): void {
    this.#now += ms
    for (;;) {
      const due = this.#timers
        .filter(({ atMs }) => atMs <= this.#now)
        .toSorted((one, other) => one.atMs - other.atMs)
        .at(0)
      if (due === undefined) return
      this.#timers = this.#timers.filter((other) => other !== due)
      due.run()
    }
  }
}
