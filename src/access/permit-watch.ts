/**
 * The live permits by their grounds, so that a change of the registry finds the permits that it
 * touches.
 */
import type { PermitEnd } from '../broker/ports/policy.ts'

/** A permit that a connection holds. */
export interface HeldPermit {
  /**
   * Everything that the permit rests on: `organization:<id>`, `user:<id>`, `token:<id>`,
   * `credential:<id>`.
   */
  readonly grounds: readonly string[]
  /** The number of changes that the policy had heard of before it checked the permit. */
  readonly seenChanges: number
  /**
   * Tells the connection that the permit is over, with the reason; or, without a reason, that the
   * permit may be narrower.
   */
  tell(end: PermitEnd | undefined): void
  /** Looks at the permit's grounds again. Undefined: they still stand. */
  recheck(): Promise<PermitEnd | undefined>
}

/** Tells the policy which permits are held. */
export interface PermitHolders {
  /** Called when a connection takes the permit. */
  readonly held: (permit: HeldPermit) => void
  readonly released: (permit: HeldPermit) => void
}

export class PermitWatch {
  /**
   * Bounded by the connections. Most tokens have one connection: a Set for one permit would take
   * more memory than all else.
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

  /** All permits, each once. The set is a copy. */
  all(): ReadonlySet<HeldPermit> {
    return new Set(Array.from(this.#byGround.values(), (held) => (held instanceof Set ? [...held] : [held])).flat())
  }

  /**
   * The permits that rest on the ground. The list is a copy, because a permit that is told may be
   * removed.
   */
  restingOn(ground: string): readonly HeldPermit[] {
    const held = this.#byGround.get(ground)
    if (held === undefined) return []
    return held instanceof Set ? [...held] : [held]
  }
}
