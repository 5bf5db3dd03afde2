/** How long to wait before the next attempt. */
export interface BackoffSettings {
  /** The wait after the first failure, at most. */
  readonly minimumMs: number
  /** No wait is longer. */
  readonly maximumMs: number
  /** From 0 to 1, 1 left out. */
  readonly random: () => number
}

/**
 * For a network server that can't be reached: from a second to a minute, so that its restart is met
 * by few attempts.
 */
export const RECONNECTING = { minimumMs: 1_000, maximumMs: 60_000, random: Math.random } as const

/**
 * Waits that double from one failure to the next, each cut by up to a half at random, so that many
 * do not come back at once.
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
    // 2^20 seconds are beyond every maximum; a count without end would overflow.
    const longest = Math.min(minimumMs * 2 ** Math.min(this.#failures, 20), maximumMs)
    this.#failures += 1
    return Math.round(longest * (1 - random() / 2))
  }

  /** The next failure is the first again. */
  reset(): void {
    this.#failures = 0
  }
}
