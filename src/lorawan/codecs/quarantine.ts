/**
 * Holds scripts back for a while that run into the time limit again and again: each such run costs
 * a process 100 ms.
 */

/** Slow runs after which a script is held back. */
const STRIKES = 3

/** A slow run is forgotten after this time. */
const STRIKE_MEMORY_MS = 60_000

/** How long a script is held back at first. The time doubles with each hold, up to the maximum. */
const FIRST_HOLD_MS = 10_000
const MAXIMUM_HOLD_MS = 300_000

/** After this time without a slow run, a script has a clean record. */
const FORGET_MS = 900_000

/** Scripts that are watched, some 100 bytes each. At the bound the oldest record is forgotten. */
const MAXIMUM_WATCHED = 10_000

interface Watched {
  /** The text of the slow script. Another script under the same key is not slow. */
  readonly script: string
  strikes: number
  holds: number
  lastMs: number
  heldUntilMs: number
}

/** Remembers slow scripts by a key and by their text: a script that was mended runs at once. */
export class Quarantine {
  readonly #now: () => number
  readonly #watched = new Map<string, Watched>()

  /** `now` in milliseconds, from any beginning. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Milliseconds that the script is still held back; 0 when it may run. */
  heldMs(key: string, script: string): number {
    const watched = this.#watched.get(key)
    if (watched === undefined || watched.script !== script) return 0
    return Math.max(0, watched.heldUntilMs - this.#now())
  }

  /**
   * Notes a slow run of the script. `weight` is more than 1 for a run that cost more than its time.
   */
  strike(key: string, script: string, weight: number): void {
    const nowMs = this.#now()
    const known = this.#watched.get(key)
    const isSame = known !== undefined && known.script === script && nowMs - known.lastMs < FORGET_MS
    const watched = isSame ? known : { script, strikes: 0, holds: 0, lastMs: nowMs, heldUntilMs: 0 }
    if (nowMs - watched.lastMs > STRIKE_MEMORY_MS && nowMs - watched.heldUntilMs > STRIKE_MEMORY_MS) watched.strikes = 0
    watched.strikes += weight
    watched.lastMs = nowMs
    if (watched.strikes >= STRIKES) {
      watched.heldUntilMs = nowMs + Math.min(FIRST_HOLD_MS * 2 ** watched.holds, MAXIMUM_HOLD_MS)
      watched.holds += 1
      // One more slow run, and the script is held back again.
      watched.strikes = STRIKES - 1
    }
    this.#watched.delete(key)
    this.#watched.set(key, watched)
    if (this.#watched.size <= MAXIMUM_WATCHED) return
    for (const oldest of this.#watched.keys()) {
      this.#watched.delete(oldest)
      return
    }
  }
}
