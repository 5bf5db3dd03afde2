/** The part that this node has in each shared subscription that it knows. */
import type { NodeId } from '../../nodes.ts'
import type { Elsewhere } from './elsewhere.ts'
import type { RemoteMembers } from './remote-members.ts'

/** This node is the home of the group. */
export interface HomeRole {
  readonly kind: 'home'
  /** By incarnation: the members at other nodes. */
  readonly remotes: Map<string, RemoteMembers>
  /** Seconds for which the group has had no members. */
  unusedTicks: number
  /** Seconds for which the group has awaited members that are on their way. */
  awaitingTicks: number
}

/** Another node is the home of the group. */
export interface ElsewhereRole {
  readonly kind: 'elsewhere'
  /** Undefined: it is looked for. */
  home: NodeId | undefined
  /** The members here; undefined while there are none. */
  elsewhere: Elsewhere | undefined
  unusedTicks: number
}

export type Role = HomeRole | ElsewhereRole

export function homeRole(): HomeRole {
  return { kind: 'home', remotes: new Map(), unusedTicks: 0, awaitingTicks: 0 }
}

export function elsewhereRole(home: NodeId | undefined): ElsewhereRole {
  return { kind: 'elsewhere', home, elsewhere: undefined, unusedTicks: 0 }
}

/** The roles by key of the group, counted for each tenant. */
export class GroupRoles implements Iterable<readonly [key: string, role: Role]> {
  readonly #byKey = new Map<string, Role>()
  readonly #countByTenant = new Map<string, number>()

  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  get(key: string): Role | undefined {
    return this.#byKey.get(key)
  }

  set(key: string, role: Role): void {
    if (!this.#byKey.has(key)) this.#count(key, 1)
    this.#byKey.set(key, role)
  }

  delete(key: string): void {
    if (this.#byKey.delete(key)) this.#count(key, -1)
  }

  /** The number of groups of the tenant that this node knows, those without members included. */
  countOf(tenant: string): number {
    return this.#countByTenant.get(tenant) ?? 0
  }

  [Symbol.iterator](): Iterator<readonly [key: string, role: Role]> {
    return this.#byKey.entries()
  }

  #count(key: string, step: number): void {
    const tenant = tenantOfGroup(key)
    const count = this.countOf(tenant) + step
    if (count === 0) this.#countByTenant.delete(tenant)
    else this.#countByTenant.set(tenant, count)
  }
}

export function tenantOfGroup(key: string): string {
  return key.slice(0, key.indexOf('\0'))
}
