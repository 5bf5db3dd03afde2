/** Latencies in buckets that are 1 % wide: any number of samples in a fixed 20 KB. */

const SMALLEST_MS = 0.001
const GROWTH = Math.log(1.01)
/** The buckets reach from 1 µs to some ten minutes; a longer latency counts in the last bucket. */
const BUCKETS = 2_048

/** Percentiles in ms. */
export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly maximum: number
}

export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS)
  #samples = 0
  #maximum = 0

  record(ms: number): void {
    const bucket = ms <= SMALLEST_MS ? 0 : Math.ceil(Math.log(ms / SMALLEST_MS) / GROWTH)
    const index = Math.min(bucket, BUCKETS - 1)
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#samples += 1
    if (ms > this.#maximum) this.#maximum = ms
  }

  /** At most 1 % above the true value, and never above the greatest; NaN without samples. */
  percentile(share: number): number {
    if (this.#samples === 0) return NaN
    const rank = Math.max(1, Math.ceil(share * this.#samples))
    let seen = 0
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count
      if (seen >= rank) return Math.min(SMALLEST_MS * Math.exp(bucket * GROWTH), this.#maximum)
    }
    return this.#maximum
  }

  percentiles(): Percentiles {
    return { p50: this.percentile(0.5), p99: this.percentile(0.99), maximum: this.#maximum }
  }
}
