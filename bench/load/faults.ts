/** The faults of a run, with counts. */
export class Faults {
  readonly #counts = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  add(text: string, count = 1): void {
    if (count === 0) return
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + count)
  }

  /** Throws if there is a fault. */
  judge(): void {
    if (this.isEmpty) return
    throw new Error(Array.from(this.#counts, ([text, count]) => `${text}: ${count}`).join(', '))
  }
}
