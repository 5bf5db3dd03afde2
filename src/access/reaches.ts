/**
 * The applications of organizations, as branches of topics with the time since when each belongs to
 * its organization. They are for subscriptions to all applications of an organization.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Branches, Reach } from '../broker/ports/policy.ts'
import type { Directory } from '../identity/devices/directory.ts'
import type { Change } from '../identity/store/changes.ts'
import { applicationBranch, isOrganizationEventsTopic } from '../lorawan/topics.ts'
import { organizationOf, tenantOf } from './holders.ts'

/** Applications that are looked up at the same time. */
const AT_ONCE = 20
/** How often the registry is asked again, and the time between: 20 s in all. */
const MAXIMUM_TRIES = 80
const TRY_AGAIN_MS = 250

/** The applications of one organization. */
interface Owned {
  readonly branches: Map<string, number>
  /** The look-up; undefined once the map is complete. */
  looking: Promise<void> | undefined
}

export interface ReachesOptions {
  readonly directory: Pick<Directory, 'applicationsOf'>
  /** When an application was made, ms since 1970; Infinity when there is none. */
  readonly madeAtMs: (applicationId: string) => Promise<number>
}

export class Reaches implements Reach {
  readonly #options: ReachesOptions
  /** Bounded by the organizations whose members have asked for all applications. */
  readonly #byTenant = new Map<string, Owned>()
  readonly #listeners: ((tenant: string, branch: string) => void)[] = []

  constructor(options: ReachesOptions) {
    this.#options = options
  }

  branchesOf(tenant: string, topicFilter: string): Branches | undefined {
    return isOfOrganization(tenant, topicFilter) ? this.#of(tenant).branches : undefined
  }

  ready(tenant: string, topicFilter: string): Promise<void> | undefined {
    return isOfOrganization(tenant, topicFilter) ? this.#of(tenant).looking : undefined
  }

  watch(listener: (tenant: string, branch: string) => void): void {
    this.#listeners.push(listener)
  }

  /** Follows a change of the registry. */
  changed(change: Change): void {
    if (change.kind === 'application_created') this.#came(tenantOf(change.organizationId), change.applicationId)
    else if (change.kind === 'application_removed') this.#went(tenantOf(change.organizationId), change.applicationId)
    else if (change.kind === 'organization_removed') this.#forget(tenantOf(change.organizationId))
    else if (change.kind === 'resynchronized') {
      for (const [tenant, owned] of this.#byTenant) this.#look(tenant, owned)
    }
  }

  #of(tenant: string): Owned {
    let owned = this.#byTenant.get(tenant)
    if (owned === undefined) {
      owned = { branches: new Map(), looking: undefined }
      this.#byTenant.set(tenant, owned)
      this.#look(tenant, owned)
    }
    return owned
  }

  #look(tenant: string, owned: Owned): void {
    const looking = this.#lookPatiently(tenant, owned).finally(() => {
      if (owned.looking === looking) owned.looking = undefined
    })
    owned.looking = looking
    looking.catch(() => {
      // The next one who asks looks again.
      if (this.#byTenant.get(tenant) === owned && owned.branches.size === 0) this.#byTenant.delete(tenant)
    })
  }

  async #lookPatiently(tenant: string, owned: Owned): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#lookAt(tenant, owned)
        return
      } catch (error) {
        if (tries === MAXIMUM_TRIES) throw error
        await delay(TRY_AGAIN_MS, undefined, { ref: false })
      }
    }
  }

  async #lookAt(tenant: string, { branches }: Owned): Promise<void> {
    // The set is kept right meanwhile, and so is the map.
    const applications = await this.#options.directory.applicationsOf(organizationOf(tenant) ?? '')
    const present = new Set([...applications].map(applicationBranch))
    for (const branch of branches.keys()) if (!present.has(branch)) this.#remove(tenant, branch)
    const left = [...applications].values()
    const work = async (): Promise<void> => {
      for (const applicationId of left) await this.#add(tenant, applicationId, applications)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  /** The application may go while the time is looked up. */
  async #add(tenant: string, applicationId: string, applications: ReadonlySet<string>): Promise<void> {
    const sinceMs = await this.#options.madeAtMs(applicationId)
    if (sinceMs !== Infinity && applications.has(applicationId)) this.#set(tenant, applicationId, sinceMs)
  }

  #came(tenant: string, applicationId: string): void {
    const owned = this.#byTenant.get(tenant)
    if (owned === undefined) return
    // Live events come at once. Stored events of an earlier owner stay out until the time is known.
    this.#set(tenant, applicationId, Infinity)
    this.#look(tenant, owned)
  }

  #went(tenant: string, applicationId: string): void {
    if (this.#byTenant.has(tenant)) this.#remove(tenant, applicationBranch(applicationId))
  }

  #forget(tenant: string): void {
    const owned = this.#byTenant.get(tenant)
    if (owned === undefined) return
    for (const branch of owned.branches.keys()) this.#remove(tenant, branch)
    this.#byTenant.delete(tenant)
  }

  #set(tenant: string, applicationId: string, sinceMs: number): void {
    const branch = applicationBranch(applicationId)
    const branches = this.#byTenant.get(tenant)?.branches
    const isNew = branches?.has(branch) === false
    branches?.set(branch, sinceMs)
    if (isNew) for (const listener of this.#listeners) listener(tenant, branch)
  }

  #remove(tenant: string, branch: string): void {
    if (this.#byTenant.get(tenant)?.branches.delete(branch) !== true) return
    for (const listener of this.#listeners) listener(tenant, branch)
  }
}

/** Network servers of the deployment subscribe to commands alone, so they own no branches. */
function isOfOrganization(tenant: string, topicFilter: string): boolean {
  return isOrganizationEventsTopic(topicFilter) && organizationOf(tenant) !== undefined
}
