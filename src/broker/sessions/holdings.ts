/** Number and bytes of the things that each tenant or identity holds, for the bounds on them. */
export interface Holding {
  readonly count: number
  readonly bytes: number
}

const NOTHING: Holding = { count: 0, bytes: 0 }

export class Holdings {
  readonly #byHolder = new Map<string, { count: number; bytes: number }>()

  of(holder: string): Holding {
    return this.#byHolder.get(holder) ?? NOTHING
  }

  /** All who hold anything. */
  holders(): Iterable<string> {
    return this.#byHolder.keys()
  }

  /** Adds one thing of this size. */
  add(holder: string, bytes = 0): void {
    const held = this.#byHolder.get(holder)
    if (held === undefined) this.#byHolder.set(holder, { count: 1, bytes })
    else {
      held.count += 1
      held.bytes += bytes
    }
  }

  /** Takes away one thing that was added with this size. A holder of nothing costs no memory. */
  remove(holder: string, bytes = 0): void {
    const held = this.#byHolder.get(holder)
    if (held === undefined) return
    held.count -= 1
    held.bytes -= bytes
    if (held.count === 0) this.#byHolder.delete(holder)
  }
}
