/** The Network Connections that are open, and those past CONNACK by whose they are. */
import type { Connection } from './connection.ts'

/** Whose a connection is. */
interface Owner {
  readonly tenant: string
  readonly identity: string
}

/** Bounded by the limits on connections, which the broker keeps. */
export class LiveConnections {
  readonly #open = new Map<number, Connection>()
  /** Past CONNACK: a tenant's question is answered without looking at the others'. */
  readonly #byTenant = new Map<string, Set<Connection>>()
  readonly #countByIdentity = new Map<string, number>()

  /** Those open, before CONNACK as well. */
  get size(): number {
    return this.#open.size
  }

  add(connection: Connection): void {
    this.#open.set(connection.number, connection)
  }

  remove(connection: Connection): void {
    this.#open.delete(connection.number)
  }

  /** It is past CONNACK now. */
  accepted(connection: Connection, owner: Owner): void {
    const { tenant } = owner
    const ofTenant = this.#byTenant.get(tenant) ?? new Set()
    this.#byTenant.set(tenant, ofTenant.add(connection))
    const key = identityKey(owner)
    this.#countByIdentity.set(key, (this.#countByIdentity.get(key) ?? 0) + 1)
  }

  /** One that was accepted is over. */
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

  /** All that are open; one may end meanwhile. */
  open(): Iterable<Connection> {
    return this.#open.values()
  }

  /** Past CONNACK, in the order in which they came: of one tenant, or all. */
  *past(tenant?: string): Generator<Connection> {
    if (tenant !== undefined) yield* this.#byTenant.get(tenant) ?? []
    else for (const connection of this.#open.values()) if (connection.isConnected) yield connection
  }

  /** The one past CONNACK of this number. */
  find(number: number): Connection | undefined {
    const connection = this.#open.get(number)
    return connection?.isConnected === true ? connection : undefined
  }
}

function identityKey({ tenant, identity }: Owner): string {
  return `${tenant}\0${identity}`
}
