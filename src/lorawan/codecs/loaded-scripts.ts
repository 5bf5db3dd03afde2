/**
 * The scripts that one process has loaded, as the pool knows them. At the bounds a script goes of
 * the organization that has the most, the one that was not used lately. It is loaded again when it
 * is needed. So an organization with ten thousand scripts pushes out only its own, as long as the
 * others have less than it has.
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
  /** The organization for which it was loaded. */
  readonly organizationId: string
  bytes: number
}

/** The scripts of an organization. */
interface OrganizationShare {
  /** Used least lately first. */
  readonly scripts: Map<string, Loaded>
  bytes: number
}

/** A script counts as so many bytes at least, so that many small ones are much as well. */
const LEAST_BYTES = MAXIMUM_LOADED_BYTES / MAXIMUM_LOADED_SCRIPTS

/** Scripts by a digest of their text: applications with the same script share one. */
export class LoadedScripts {
  readonly #scripts = new Map<string, Loaded>()
  readonly #shares = new Map<string, OrganizationShare>()
  #bytes = 0
  #nextSlot = 0

  /** Whether the process has the script. */
  has(digest: string): boolean {
    return this.#scripts.has(digest)
  }

  /** Where the script is, or will be. Organizations with the same script share one. */
  use(digest: string, organizationId: string): Place {
    const known = this.#scripts.get(digest)
    if (known !== undefined) {
      // Written again, the script is the one of its organization that was used last.
      const { scripts } = this.#shareOf(known.organizationId)
      scripts.delete(digest)
      scripts.set(digest, known)
      return { slot: known.slot, isNew: false, dropped: [] }
    }
    const script = { slot: this.#nextSlot, organizationId, bytes: 0 }
    this.#nextSlot += 1
    this.#scripts.set(digest, script)
    this.#shareOf(organizationId).scripts.set(digest, script)
    return { slot: script.slot, isNew: true, dropped: this.#drop(digest) }
  }

  /** The process has run the script that was used last, which holds so many bytes there. */
  ran(digest: string, bytes: number): void {
    const script = this.#scripts.get(digest)
    if (script === undefined) return
    this.#bytes += bytes - script.bytes
    this.#shareOf(script.organizationId).bytes += bytes - script.bytes
    script.bytes = bytes
  }

  #shareOf(organizationId: string): OrganizationShare {
    const known = this.#shares.get(organizationId)
    if (known !== undefined) return known
    const share = { scripts: new Map<string, Loaded>(), bytes: 0 }
    this.#shares.set(organizationId, share)
    return share
  }

  /** Drops scripts beyond the bounds, but never the one that is about to run. */
  #drop(used: string): readonly number[] {
    const dropped: number[] = []
    while (this.#scripts.size > MAXIMUM_LOADED_SCRIPTS || this.#bytes > MAXIMUM_LOADED_BYTES) {
      const [digest, script] = this.#leastOf(used)
      if (digest === undefined || script === undefined) break
      const share = this.#shareOf(script.organizationId)
      share.scripts.delete(digest)
      share.bytes -= script.bytes
      if (share.scripts.size === 0) this.#shares.delete(script.organizationId)
      this.#scripts.delete(digest)
      this.#bytes -= script.bytes
      dropped.push(script.slot)
    }
    return dropped
  }

  /**
   * The script that goes next. A load takes some ms, so that the look at all organizations counts
   * for little.
   */
  #leastOf(used: string): readonly [digest: string | undefined, script: Loaded | undefined] {
    let found: readonly [string | undefined, Loaded | undefined] = [undefined, undefined]
    let most = -1
    for (const { scripts, bytes } of this.#shares.values()) {
      const size = Math.max(bytes, scripts.size * LEAST_BYTES)
      if (size <= most) continue
      for (const [digest, script] of scripts) {
        if (digest === used) continue
        found = [digest, script]
        most = size
        break
      }
    }
    return found
  }
}
