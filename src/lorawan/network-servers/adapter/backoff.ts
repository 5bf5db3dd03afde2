/** Waits between the attempts to reach a network server. */

/** Bounds of the waits between attempts. */
export interface BackoffSettings {
  /** The longest wait after the first failure. */
  readonly minimumMs: number
  /** The longest wait of all. */
  readonly maximumMs: number
  /** A number from 0 to 1, without 1. */
  readonly random: () => number
}

/**
 * For a network server that can't be reached: from a second to a minute. A restarted network server
 * soon gets an attempt, and not many at once.
 */
export const RECONNECTING = { minimumMs: 1_000, maximumMs: 60_000, random: Math.random } as const

/**
 * Waits that double with each failure. Each is cut by up to a half at random, so that many clients
 * do not come back at the same moment.
 */
export class Backoff {
  readonly #settings: BackoffSettings
  #failures = 0

  constructor(settings: BackoffSettings) {
    this.#settings = settings
  }

  /** The wait after one more failure, in milliseconds. */
  next(): number {
    const { minimumMs, maximumMs, random } = this.#settings
    // 2^20 seconds are beyond every maximum, and without a bound the number would overflow.
    const longest = Math.min(minimumMs * 2 ** Math.min(this.#failures, 20), maximumMs)
    this.#failures += 1
    return Math.round(longest * (1 - random() / 2))
  }

  /** Success: the next wait is that of a first failure. */
  reset(): void {
    this.#failures = 0
  }
}
