/**
 * Whether an application's network server names commands in its events. It is seen by the events themselves; before the first one,
 * by the application's id: ChirpStack v4 names its applications by UUID, v3 by digits, and neither takes the other's.
 */

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Applications that are remembered, some 100 bytes each. The one that was seen first is forgotten at the bound, and is as before its first event. */
const MAXIMUM_APPLICATIONS = 10_000

export class CommandNaming {
  readonly #seen = new Map<string, boolean>()

  /** An event about a command has passed that names it, or that does not. */
  saw(applicationId: string, isNamed: boolean): void {
    if (this.#seen.get(applicationId) === isNamed) return
    if (this.#seen.size >= MAXIMUM_APPLICATIONS) {
      const [first] = this.#seen.keys()
      if (first !== undefined) this.#seen.delete(first)
    }
    this.#seen.set(applicationId, isNamed)
  }

  /** True when commands may be told apart by their ids. `theirId`: the application's id in the network server. */
  names(applicationId: string, theirId = applicationId): boolean {
    return this.#seen.get(applicationId) ?? UUID.test(theirId)
  }

  /** True when events were seen that tell commands apart by frame counters alone. */
  countsFrames(applicationId: string): boolean {
    return this.#seen.get(applicationId) === false
  }
}
