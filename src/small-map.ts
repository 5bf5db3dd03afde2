/** A map for the many places that mostly have one entry, or none. */

/**
 * Has the functions of a Map that its callers need, and keeps the order in which keys were added.
 * On Bun it takes 48 bytes with one entry, where a Map takes some 290.
 */
export class SmallMap<Key extends string | object, Value> {
  /** The only entry; undefined where there is none, and where there are several. */
  #key: Key | undefined = undefined
  #value: Value | undefined = undefined
  /** All entries, from the second one on until the map is empty. */
  #entries: Map<Key, Value> | undefined = undefined

  get size(): number {
    if (this.#entries !== undefined) return this.#entries.size
    return this.#key === undefined ? 0 : 1
  }

  has(key: Key): boolean {
    return this.#entries === undefined ? this.#key === key : this.#entries.has(key)
  }

  get(key: Key): Value | undefined {
    if (this.#entries !== undefined) return this.#entries.get(key)
    return this.#key === key ? this.#value : undefined
  }

  set(key: Key, value: Value): void {
    if (this.#entries !== undefined) this.#entries.set(key, value)
    else if (this.#key === undefined || this.#key === key) {
      this.#key = key
      this.#value = value
    } else {
      this.#entries = new Map([
        [this.#key, this.#value as Value],
        [key, value],
      ])
      this.#key = undefined
      this.#value = undefined
    }
  }

  /** False: the map has no such key. */
  delete(key: Key): boolean {
    if (this.#entries !== undefined) {
      const isDeleted = this.#entries.delete(key)
      if (this.#entries.size === 0) this.#entries = undefined
      return isDeleted
    }
    if (this.#key !== key) return false
    this.#key = undefined
    this.#value = undefined
    return true
  }

  /** As with a Map, keys may be deleted meanwhile. The same is true of `values` and the entries. */
  keys(): IterableIterator<Key> {
    if (this.#entries !== undefined) return this.#entries.keys()
    return (this.#key === undefined ? [] : [this.#key]).values()
  }

  values(): IterableIterator<Value> {
    if (this.#entries !== undefined) return this.#entries.values()
    return (this.#key === undefined ? [] : [this.#value as Value]).values()
  }

  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    if (this.#entries !== undefined) return this.#entries[Symbol.iterator]()
    const entries: [Key, Value][] = this.#key === undefined ? [] : [[this.#key, this.#value as Value]]
    return entries.values()
  }
}
