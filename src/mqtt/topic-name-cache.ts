/**
 * Topic Names that were read before, found by their bytes: a publisher sends the same few again and
 * again. A hit costs neither a new string nor its validation, and the string that it gives is the
 * same one each time, whose hash the look-ups behind it have at hand.
 */

/**
 * Longer names are read anew each time. Bounds what the cache can hold to some 20 MB, whoever fills
 * it.
 */
const MAXIMUM_NAME_BYTES = 128
/** A power of two; each name may stand in two places. */
const PLACES = 131_072

/**
 * A bounded cache; a new name takes the place of an older one, so the worst that a flood of new
 * names does is to make it useless.
 */
export class TopicNameCache {
  readonly #names: (string | undefined)[] = []

  constructor() {
    // Packed from the start: a sparse array would be a dictionary.
    for (let place = 0; place < PLACES; place += 1) this.#names.push(undefined)
  }

  /** The name that stands in these bytes, if it was remembered. */
  find(bytes: Buffer, start: number, end: number): string | undefined {
    if (end - start > MAXIMUM_NAME_BYTES) return undefined
    const place = placeOf(bytes, start, end)
    const name = this.#names[place]
    if (name !== undefined && isSame(name, bytes, start, end)) return name
    const other = this.#names[place ^ 1]
    return other !== undefined && isSame(other, bytes, start, end) ? other : undefined
  }

  /**
   * Remembers a valid name that was read from these bytes. Only names in ASCII are kept: their
   * units are their bytes.
   */
  remember(name: string, bytes: Buffer, start: number, end: number): void {
    if (name.length !== end - start || end - start > MAXIMUM_NAME_BYTES || name.length === 0) return
    const place = placeOf(bytes, start, end)
    // The second place is for what the first one held: of two names that meet, both stay.
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
  // Names of one application differ at their end.
  for (let index = name.length - 1; index >= 0; index -= 1) {
    if (name.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
