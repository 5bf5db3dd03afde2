/** Branches of topics that a test gives to tenants, and takes away. */
import type { Branches, Reach } from '../../src/broker/ports/policy.ts'

/** Topic Filters whose second level is `+` stand for the tenant's own branches. */
export class TestReach implements Reach {
  readonly owned = new Map<string, Map<string, number>>()
  readonly #listeners: ((tenant: string, branch: string) => void)[] = []
  /** How often a tenant's branches were waited for. */
  readonly waited: string[] = []

  branchesOf(tenant: string, topicFilter: string): Branches | undefined {
    if (!topicFilter.startsWith('application/+/')) return undefined
    const branches = this.owned.get(tenant) ?? new Map<string, number>()
    this.owned.set(tenant, branches)
    return branches
  }

  ready(tenant: string, topicFilter: string): Promise<void> | undefined {
    if (this.branchesOf(tenant, topicFilter) === undefined) return undefined
    this.waited.push(tenant)
    return Promise.resolve()
  }

  watch(listener: (tenant: string, branch: string) => void): void {
    this.#listeners.push(listener)
  }

  add(tenant: string, applicationId: string, sinceMs = 0): void {
    const branch = `application/${applicationId}`
    const branches = this.owned.get(tenant) ?? new Map<string, number>()
    this.owned.set(tenant, branches.set(branch, sinceMs))
    for (const listener of this.#listeners) listener(tenant, branch)
  }

  remove(tenant: string, applicationId: string): void {
    const branch = `application/${applicationId}`
    this.owned.get(tenant)?.delete(branch)
    for (const listener of this.#listeners) listener(tenant, branch)
  }
}
