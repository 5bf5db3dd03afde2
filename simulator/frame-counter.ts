/**
 * Uplink frame counters of a session, on both ends of the air, which carries their lower 16 bits
 * alone.
 */

/**
 * How wide a device counts; one that has used its counter up joins again, since a number is never
 * used twice.
 */
export type FrameCounterBits = 16 | 32

/** The device's counter: which number its next frame has. */
export class FrameCounter {
  readonly #end: number
  #next: number

  constructor(bits: FrameCounterBits, first = 0) {
    this.#end = 2 ** bits
    this.#next = first
  }

  /** The number of the next frame; undefined where all have been used. */
  take(): number | undefined {
    if (this.#next >= this.#end) return undefined
    this.#next += 1
    return this.#next - 1
  }
}

/**
 * The network server's view: the whole number of a frame, out of 16 bits and what was heard before.
 */
export class HeardFrameCounter {
  #last: number

  /** `last`: the highest number heard so far, -1 for none. */
  constructor(last = -1) {
    this.#last = last
  }

  /** The whole number, and whether it is one that was heard before: a repeated frame. */
  hear(lower16: number): { readonly fCnt: number; readonly isRepeated: boolean } {
    const gap = (lower16 - (this.#last & 0xffff)) & 0xffff
    // Half of the range is ahead, the other half has been.
    if (this.#last >= 0 && (gap === 0 || gap >= 0x8000)) {
      return { fCnt: this.#last - ((0x1_0000 - gap) & 0xffff), isRepeated: true }
    }
    this.#last = this.#last < 0 ? lower16 : this.#last + gap
    return { fCnt: this.#last, isRepeated: false }
  }
}
