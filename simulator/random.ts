/** Seeded randomness: the same seed gives the same numbers on every machine. Not for secrets. */

/** A stream of random numbers. */
export interface Random {
  /** A number from 0 (included) to 1 (excluded), evenly distributed. */
  next(): number
  /** A number from `low` (included) to `high` (excluded), evenly distributed. */
  between(low: number, high: number): number
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number
  /** A normally distributed number around `mean`, with the given standard deviation. */
  normal(mean: number, deviation: number): number
  /** True with the given probability, 0 to 1. */
  chance(probability: number): boolean
  /** A random item of `items`, which must not be empty. */
  pick<T>(items: readonly [T, ...T[]]): T
  /** Lower-case hexadecimal digits, two for each byte. */
  hex(bytes: number): string
  /** A version 4 UUID (RFC 9562 §5.4). */
  uuid(): string
  /**
   * A separate stream. It depends on this stream's seed and the label, not on how much of this
   * stream has been used.
   */
  fork(label: string): Random
}

const HEX_BYTES = Array.from({ length: 256 }, (_byte, value) => value.toString(16).padStart(2, '0'))

/** A stream by mulberry32; the seed is taken modulo 2³². */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + next() * (high - low)
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  const hex = (bytes: number): string => {
    let digits = ''
    for (let count = 0; count < bytes; count += 1) digits += HEX_BYTES[integer(0, 255)] ?? ''
    return digits
  }
  return {
    next,
    between,
    integer,
    normal: (mean, deviation) =>
      // Box and Muller; 1 - next() is never 0, whose logarithm is infinite.
      mean + deviation * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    chance: (probability) => next() < probability,
    pick: (items) => items[integer(0, items.length - 1)] ?? items[0],
    hex,
    uuid: () => {
      const variant = integer(8, 11).toString(16)
      return `${hex(4)}-${hex(2)}-4${hex(2).slice(1)}-${variant}${hex(2).slice(1)}-${hex(6)}`
    },
    fork: (label) => createRandom(hash(`${seed >>> 0}/${label}`)),
  }
}

/** FNV-1a, 32 bits, over UTF-16 code units. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}
