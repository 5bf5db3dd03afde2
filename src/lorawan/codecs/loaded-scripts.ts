/**
 * The scripts that one process has loaded, as the pool knows them. At the bounds the scripts go
 * that were not used lately; they are loaded again when they are needed.
 */
import { MAXIMUM_LOADED_BYTES, MAXIMUM_LOADED_SCRIPTS } from './script-limits.ts'

/** The place of a script in its process. */
export interface Place {
  readonly slot: number
  /** True when the process needs the text of the script. */
  readonly isNew: boolean
  /** Slots whose scripts the process may forget. */
  readonly dropped: readonly number[]
}

interface Loaded {
  readonly slot: number
  bytes: number
}

/** Scripts by a digest of their text: applications with the same script share one. */
export class LoadedScripts {
  /** Used least lately first. */
  readonly #scripts = new Map<string, Loaded>()
  #bytes = 0
  #nextSlot = 0

  /** Whether the process has the script. */
  has(digest: string): boolean {
    return this.#scripts.has(digest)
  }

  /** Where the script is, or will be. */
  use(digest: string): Place {
    const known = this.#scripts.get(digest)
    if (known !== undefined) {
      // Written again, the script is the one that was used last.
      this.#scripts.delete(digest)
      this.#scripts.set(digest, known)
      return { slot: known.slot, isNew: false, dropped: [] }
    }
    const slot = this.#nextSlot
    this.#nextSlot += 1
    this.#scripts.set(digest, { slot, bytes: 0 })
    return { slot, isNew: true, dropped: this.#drop() }
  }

  /** The process has run the script that was used last, which holds so many bytes there. */
  ran(digest: string, bytes: number): void {
    const script = this.#scripts.get(digest)
    if (script === undefined) return
    this.#bytes += bytes - script.bytes
    script.bytes = bytes
  }

  /** Drops scripts beyond the bounds, but never the one that was used last. */
  #drop(): readonly number[] {
    const dropped: number[] = []
    for (const [digest, { slot, bytes }] of this.#scripts) {
      const isWithin = this.#scripts.size <= MAXIMUM_LOADED_SCRIPTS && this.#bytes <= MAXIMUM_LOADED_BYTES
      if (isWithin || this.#scripts.size === 1) break
      this.#scripts.delete(digest)
      this.#bytes -= bytes
      dropped.push(slot)
    }
    return dropped
  }
}
