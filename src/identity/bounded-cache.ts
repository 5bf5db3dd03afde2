/** A map that holds at most so many entries: at the bound the one that was asked for longest ago goes. */
export class BoundedCache<V> {
  readonly #entries = new Map<string, V>()
  readonly #maximum: number

  constructor(maximum: number) {
    this.#maximum = maximum
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#maximum) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      break
    }
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
