/**
 * Uplink frame counters of a session, on both ends of the air. A frame carries only the lower 16
 * bits.
 */

/**
 * The bits of a device's counter. A device that has used up its counter joins again, since a number
 * is never used twice.
 */
export type FrameCounterBits = 16 | 32

/** The device's counter: the number of its next frame. */
export class FrameCounter {
  readonly #end: number
  #next: number

  constructor(bits: FrameCounterBits, first = 0) {
    this.#end = 2 ** bits
    this.#next = first
  }

  /** The number of the next frame; undefined: all have been used. */
  take(): number | undefined {
    if (this.#next >= this.#end) return undefined
    this.#next += 1
    return this.#next - 1
  }
}

/**
 * The network server's view: derives the whole number of a frame from its 16 bits and the highest
 * number heard before.
 */
export class HeardFrameCounter {
  #last: number

  /** `last`: the highest number heard so far; -1: none. */
  constructor(last = -1) {
    this.#last = last
  }

  /** The whole number, and whether it was heard before: then the frame is a repetition. */
  hear(lower16: number): { readonly fCnt: number; readonly isRepeated: boolean } {
    const gap = (lower16 - (this.#last & 0xffff)) & 0xffff
    // Half of the range is ahead of the last number, the other half behind.
    if (this.#last >= 0 && (gap === 0 || gap >= 0x8000)) {
      return { fCnt: this.#last - ((0x1_0000 - gap) & 0xffff), isRepeated: true }
    }
    this.#last = this.#last < 0 ? lower16 : this.#last + gap
    return { fCnt: this.#last, isRepeated: false }
  }
}
