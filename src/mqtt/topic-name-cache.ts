/**
 * Remembers Topic Names by their bytes: a publisher sends the same few names again and again. A hit
 * needs no new string and no validation. It returns the same string each time, whose hash later
 * look-ups have at hand.
 */

/**
 * The longest name that is remembered, in bytes. It bounds the cache to some 20 MB, whoever fills
 * it.
 */
const MAXIMUM_NAME_BYTES = 128
/** The number of places, a power of two. Each name has two possible places. */
const PLACES = 131_072

/**
 * A bounded cache. A new name takes the place of an older one: a flood of new names makes the cache
 * useless, and nothing worse.
 */
export class TopicNameCache {
  readonly #names: (string | undefined)[] = []

  constructor() {
    // Filled from the start: V8 keeps a sparse array as a slow dictionary.
    for (let place = 0; place < PLACES; place += 1) this.#names.push(undefined)
  }

  /** The name in these bytes, if it is remembered. */
  find(bytes: Buffer, start: number, end: number): string | undefined {
    if (end - start > MAXIMUM_NAME_BYTES) return undefined
    const place = placeOf(bytes, start, end)
    const name = this.#names[place]
    if (name !== undefined && isSame(name, bytes, start, end)) return name
    const other = this.#names[place ^ 1]
    return other !== undefined && isSame(other, bytes, start, end) ? other : undefined
  }

  /**
   * Remembers a valid name that was read from these bytes. Only ASCII names are kept: their code
   * units equal their bytes.
   */
  remember(name: string, bytes: Buffer, start: number, end: number): void {
    if (name.length !== end - start || end - start > MAXIMUM_NAME_BYTES || name.length === 0) return
    const place = placeOf(bytes, start, end)
    // The former name of the first place moves to the second, so that two names with one place both
    // stay.
    this.#names[place ^ 1] = this.#names[place]
    this.#names[place] = name
  }
}

/** FNV-1a over the bytes, four at a time. */
function placeOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5 ^ (end - start)
  let position = start
  for (; position + 3 < end; position += 4) {
    const word =
      (bytes[position] as number) |
      ((bytes[position + 1] as number) << 8) |
      ((bytes[position + 2] as number) << 16) |
      ((bytes[position + 3] as number) << 24)
    hash = Math.imul(hash ^ word, 0x01000193)
    hash ^= hash >>> 15
  }
  for (; position < end; position += 1) hash = Math.imul(hash ^ (bytes[position] as number), 0x01000193)
  hash ^= hash >>> 13
  return hash & (PLACES - 1)
}

function isSame(name: string, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  // The names of one application differ at their end.
  for (let index = name.length - 1; index >= 0; index -= 1) {
    if (name.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
