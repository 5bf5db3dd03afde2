/** The waits between attempts: they double, are bounded, and have jitter. */

/** The waits between two attempts, in milliseconds. */
export interface RetryOptions {
  /** The bound of the first wait. Default: 500. */
  readonly firstMs?: number
  /** The bound of every wait. Default: 30,000. */
  readonly maximumMs?: number
}

/**
 * Full jitter: each wait is a random part of its bound, so that a thousand programs do not come
 * back in the same second after an outage.
 */
export class Backoff {
  readonly #firstMs: number
  readonly #maximumMs: number
  #attempts = 0

  constructor({ firstMs = 500, maximumMs = 30_000 }: RetryOptions = {}) {
    this.#firstMs = firstMs
    this.#maximumMs = maximumMs
  }

  /** The next wait, in milliseconds; at least `atLeastMs`. */
  next(atLeastMs = 0): number {
    const bound = Math.min(this.#maximumMs, this.#firstMs * 2 ** this.#attempts)
    this.#attempts = Math.min(this.#attempts + 1, 30)
    return Math.max(atLeastMs, bound * (0.2 + 0.8 * Math.random()))
  }

  /** An attempt has succeeded. */
  reset(): void {
    this.#attempts = 0
  }
}

/** Resolves after the time, or when the signal is aborted. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
