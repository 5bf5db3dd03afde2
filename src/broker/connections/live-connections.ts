/** The open Network Connections, and those past CONNACK by tenant and identity. */
import { ownerOf } from '../ports/policy.ts'
import type { Connection } from './connection.ts'

/** The tenant and identity of a connection. */
interface Owner {
  readonly tenant: string
  readonly identity: string
}

/** The limits on connections, which the broker keeps, bound all members. */
export class LiveConnections {
  readonly #open = new Map<number, Connection>()
  /**
   * Connections past CONNACK: a question about one tenant is answered without looking at the
   * others.
   */
  readonly #byTenant = new Map<string, Set<Connection>>()
  readonly #countByIdentity = new Map<string, number>()

  /** The number of open connections, including those before CONNACK. */
  get size(): number {
    return this.#open.size
  }

  add(connection: Connection): void {
    this.#open.set(connection.number, connection)
  }

  remove(connection: Connection): void {
    this.#open.delete(connection.number)
  }

  /** The connection is past CONNACK now. */
  accepted(connection: Connection, owner: Owner): void {
    const { tenant } = owner
    const ofTenant = this.#byTenant.get(tenant) ?? new Set()
    this.#byTenant.set(tenant, ofTenant.add(connection))
    const key = identityKey(owner)
    this.#countByIdentity.set(key, (this.#countByIdentity.get(key) ?? 0) + 1)
  }

  /** A connection that was past CONNACK has ended. */
  ended(connection: Connection, owner: Owner): void {
    const ofTenant = this.#byTenant.get(owner.tenant)
    ofTenant?.delete(connection)
    if (ofTenant?.size === 0) this.#byTenant.delete(owner.tenant)
    const key = identityKey(owner)
    const count = (this.#countByIdentity.get(key) ?? 0) - 1
    if (count > 0) this.#countByIdentity.set(key, count)
    else this.#countByIdentity.delete(key)
  }

  countOfTenant(tenant: string): number {
    return this.#byTenant.get(tenant)?.size ?? 0
  }

  countOfIdentity(owner: Owner): number {
    return this.#countByIdentity.get(identityKey(owner)) ?? 0
  }

  /** All open connections. A connection may end while the caller goes through them. */
  open(): Iterable<Connection> {
    return this.#open.values()
  }

  /** The connections past CONNACK, in the order in which they came: of one tenant, or all. */
  *past(tenant?: string): Generator<Connection> {
    if (tenant !== undefined) yield* this.#byTenant.get(tenant) ?? []
    else for (const connection of this.#open.values()) if (connection.isConnected) yield connection
  }

  /** The connection past CONNACK with this number. */
  find(number: number): Connection | undefined {
    const connection = this.#open.get(number)
    return connection?.isConnected === true ? connection : undefined
  }
}

function identityKey({ tenant, identity }: Owner): string {
  return `${tenant}\0${ownerOf(identity)}`
}
