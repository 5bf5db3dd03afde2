/**
 * The applications of each organization that has had a connection: one set for all its permits,
 * changed in place. Bounded by the applications of the deployment.
 */
import type { Change } from '../identity/store/changes.ts'
import type { Directory } from '../identity/devices/directory.ts'

interface Entry {
  readonly applications: Set<string>
  isFilling: boolean
  /** Removed while the set was being filled. */
  readonly removed: Set<string>
  filled: Promise<void>
}

export class OrganizationApplications {
  readonly #directory: Directory
  readonly #entries = new Map<string, Entry>()

  constructor(directory: Directory) {
    this.#directory = directory
  }

  /** The set stays right for as long as the organization exists. */
  async of(organizationId: string): Promise<ReadonlySet<string>> {
    let entry = this.#entries.get(organizationId)
    if (entry === undefined) {
      entry = { applications: new Set(), isFilling: true, removed: new Set(), filled: Promise.resolve() }
      // Registered before it is filled: a change that comes meanwhile is not missed.
      this.#entries.set(organizationId, entry)
      entry.filled = this.#fill(organizationId, entry)
    }
    try {
      await entry.filled
    } catch (error) {
      this.#entries.delete(organizationId)
      throw error
    }
    return entry.applications
  }

  changed(change: Change): void {
    if (change.kind === 'organization_removed') {
      this.#entries.get(change.organizationId)?.applications.clear()
      this.#entries.delete(change.organizationId)
      return
    }
    if (change.kind !== 'application_created' && change.kind !== 'application_removed') return
    const entry = this.#entries.get(change.organizationId)
    if (entry === undefined) return
    if (change.kind === 'application_created') entry.applications.add(change.applicationId)
    else {
      entry.applications.delete(change.applicationId)
      if (entry.isFilling) entry.removed.add(change.applicationId)
    }
  }

  async #fill(organizationId: string, entry: Entry): Promise<void> {
    for (const id of await this.#directory.applicationsOf(organizationId)) {
      if (!entry.removed.has(id)) entry.applications.add(id)
    }
    entry.isFilling = false
    entry.removed.clear()
  }
}
