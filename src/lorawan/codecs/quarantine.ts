/**
 * Scripts that run into the bound on time again and again are held back for a while: each such run
 * costs a worker 100 ms.
 */

/** So many runs that took too long, and the script is held back. */
const STRIKES = 3

/** A run that took too long is forgotten after this time. */
const STRIKE_MEMORY_MS = 60_000

/**
 * How long a script is held back at first; each time twice as long as before, up to the maximum.
 */
const FIRST_HOLD_MS = 10_000
const MAXIMUM_HOLD_MS = 300_000

/** After so long without a run that took too long, a script begins anew. */
const FORGET_MS = 900_000

/** Scripts that are watched, some 100 bytes each; beyond it the oldest is forgotten. */
const MAXIMUM_WATCHED = 10_000

interface Watched {
  /** Another script at the same place is not the one that was slow. */
  readonly script: string
  strikes: number
  holds: number
  lastMs: number
  heldUntilMs: number
}

/**
 * Remembers slow scripts by a key, and by the text itself: a script that was mended runs at once.
 */
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

  /** The script took too long; `weight` is more than 1 where that cost more than time. */
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
      // Once more, and it is held again.
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
