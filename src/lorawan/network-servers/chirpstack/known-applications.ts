/**
 * The applications of a ChirpStack that is not synchronised: those that were made here with the ids
 * of ChirpStack, by hand or by an import of its inventory.
 */
import type { Synchronisation } from './chirpstack-grpc.ts'

export class KnownApplications implements Synchronisation {
  readonly applications: Set<string>
  readonly #look: () => Promise<readonly string[]>

  constructor(look: () => Promise<readonly string[]>, applications: Iterable<string>) {
    this.#look = look
    this.applications = new Set(applications)
  }

  stop(): void {
    // A look has nothing that could be stopped.
  }

  /** Looks for applications that are new, and forgets those that are gone. */
  async run(): Promise<undefined> {
    const found = new Set(await this.#look())
    for (const id of this.applications) if (!found.has(id)) this.applications.delete(id)
    for (const id of found) this.applications.add(id)
  }
}
