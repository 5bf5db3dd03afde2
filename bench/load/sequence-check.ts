/** Checks that each receiver got each message of each of its streams exactly once and in order. */

/** Faults counted over all receivers. */
export interface SequenceFaults {
  /** Messages that were skipped, or never came. */
  readonly lost: number
  /** Messages that came again, or after a later message of their stream. */
  readonly repeatedOrLate: number
  /** Messages that a receiver should not have got at all. */
  readonly misdirected: number
}

/** The receiver does not belong to the stream. */
const NOT_EXPECTED = -1

/**
 * A stream is a sequence of messages of one publisher, numbered 0, 1, 2 ... The check is told the
 * receivers of each stream, then each message that comes.
 */
export class SequenceCheck {
  readonly #receivers: number
  /** By stream and receiver: the number that must come next. */
  readonly #next: Float64Array
  #lost = 0
  #repeatedOrLate = 0
  #misdirected = 0

  constructor(receiversOfStreams: readonly (readonly number[])[], receivers: number) {
    this.#receivers = receivers
    this.#next = new Float64Array(receiversOfStreams.length * receivers).fill(NOT_EXPECTED)
    for (const [stream, list] of receiversOfStreams.entries()) {
      for (const receiver of list) this.#next[stream * receivers + receiver] = 0
    }
  }

  /** True if the message is a new one for the receiver; false if it must not count as delivered. */
  received(receiver: number, stream: number, sequence: number): boolean {
    const index = stream * this.#receivers + receiver
    const next = this.#next[index] ?? NOT_EXPECTED
    if (sequence === next) {
      this.#next[index] = next + 1
      return true
    }
    if (next === NOT_EXPECTED) {
      this.#misdirected += 1
      return false
    }
    if (sequence < next) {
      this.#repeatedOrLate += 1
      return false
    }
    this.#lost += sequence - next
    this.#next[index] = sequence + 1
    return true
  }

  /** The faults up to now, from the number of messages that were sent in each stream. */
  faults(sentOfStreams: readonly number[]): SequenceFaults {
    let missing = 0
    for (const [stream, sent] of sentOfStreams.entries()) {
      for (let receiver = 0; receiver < this.#receivers; receiver += 1) {
        const next = this.#next[stream * this.#receivers + receiver] ?? NOT_EXPECTED
        if (next !== NOT_EXPECTED) missing += sent - next
      }
    }
    return { lost: this.#lost + missing, repeatedOrLate: this.#repeatedOrLate, misdirected: this.#misdirected }
  }
}
