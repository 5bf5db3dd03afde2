/**
 * Checks that numbered messages came without a gap, in memory that does not grow with their number.
 */

/**
 * Checks one reader: messages of a Topic Name come in order, without a gap. The first message of a
 * Topic Name sets the beginning.
 */
export class InOrder {
  readonly gaps: string[] = []
  received = 0
  repeated = 0
  readonly #next = new Map<string, number>()

  take(topicName: string, sequence: number): void {
    this.received += 1
    const next = this.#next.get(topicName) ?? sequence
    if (sequence < next) {
      this.repeated += 1
      return
    }
    if (sequence > next) this.gaps.push(`${topicName}: ${sequence} came in the place of ${next}`)
    this.#next.set(topicName, sequence + 1)
  }

  /** True if all messages up to this number have come. */
  hasAllUpTo(topicName: string, sequence: number): boolean {
    return (this.#next.get(topicName) ?? 0) > sequence
  }
}

/** Checks readers who share a subscription: each message came to one of them, in any order. */
export class Together {
  received = 0
  repeated = 0
  readonly #lowest = new Map<string, number>()
  readonly #beyond = new Map<string, Set<number>>()

  take(topicName: string, sequence: number): void {
    this.received += 1
    const beyond = this.#beyond.get(topicName) ?? new Set()
    this.#beyond.set(topicName, beyond)
    let lowest = this.#lowest.get(topicName) ?? 0
    if (sequence < lowest || beyond.has(sequence)) {
      this.repeated += 1
      return
    }
    beyond.add(sequence)
    while (beyond.delete(lowest)) lowest += 1
    this.#lowest.set(topicName, lowest)
  }

  hasAllUpTo(topicName: string, sequence: number): boolean {
    return (this.#lowest.get(topicName) ?? 0) > sequence
  }
}
