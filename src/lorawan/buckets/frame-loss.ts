/**
 * Counts the uplinks of a device that never arrived, by the gaps of its frame counter. The uplinks
 * are given from the newest to the oldest.
 */

/** The place where lost uplinks are counted. */
export interface LossCount {
  lost: number
}

/**
 * A larger gap is no loss: the counter of the device was set anew. A network server of LoRaWAN 1.0
 * takes no larger gap (LoRaWAN 1.0.3 §4.3.1.5, MAX_FCNT_GAP).
 */
const LARGEST_GAP = 16_384

/** Uplinks that come out of order by more frames than this belong to an earlier counter. */
const WINDOW = 64

/** So many unexpected counters in a row are an earlier counter, not repetitions. */
const LONGEST_REPETITION = 8

/** Follows the frame counter of one device back in time. */
export class FrameLoss<Count extends LossCount> {
  #lowest: { readonly fCnt: number; readonly count: Count } | undefined
  /** The latest missing counters, with the place where each was counted; at most `WINDOW`. */
  readonly #missing = new Map<number, Count>()
  #devAddr = ''
  #repetitions = 0

  /** A join, which begins a new counter: what is older has another one. */
  join(): void {
    this.#lowest = undefined
    this.#missing.clear()
    this.#repetitions = 0
  }

  /**
   * Takes the next older uplink. The frames that are missing between it and the newer one count at
   * the newer one's place. `devAddr` is `''` where the event has none.
   */
  uplink(fCnt: number, devAddr: string, count: Count): void {
    // A device has another address after each join, even if the event of the join is not there.
    if (devAddr !== '' && this.#devAddr !== '' && devAddr !== this.#devAddr) this.join()
    if (devAddr !== '') this.#devAddr = devAddr
    const newer = this.#lowest
    if (newer !== undefined && fCnt >= newer.fCnt && !this.#isEarlierCounter(fCnt, newer.fCnt)) return
    if (newer !== undefined && fCnt < newer.fCnt) this.#countGap(fCnt, newer)
    this.#lowest = { fCnt, count }
    this.#repetitions = 0
  }

  /** Counts a late or repeated uplink. True when it belongs to a counter before a reset. */
  #isEarlierCounter(fCnt: number, lowest: number): boolean {
    const countedAt = this.#missing.get(fCnt)
    if (countedAt !== undefined) {
      // It came late: it was counted as lost.
      countedAt.lost -= 1
      this.#missing.delete(fCnt)
      return false
    }
    if (fCnt > lowest) this.#repetitions += 1
    if (fCnt - lowest <= WINDOW && this.#repetitions < LONGEST_REPETITION) return false
    this.join()
    return true
  }

  #countGap(fCnt: number, newer: { readonly fCnt: number; readonly count: Count }): void {
    const gap = newer.fCnt - fCnt
    if (gap > LARGEST_GAP) return
    newer.count.lost += gap - 1
    for (let missing = Math.min(newer.fCnt - 1, fCnt + WINDOW); missing > fCnt; missing -= 1) {
      this.#missing.set(missing, newer.count)
      if (this.#missing.size <= WINDOW) continue
      for (const [oldest] of this.#missing) {
        this.#missing.delete(oldest)
        break
      }
    }
  }
}
