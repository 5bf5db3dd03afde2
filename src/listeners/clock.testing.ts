import { later } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'

/** A clock whose time and turns the test gives. */
export class TestClock implements Clock {
  #now = 1_000_000 as SteadyMs
  readonly #timers = new Map<() => void, SteadyMs>()
  #planned: (() => void)[] = []

  now = (): number => this.#now
  steady = (): SteadyMs => this.#now

  cpu(): number {
    return 0
  }

  afterTurn(run: () => void): void {
    this.#planned.push(run)
  }

  after(ms: number, run: () => void): () => void {
    this.#timers.set(run, later(this.#now, ms))
    return () => void this.#timers.delete(run)
  }

  rest = (): void => {}

  get timers(): number {
    return this.#timers.size
  }

  pass(ms: number): void {
    this.#now = later(this.#now, ms)
    for (const [run, dueAt] of this.#timers) {
      if (dueAt > this.#now) continue
      this.#timers.delete(run)
      run()
    }
  }

  /** Runs the functions of one turn, and what they ask for in ticks. */
  async turn(): Promise<void> {
    const planned = this.#planned
    this.#planned = []
    for (const run of planned) run()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
