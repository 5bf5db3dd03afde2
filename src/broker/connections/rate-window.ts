/**
 * The publishes and bytes that one connection sent within the present second of the broker, against
 * its bounds.
 */
export class RateWindow {
  maximumPublishes = Infinity
  readonly #maximumBytes: number
  #second = -1
  #publishes = 0
  #bytes = 0

  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes
  }

  /**
   * Counts publishes and bytes. False when a bound is reached and reading has to wait for the next
   * second.
   */
  count(second: number, publishes: number, bytes: number): boolean {
    if (this.#second !== second) {
      this.#second = second
      this.#publishes = 0
      this.#bytes = 0
    }
    this.#publishes += publishes
    this.#bytes += bytes
    return this.#publishes < this.maximumPublishes && this.#bytes < this.#maximumBytes
  }
}
