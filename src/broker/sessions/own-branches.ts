/**
 * Subscriptions to all branches of topics that their tenant owns. A branch is the first two levels
 * of a Topic Name. The Topic Filter of such a subscription would match the branches of all tenants,
 * so it counts only within the tenant's own ones.
 */
import type { Branches, Reach } from '../ports/policy.ts'
import { TopicTrie } from './topic-trie.ts'

/** The last answer: a message is asked about once for each of its readers, one after the other. */
const last = { topicName: '', branch: '' }

/** The first two levels of a Topic Name: they decide the partition and the owner. */
export function branchOf(topicName: string): string {
  if (topicName === last.topicName) return last.branch
  const end = topicName.indexOf('/', topicName.indexOf('/') + 1)
  last.branch = topicName.includes('/') && end !== -1 ? topicName.slice(0, end) : topicName
  last.topicName = topicName
  return last.branch
}

/** Whether the Topic Name is in one of the branches. Without branches there is no limit. */
export function isWithin(branches: Branches | undefined, topicName: string): boolean {
  return branches === undefined || branches.has(branchOf(topicName))
}

/**
 * Whether the branch was the tenant's when the log took the message. The same branch may have
 * belonged to another tenant before.
 */
export function wasWithin(
  branches: Branches | undefined,
  message: { readonly topicName: string; readonly ownedAtMs: number },
): boolean {
  if (branches === undefined) return true
  const sinceMs = branches.get(branchOf(message.topicName))
  return sinceMs !== undefined && message.ownedAtMs >= sinceMs
}

/** The subscriptions of one tenant to all its branches. */
export class OwnedSubscriptions {
  readonly trie = new TopicTrie()
  readonly branches: Branches
  /** Subscriptions and groups in the trie. */
  count = 0

  constructor(branches: Branches) {
    this.branches = branches
  }
}

/**
 * The subscriptions of all tenants to their own branches. A message finds those of its owner by its
 * branch: it costs the same however many tenants have them.
 */
export class OwnBranches {
  readonly #reach: Reach
  readonly #byTenant = new Map<string, OwnedSubscriptions>()
  readonly #byBranch = new Map<string, OwnedSubscriptions>()

  /** `changed` is called with each branch whose readers may be other ones. */
  constructor(reach: Reach, changed: (branch: string) => void) {
    this.#reach = reach
    reach.watch((tenant, branch) => {
      const owned = this.#byTenant.get(tenant)
      if (owned === undefined) return
      if (owned.branches.has(branch)) this.#byBranch.set(branch, owned)
      else if (this.#byBranch.get(branch) === owned) this.#byBranch.delete(branch)
      changed(branch)
    })
  }

  /** The subscriptions that a message of the branch may go to. */
  readersOf(branch: string): TopicTrie | undefined {
    return this.#byBranch.size === 0 ? undefined : this.#byBranch.get(branch)?.trie
  }

  /** The tenant's subscriptions; undefined where the Topic Filter matches as it reads. */
  of(tenant: string, topicFilter: string): OwnedSubscriptions | undefined {
    const branches = this.#reach.branchesOf(tenant, topicFilter)
    if (branches === undefined) return undefined
    let owned = this.#byTenant.get(tenant)
    if (owned === undefined) {
      owned = new OwnedSubscriptions(branches)
      this.#byTenant.set(tenant, owned)
      for (const branch of branches.keys()) this.#byBranch.set(branch, owned)
    }
    return owned
  }

  /** Subscriptions came or went. */
  counted(tenant: string, owned: OwnedSubscriptions, change: number): void {
    owned.count += change
    if (owned.count > 0) return
    this.#byTenant.delete(tenant)
    for (const branch of owned.branches.keys()) {
      if (this.#byBranch.get(branch) === owned) this.#byBranch.delete(branch)
    }
  }
}
