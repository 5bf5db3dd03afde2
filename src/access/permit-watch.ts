/** The live permits, by what a change in the registry names, so that a change finds the ones that it touches. */
import type { PermitEnd } from '../broker/policy.ts'

/** A permit held by a connection, as changes see it. */
export interface HeldPermit {
  /** `organization:<id>`, `user:<id>`, `token:<id>`, `credential:<id>`: all that the permit rests on. */
  readonly grounds: readonly string[]
  /** Tells the connection: over, with a reason; or possibly narrower. */
  tell(end: PermitEnd | undefined): void
}

export class PermitWatch {
  /** Bounded by the connections. */
  readonly #byGround = new Map<string, Set<HeldPermit>>()

  add(permit: HeldPermit): void {
    for (const ground of permit.grounds) {
      const held = this.#byGround.get(ground)
      if (held === undefined) this.#byGround.set(ground, new Set([permit]))
      else held.add(permit)
    }
  }

  remove(permit: HeldPermit): void {
    for (const ground of permit.grounds) {
      const held = this.#byGround.get(ground)
      held?.delete(permit)
      if (held?.size === 0) this.#byGround.delete(ground)
    }
  }

  /** A snapshot: telling a permit may remove it. */
  restingOn(ground: string): readonly HeldPermit[] {
    return [...(this.#byGround.get(ground) ?? [])]
  }
}
