/**
 * The traffic of one connection, in plain numbers: counting costs additions, and nobody has to
 * visit the connections to know their rates.
 */

/** The length of a span in seconds. A rate covers the span under way and the span before it. */
const SPAN_SECONDS = 5

/** Rates per second, on average over the last five to ten seconds. */
export interface TrafficRates {
  readonly messagesInPerSecond: number
  readonly messagesOutPerSecond: number
  readonly bytesInPerSecond: number
  readonly bytesOutPerSecond: number
}

/**
 * Counts PUBLISH packets and bytes of one connection, both ways. The caller gives the seconds,
 * which only rise.
 */
export class Traffic {
  messagesIn = 0
  messagesOut = 0
  bytesIn = 0
  bytesOut = 0
  /** When the span under way began. */
  #second: number
  /** The sums at the beginning of the previous span: rates count from there. */
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

  /** Call before something is added: a span that is over ends here. */
  turn(second: number): void {
    if (second - this.#second >= SPAN_SECONDS) this.#begin(second)
  }

  /** The rates at this second. */
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
    // When no call ended the span in time, nothing was carried behind its first five seconds.
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
