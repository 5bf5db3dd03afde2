/**
 * The live permits, by what a change in the registry names, so that a change finds the ones that it
 * touches.
 */
import type { PermitEnd } from '../broker/ports/policy.ts'

/** A permit held by a connection, as changes see it. */
export interface HeldPermit {
  /**
   * `organization:<id>`, `user:<id>`, `token:<id>`, `credential:<id>`: all that the permit rests
   * on.
   */
  readonly grounds: readonly string[]
  /** Changes that the policy had heard of when it made the permit. */
  readonly seenChanges: number
  /** Tells the connection: over, with a reason; or possibly narrower. */
  tell(end: PermitEnd | undefined): void
  /** Looks at what it rests on again: undefined when it still stands. */
  recheck(): Promise<PermitEnd | undefined>
}

/** What a permit asks of the policy that made it. */
export interface PermitHolders {
  /** Called as the connection takes the permit and lets it go. */
  readonly held: (permit: HeldPermit) => void
  readonly released: (permit: HeldPermit) => void
}

export class PermitWatch {
  /**
   * Bounded by the connections. Most tokens have one: a Set for it alone would be the larger half
   * of what it costs.
   */
  readonly #byGround = new Map<string, HeldPermit | Set<HeldPermit>>()

  add(permit: HeldPermit): void {
    for (const ground of permit.grounds) {
      const held = this.#byGround.get(ground)
      if (held === undefined) this.#byGround.set(ground, permit)
      else if (held instanceof Set) held.add(permit)
      else this.#byGround.set(ground, new Set([held, permit]))
    }
  }

  remove(permit: HeldPermit): void {
    for (const ground of permit.grounds) {
      const held = this.#byGround.get(ground)
      if (held === permit) this.#byGround.delete(ground)
      else if (held instanceof Set) {
        held.delete(permit)
        if (held.size === 0) this.#byGround.delete(ground)
      }
    }
  }

  /** A snapshot: telling a permit may remove it. */
  restingOn(ground: string): readonly HeldPermit[] {
    const held = this.#byGround.get(ground)
    if (held === undefined) return []
    return held instanceof Set ? [...held] : [held]
  }
}
