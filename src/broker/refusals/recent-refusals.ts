/**
 * The newest refusals, so that people can be told why a client is refused. Bounded, and fair to
 * tenants and identities.
 */
import { ownerOf } from '../ports/policy.ts'
import type { PermitHolder } from '../ports/policy.ts'

/** The kind of a refusal. `notice`: nothing was refused; a message had a fault, and went on. */
export type RefusalKind = 'connect' | 'publish' | 'subscribe' | 'will' | 'notice'

/** A refusal as it happens. */
export interface RefusalFields {
  readonly kind: RefusalKind
  /** A stable word, as in logs and metrics. */
  readonly code: string
  /** The sentence that the client was told, where the protocol has a place for it. */
  readonly reason: string
  readonly clientId: string | undefined
  readonly address: string
  /** The holder of the refused permit; undefined for an unauthenticated client. */
  readonly holder: PermitHolder | undefined
  /** The Topic Name or Topic Filter that was refused. */
  readonly topic: string | undefined
}

/** A refusal that may have come more than once. */
export interface RecordedRefusal extends RefusalFields {
  readonly firstAtMs: number
  /** The time of the newest refusal. */
  readonly atMs: number
  readonly count: number
  /** Rises with each refusal: within a millisecond it tells which refusal came last. */
  readonly order: number
}

/**
 * Refusals kept in all, some 10 MB at most. At the bound the tenant with the most refusals loses
 * one: a flood displaces refusals of its own tenant alone.
 */
const MAXIMUM_REFUSALS = 10_000
/**
 * Refusals of one tenant; unauthenticated clients count as one tenant. At the bound the identity,
 * or the address, with the most refusals loses its oldest: a network server with unknown devices
 * does not hide why a user's client is refused. A client that repeats itself takes one place.
 */
const MAXIMUM_REFUSALS_PER_TENANT = 200
/** Characters of a text that a client chose. */
const MAXIMUM_TEXT_LENGTH = 256
/** Pseudo-tenant for unauthenticated clients; it can't collide with a real one. */
const NOBODY = ''

/** Bounds for tests. */
export interface RecentRefusalsBounds {
  readonly inAll: number
  readonly perTenant: number
}

export class RecentRefusals {
  readonly #bounds: RecentRefusalsBounds
  readonly #shelves = new Map<string, Shelf>()
  readonly #sizes = new Sizes()
  #count = 0
  #order = 0

  constructor(bounds: RecentRefusalsBounds = { inAll: MAXIMUM_REFUSALS, perTenant: MAXIMUM_REFUSALS_PER_TENANT }) {
    this.#bounds = bounds
  }

  /** Keeps the refusal; one that is kept already counts once more. */
  record(fields: RefusalFields, nowMs: number): void {
    const { holder } = fields
    const tenant = holder?.tenant ?? NOBODY
    const shelf = this.#shelves.get(tenant) ?? new Shelf()
    this.#shelves.set(tenant, shelf)
    const sizeBefore = shelf.size
    this.#order += 1
    shelf.put(bounded(fields), nowMs, this.#order)
    if (shelf.size > this.#bounds.perTenant) shelf.dropOne()
    this.#resized(tenant, shelf, sizeBefore)
    if (this.#count > this.#bounds.inAll) this.#dropOne()
  }

  /**
   * The refusals, newest first, filtered by tenant and identity. Unfiltered, they include those of
   * unauthenticated clients. The list is a snapshot. A list of one identity is cheap, however many
   * refusals are kept.
   */
  list(of: { readonly tenant?: string; readonly identity?: string } = {}): readonly RecordedRefusal[] {
    const { tenant, identity } = of
    const shelves = tenant === undefined ? [...this.#shelves.values()] : [this.#shelves.get(tenant)]
    return shelves.flatMap((shelf) => shelf?.of(identity) ?? []).toSorted((one, other) => other.order - one.order)
  }

  #dropOne(): void {
    const tenant = this.#sizes.largest()
    const shelf = tenant === undefined ? undefined : this.#shelves.get(tenant)
    if (tenant === undefined || shelf === undefined) return
    const sizeBefore = shelf.size
    shelf.dropOne()
    this.#resized(tenant, shelf, sizeBefore)
    if (shelf.size === 0) this.#shelves.delete(tenant)
  }

  #resized(tenant: string, shelf: Shelf, sizeBefore: number): void {
    this.#count += shelf.size - sizeBefore
    this.#sizes.set(tenant, sizeBefore, shelf.size)
  }
}

/** Refusals by key. The order of insertion is the order of time: a repetition moves to the end. */
type Ring = Map<string, RecordedRefusal>

/** The refusals of one tenant, by the identity or address that was refused. */
class Shelf {
  size = 0
  readonly #rings = new Map<string, Ring>()
  readonly #sizes = new Sizes()

  put(fields: RefusalFields, nowMs: number, order: number): void {
    // No identity begins with NUL: an address can't be taken for an identity.
    const { holder } = fields
    const owner = holder === undefined ? `\0${fields.address}` : ownerOf(holder.identity)
    const ring: Ring = this.#rings.get(owner) ?? new Map()
    this.#rings.set(owner, ring)
    const key = keyOf(fields)
    const known = ring.get(key)
    const sizeBefore = ring.size
    ring.delete(key)
    ring.set(key, {
      ...fields,
      firstAtMs: known?.firstAtMs ?? nowMs,
      atMs: nowMs,
      count: (known?.count ?? 0) + 1,
      order,
    })
    this.#resized(owner, ring, sizeBefore)
  }

  dropOne(): void {
    const owner = this.#sizes.largest()
    const ring = owner === undefined ? undefined : this.#rings.get(owner)
    if (owner === undefined || ring === undefined) return
    const [oldest = ''] = ring.keys()
    const sizeBefore = ring.size
    ring.delete(oldest)
    this.#resized(owner, ring, sizeBefore)
    if (ring.size === 0) this.#rings.delete(owner)
  }

  of(owner: string | undefined): readonly RecordedRefusal[] {
    if (owner !== undefined) return [...(this.#rings.get(owner)?.values() ?? [])]
    return [...this.#rings.values()].flatMap((ring) => Array.from(ring.values()))
  }

  #resized(owner: string, ring: Ring, sizeBefore: number): void {
    this.size += ring.size - sizeBefore
    this.#sizes.set(owner, sizeBefore, ring.size)
  }
}

/** Counts by name, so that the name with the most is found without a search. */
class Sizes {
  readonly #bySize = new Map<number, Set<string>>()
  #largest = 0

  set(name: string, from: number, to: number): void {
    if (from === to) return
    const before = this.#bySize.get(from)
    before?.delete(name)
    if (before?.size === 0) this.#bySize.delete(from)
    if (to > 0) {
      const now = this.#bySize.get(to) ?? new Set()
      this.#bySize.set(to, now.add(name))
    }
    // Sizes change by one, so the next smaller one is near.
    this.#largest = Math.max(this.#largest, to)
    while (this.#largest > 0 && !this.#bySize.has(this.#largest)) this.#largest -= 1
  }

  /** The name with the highest count; of several the one that has had it for longest. */
  largest(): string | undefined {
    const [name] = this.#bySize.get(this.#largest) ?? []
    return name
  }
}

function bounded(fields: RefusalFields): RefusalFields {
  const { holder, reason, clientId, topic } = fields
  return {
    ...fields,
    reason: cut(reason),
    clientId: clientId === undefined ? undefined : cut(clientId),
    topic: topic === undefined ? undefined : cut(topic),
    // Only three texts are kept: a reference would keep an ended permit alive.
    holder: holder && { tenant: holder.tenant, identity: holder.identity, ground: holder.ground },
  }
}

function keyOf({ kind, code, clientId, address, holder, topic }: RefusalFields): string {
  return JSON.stringify([kind, code, clientId, address, holder?.ground, topic])
}

function cut(text: string): string {
  return text.length <= MAXIMUM_TEXT_LENGTH ? text : `${text.slice(0, MAXIMUM_TEXT_LENGTH - 1)}…`
}
