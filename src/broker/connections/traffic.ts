/**
 * What one connection has carried, in plain numbers: counting costs additions, and nobody has to
 * visit the connections to know their rates.
 */

/** Of a span in seconds; a rate is of the span under way and the one before it. */
const SPAN_SECONDS = 5

/** What was carried per second, on average over the last five to ten seconds. */
export interface TrafficRates {
  readonly messagesInPerSecond: number
  readonly messagesOutPerSecond: number
  readonly bytesInPerSecond: number
  readonly bytesOutPerSecond: number
}

/**
 * PUBLISH packets and bytes of one connection, both ways. The caller keeps the seconds: they only
 * rise.
 */
export class Traffic {
  messagesIn = 0
  messagesOut = 0
  bytesIn = 0
  bytesOut = 0
  /** When the span under way began. */
  #second: number
  /** The sums at the beginning of the span before: rates count from there. */
  #markSecond: number
  #markMessagesIn = 0
  #markMessagesOut = 0
  #markBytesIn = 0
  #markBytesOut = 0
  /** The sums at the beginning of the span under way. */
  #nextMessagesIn = 0
  #nextMessagesOut = 0
  #nextBytesIn = 0
  #nextBytesOut = 0

  constructor(second: number) {
    this.#second = second
    this.#markSecond = second
  }

  /** To be called before something is added: a span that is over ends here. */
  turn(second: number): void {
    if (second - this.#second >= SPAN_SECONDS) this.#begin(second)
  }

  /** As it is at this second. */
  rates(second: number): TrafficRates {
    this.turn(second)
    const seconds = Math.max(second - this.#markSecond, 1)
    return {
      messagesInPerSecond: (this.messagesIn - this.#markMessagesIn) / seconds,
      messagesOutPerSecond: (this.messagesOut - this.#markMessagesOut) / seconds,
      bytesInPerSecond: (this.bytesIn - this.#markBytesIn) / seconds,
      bytesOutPerSecond: (this.bytesOut - this.#markBytesOut) / seconds,
    }
  }

  #begin(second: number): void {
    // In a span that nobody ended nothing was carried behind its first five seconds.
    const wasIdle = second - this.#second >= 2 * SPAN_SECONDS
    this.#markSecond = wasIdle ? second : this.#second
    this.#markMessagesIn = wasIdle ? this.messagesIn : this.#nextMessagesIn
    this.#markMessagesOut = wasIdle ? this.messagesOut : this.#nextMessagesOut
    this.#markBytesIn = wasIdle ? this.bytesIn : this.#nextBytesIn
    this.#markBytesOut = wasIdle ? this.bytesOut : this.#nextBytesOut
    this.#second = second
    this.#nextMessagesIn = this.messagesIn
    this.#nextMessagesOut = this.messagesOut
    this.#nextBytesIn = this.bytesIn
    this.#nextBytesOut = this.bytesOut
  }
}
