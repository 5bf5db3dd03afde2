/** The spread of a series of numbers: minimum, median, maximum and count, in bounded memory. */

/** The spread of at least one number. */
export interface Spread {
  readonly min: number
  /** The number in the middle; the mean of the two in the middle where the count is even. */
  readonly median: number
  readonly max: number
  readonly count: number
}

/**
 * Up to this count the median is exact. Beyond it, the series keeps a sample of at most so many
 * numbers for each power of two, and the rank of the median is wrong by at most 1 % of the count,
 * for counts up to 500,000.
 */
export const EXACT_COUNT = 1_024

/**
 * Takes numbers one by one. Level `n` keeps numbers that stand for `2 ** n` numbers each. A full
 * level is sorted, and every second number of it goes to the next level (Munro and Paterson,
 * "Selection and sorting with limited storage", 1980).
 */
export class SpreadSeries {
  readonly #levels: number[][] = [[]]
  #min = Infinity
  #max = -Infinity
  #count = 0
  /** Each level drops the first and the second of a pair in turn, so that errors cancel out. */
  readonly #dropsFirst: boolean[] = [false]

  /** Takes a finite number. */
  add(value: number): void {
    this.#count += 1
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
    this.#push(0, value)
  }

  /** The spread of all numbers; undefined when there is none. */
  spread(): Spread | undefined {
    if (this.#count === 0) return undefined
    return { min: this.#min, median: this.#median(), max: this.#max, count: this.#count }
  }

  #push(level: number, value: number): void {
    const kept = (this.#levels[level] ??= [])
    if (kept.length === EXACT_COUNT) {
      const dropsFirst = this.#dropsFirst[level] ?? false
      this.#dropsFirst[level] = !dropsFirst
      const sorted = kept.splice(0).toSorted(ascending)
      for (let index = dropsFirst ? 1 : 0; index < sorted.length; index += 2) {
        this.#push(level + 1, sorted[index] as number)
      }
    }
    kept.push(value)
  }

  #median(): number {
    const weighed = this.#levels.flatMap((kept, level) => kept.map((value) => ({ value, weight: 2 ** level })))
    weighed.sort((one, other) => one.value - other.value)
    const middle = this.#count / 2
    let before = 0
    for (const [index, { value, weight }] of weighed.entries()) {
      before += weight
      if (before < middle) continue
      const next = weighed[index + 1]
      return before === middle && next !== undefined ? middleOf(value, next.value) : value
    }
    return this.#max
  }
}

/** Half of the sum. Only where the sum is beyond all numbers the halves are added: they round. */
function middleOf(low: number, high: number): number {
  const sum = low + high
  return Number.isFinite(sum) ? sum / 2 : low / 2 + high / 2
}

function ascending(one: number, other: number): number {
  return one - other
}
