/**
 * The records that the servers have of processes and homes, with the rules of `cluster/`: a claim
 * is changed by compare-and-set, and the claim of a dead process counts for its heir. A claim that
 * was stored behind the fence of its process, or of the process that it takes a thing from, does
 * not count.
 */

export interface ProcessRecord {
  readonly name: string
  heir: string | undefined
  /** Left: it has ended in order, and has no heir yet. */
  stage: 'living' | 'left' | 'named' | 'copied' | 'merged'
  /** The last sequence of all claims when the heir fenced them. */
  fence?: number
}

interface Claim {
  readonly home: string | undefined
  readonly before: string | undefined
  readonly sequence: number
}

/** A revision is the sequence of the claim times this, and the number of heirs. */
const HEIRS = 1_000

export class Claims {
  readonly processes = new Map<string, ProcessRecord>()
  readonly #claims = new Map<string, Claim>()
  #lastSequence = 0

  /** The process in whose state the state of this one is. */
  holderOf(incarnation: string): string {
    return this.#follow(incarnation, ({ stage }) => stage === 'copied' || stage === 'merged').at
  }

  /** The home of a thing; undefined while its process is dead, and has no heir yet. */
  find(key: string): { readonly home: string | undefined; readonly revision: number } | undefined {
    const { sequence } = this.#claims.get(key) ?? { sequence: 0 }
    const home = this.claimed(key)
    if (home === undefined) return { home, revision: sequence * HEIRS }
    const { at, heirs } = this.#follow(home, ({ stage }) => stage === 'merged')
    return this.isAtHome(at) ? { home: at, revision: sequence * HEIRS + heirs } : undefined
  }

  /** The process in the claim that counts. */
  claimed(key: string): string | undefined {
    const claim = this.#claims.get(key)
    if (claim?.home === undefined) return undefined
    const isLate = this.isBehind(claim.home, claim.sequence) || this.isBehind(claim.before, claim.sequence)
    return isLate ? claim.before : claim.home
  }

  /** A claim with this sequence came too late for the heir of the process. */
  isBehind(incarnation: string | undefined, sequence: number): boolean {
    return incarnation !== undefined && (this.processes.get(incarnation)?.fence ?? Infinity) < sequence
  }

  /** Claims of a dead process that are stored from here on do not count. */
  fence(incarnation: string): void {
    const record = this.processes.get(incarnation)
    if (record !== undefined) record.fence ??= this.#lastSequence
  }

  /** The process that is found in the place of this one. */
  mergedInto(incarnation: string): string {
    return this.#follow(incarnation, ({ stage }) => stage === 'merged').at
  }

  isAtHome(incarnation: string): boolean {
    return this.processes.get(incarnation)?.stage === 'living'
  }

  /** Returns the sequence of the claim; undefined: it is no longer the claim of this revision. */
  change(key: string, home: string | undefined, revision: number, before?: string): number | undefined {
    const sequence = this.#claims.get(key)?.sequence ?? 0
    if (sequence !== Math.floor(revision / HEIRS)) return undefined
    this.#lastSequence += 1
    this.#claims.set(key, { home, before, sequence: this.#lastSequence })
    return this.#lastSequence
  }

  revision(key: string): number {
    return (this.#claims.get(key)?.sequence ?? 0) * HEIRS
  }

  #follow(incarnation: string, isFollowed: (record: ProcessRecord) => boolean): { at: string; heirs: number } {
    for (let [at, heirs] = [incarnation, 0]; ; heirs += 1) {
      const record = this.processes.get(at)
      if (record?.heir === undefined || !isFollowed(record)) return { at, heirs }
      at = record.heir
    }
  }
}
