/**
 * Remembers Topic Names by their bytes: a publisher sends the same few names again and again. A hit
 * needs no new string and no validation. It returns the same object each time, with everything that
 * is known of the topic.
 */
import type { Topic } from './topic.ts'

/**
 * The longest name that is remembered, in bytes. With the next bound it bounds the names to some
 * 40 MB, whoever sends them, with everything that their topics hold.
 */
const MAXIMUM_NAME_BYTES = 128
/** The number of names that are remembered. */
const MAXIMUM_NAMES = 131_072
/** The number of places, a power of two. */
const PLACES = 2 * MAXIMUM_NAMES
/**
 * The number of successive places that a name may stand in. A fleet of 100,000 devices, each of
 * which sends in turn, must find nearly all of its names.
 */
const PLACES_OF_A_NAME = 8

/**
 * A bounded cache. A new name takes the place of an older one: a flood of new names makes the cache
 * useless, and nothing worse.
 */
export class TopicNameCache {
  readonly #topics: (Topic | undefined)[] = []
  /** By place: the hash of the name. A look at a name that is another one costs a cache miss. */
  readonly #hashes = new Int32Array(PLACES)
  #count = 0
  /** Grows with each name that takes the place of another one. */
  #replaced = 0

  constructor() {
    // Filled from the start: V8 keeps a sparse array as a slow dictionary.
    for (let place = 0; place < PLACES; place += 1) this.#topics.push(undefined)
  }

  /** The topic whose name stands in these bytes, if it is remembered. */
  find(bytes: Buffer, start: number, end: number): Topic | undefined {
    if (end - start > MAXIMUM_NAME_BYTES) return undefined
    const hash = hashOf(bytes, start, end)
    for (let step = 0; step < PLACES_OF_A_NAME; step += 1) {
      const place = placeOf(hash, step)
      if (this.#hashes[place] !== hash) continue
      const topic = this.#topics[place]
      if (topic !== undefined && isSame(topic.name, bytes, start, end)) return topic
    }
    return undefined
  }

  /**
   * Remembers a topic whose valid name was read from these bytes, where `find` found none. Only
   * ASCII names are kept: their code units equal their bytes.
   */
  remember(topic: Topic, bytes: Buffer, start: number, end: number): void {
    const { length } = topic.name
    if (length !== end - start || length > MAXIMUM_NAME_BYTES || length === 0) return
    const hash = hashOf(bytes, start, end)
    const place = this.#placeFor(hash)
    if (place === undefined) return
    if (this.#topics[place] === undefined) this.#count += 1
    this.#topics[place] = topic
    this.#hashes[place] = hash
  }

  /** A free place, or one whose name is given up. Undefined: neither is there. */
  #placeFor(hash: number): number | undefined {
    const isFull = this.#count >= MAXIMUM_NAMES
    this.#replaced += 1
    for (let step = 0; step < PLACES_OF_A_NAME; step += 1) {
      const place = placeOf(hash, isFull ? step + this.#replaced : step)
      if ((this.#topics[place] === undefined) !== isFull) return place
    }
    return isFull ? undefined : placeOf(hash, this.#replaced)
  }
}

/** One of the places for names with this hash. */
function placeOf(hash: number, step: number): number {
  return (hash + (step % PLACES_OF_A_NAME)) & (PLACES - 1)
}

/** FNV-1a over the bytes, four at a time. */
function hashOf(bytes: Buffer, start: number, end: number): number {
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
  return hash ^ (hash >>> 13)
}

function isSame(name: string, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  // The names of one application differ at their end.
  for (let index = name.length - 1; index >= 0; index -= 1) {
    if (name.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
