/** A rate per second, on average over the last seconds, in plain numbers. */

/** The length of a span in seconds. A rate covers the span under way and the span before it. */
const SPAN_SECONDS = 5

/** Counts within seconds, which the caller gives and which only rise. */
export class RecentRate {
  /** The number of the span under way. */
  #span = 0
  #count = 0
  #countBefore = 0

  add(second: number, count: number): void {
    this.#turn(second)
    this.#count += count
  }

  /** The rate at this second, over the whole seconds of the last five to ten. */
  perSecond(second: number): number {
    this.#turn(second)
    return (this.#count + this.#countBefore) / (SPAN_SECONDS + (second % SPAN_SECONDS))
  }

  #turn(second: number): void {
    const span = Math.floor(second / SPAN_SECONDS)
    if (span === this.#span) return
    this.#countBefore = span === this.#span + 1 ? this.#count : 0
    this.#count = 0
    this.#span = span
  }
}
