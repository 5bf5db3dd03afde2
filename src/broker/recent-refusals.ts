/** The newest refusals, so that people can be told why a client does not get what it wants. Bounded, and fair to tenants. */
import type { PermitHolder } from './policy.ts'

export type RefusalKind = 'connect' | 'publish' | 'subscribe' | 'will'

/** A refusal as it happens. */
export interface RefusalFields {
  readonly kind: RefusalKind
  /** Stable, as in logs and metrics. */
  readonly code: string
  /** The sentence that the client was told, where the protocol has a place for it. */
  readonly reason: string
  readonly clientId: string | undefined
  readonly address: string
  /** Whose it was; undefined where nobody has proved who it is. */
  readonly holder: PermitHolder | undefined
  /** The Topic Name or Topic Filter that was refused. */
  readonly topic: string | undefined
}

/** A refusal that may have come more than once. */
export interface RecordedRefusal extends RefusalFields {
  readonly firstAtMs: number
  /** The newest time. */
  readonly atMs: number
  readonly count: number
}

/**
 * Refusals kept in all, some 10 MB at most. At the bound the tenant that has the most loses its oldest: a flood takes the place of
 * its own tenant alone.
 */
const MAXIMUM_REFUSALS = 10_000
/** Of one tenant; of all who did not prove who they are together. A client that repeats itself takes one place. */
const MAXIMUM_REFUSALS_PER_TENANT = 200
/** Of a text that a client chose. */
const MAXIMUM_TEXT_LENGTH = 256
/** Where those go who did not prove who they are; no tenant is called so. */
const NOBODY = ''

/** Bounds for tests. */
export interface RecentRefusalsBounds {
  readonly inAll: number
  readonly perTenant: number
}

/** Insertion order is order of time: a repetition moves to the end. */
type Ring = Map<string, RecordedRefusal>

const NO_RING: ReadonlyMap<string, RecordedRefusal> = new Map()

export class RecentRefusals {
  readonly #bounds: RecentRefusalsBounds
  readonly #rings = new Map<string, Ring>()
  /** The tenants by how many refusals are kept of them, from 1 on: finds who has the most. */
  readonly #tenantsBySize: readonly Set<string>[]
  #count = 0

  constructor(bounds: RecentRefusalsBounds = { inAll: MAXIMUM_REFUSALS, perTenant: MAXIMUM_REFUSALS_PER_TENANT }) {
    this.#bounds = bounds
    this.#tenantsBySize = Array.from({ length: bounds.perTenant + 1 }, () => new Set<string>())
  }

  /** Keeps it; one that was kept already counts once more. */
  record(fields: RefusalFields, nowMs: number): void {
    const { holder } = fields
    const bounded = {
      ...fields,
      // Three texts of it: a permit that is over would be kept alive.
      holder: holder && { tenant: holder.tenant, identity: holder.identity, ground: holder.ground },
      reason: cut(fields.reason),
      clientId: fields.clientId === undefined ? undefined : cut(fields.clientId),
      topic: fields.topic === undefined ? undefined : cut(fields.topic),
    }
    const tenant = holder?.tenant ?? NOBODY
    const ring = this.#rings.get(tenant) ?? new Map<string, RecordedRefusal>()
    this.#rings.set(tenant, ring)
    const key = keyOf(bounded)
    const known = ring.get(key)
    const sizeBefore = ring.size
    ring.delete(key)
    ring.set(key, { ...bounded, firstAtMs: known?.firstAtMs ?? nowMs, atMs: nowMs, count: (known?.count ?? 0) + 1 })
    if (ring.size > this.#bounds.perTenant) dropOldest(ring)
    this.#resized(tenant, sizeBefore, ring.size)
    if (this.#count > this.#bounds.inAll) this.#dropOfLargest()
  }

  /** Newest first: of one tenant, or of all and of those who did not prove who they are. A snapshot. */
  list(tenant?: string): readonly RecordedRefusal[] {
    const rings = tenant === undefined ? [...this.#rings.values()] : [this.#rings.get(tenant) ?? NO_RING]
    return rings.flatMap((ring) => [...ring.values()].toReversed()).toSorted((one, other) => other.atMs - one.atMs)
  }

  #dropOfLargest(): void {
    const [tenant = NOBODY] = this.#tenantsBySize.findLast(({ size }) => size > 0) ?? []
    const ring = this.#rings.get(tenant)
    if (ring === undefined) return
    const sizeBefore = ring.size
    dropOldest(ring)
    this.#resized(tenant, sizeBefore, ring.size)
    if (ring.size === 0) this.#rings.delete(tenant)
  }

  #resized(tenant: string, from: number, to: number): void {
    if (from === to) return
    this.#count += to - from
    this.#tenantsBySize[from]?.delete(tenant)
    if (to > 0) this.#tenantsBySize[to]?.add(tenant)
  }
}

function dropOldest(ring: Ring): void {
  const [oldest] = ring.keys()
  if (oldest !== undefined) ring.delete(oldest)
}

function keyOf({ kind, code, clientId, address, holder, topic }: RefusalFields): string {
  return JSON.stringify([kind, code, clientId, address, holder?.identity, holder?.ground, topic])
}

function cut(text: string): string {
  return text.length <= MAXIMUM_TEXT_LENGTH ? text : `${text.slice(0, MAXIMUM_TEXT_LENGTH - 1)}…`
}
