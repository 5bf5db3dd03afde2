/**
 * The memory that each tenant holds by its connections and Sessions. It is counted where it
 * changes, so that a bound can be asked at any moment.
 */
import type { OrganizationBounds } from '../../organization-bounds.ts'

/** The bytes toward one client, as the account of its tenant knows them. */
export interface UnreadOutput {
  /** Looks again at how many bytes the client has not taken. */
  recount(): void
}

/**
 * Bytes that may wait for one connection even if its tenant has no room left: at this number the
 * socket tells when the client has taken them, so a client that reads goes on at once.
 */
const ASSURED_OUTGOING_BYTES = 65_536
/** Bytes of a retained message that waits for room in the window of a Session. */
const WAITING_RETAINED_BYTES = 64

/** The account of one tenant. */
export class TenantMemory {
  readonly tenant: string
  /** Bytes that were written to connections, and that the clients' sockets have not taken. */
  outgoingBytes = 0
  /** Bytes of the messages that were sent, and that the clients have not acknowledged. */
  inflightBytes = 0
  /** The number of retained messages that wait for room in the windows of Sessions. */
  waitingRetained = 0
  /** True while the tenant must not hold more, because the process is above its budget. */
  isHeldBack: boolean
  /** The outputs that are counted in `outgoingBytes`. */
  readonly unread = new Set<UnreadOutput>()
  readonly #maximumOutgoingBytes: () => number

  constructor(tenant: string, maximumOutgoingBytes: () => number = () => Infinity, isHeldBack = false) {
    this.tenant = tenant
    this.#maximumOutgoingBytes = maximumOutgoingBytes
    this.isHeldBack = isHeldBack
  }

  get bytes(): number {
    return this.outgoingBytes + this.inflightBytes + this.waitingRetained * WAITING_RETAINED_BYTES
  }

  /**
   * True when a connection with this number of unread bytes must get no more. A connection may have
   * as many unread bytes as its tenant has room left: so the connection with the most unread bytes
   * is the first to be held back, and the last bytes of the room are for those that read.
   */
  isTooMuch(unreadBytes: number): boolean {
    if (unreadBytes < ASSURED_OUTGOING_BYTES) return false
    return this.isHeldBack || unreadBytes >= this.#maximumOutgoingBytes() - this.outgoingBytes
  }
}

/** The accounts of all tenants with Sessions. */
export class TenantMemories {
  readonly #accounts = new Map<string, TenantMemory>()
  readonly #heldBack = new Set<string>()
  readonly #maximumOutgoingBytesOf: (tenant: string) => number

  /** The bytes that may wait toward all clients of a tenant together. */
  constructor(maximumOutgoingBytesOf: (tenant: string) => number) {
    this.#maximumOutgoingBytesOf = maximumOutgoingBytesOf
  }

  /** The account of a tenant; it is opened if need be. */
  open(tenant: string): TenantMemory {
    let account = this.#accounts.get(tenant)
    if (account === undefined) {
      const maximum = (): number => this.#maximumOutgoingBytesOf(tenant)
      account = new TenantMemory(tenant, maximum, this.#heldBack.has(tenant))
      this.#accounts.set(tenant, account)
    }
    return account
  }

  /** The account of a tenant; undefined when the tenant has no Session. */
  find(tenant: string): TenantMemory | undefined {
    return this.#accounts.get(tenant)
  }

  /** The use that the tenant makes of its bounds. */
  usageOf(tenant: string): Pick<OrganizationBounds, 'outgoingBytes'> {
    return { outgoingBytes: this.#accounts.get(tenant)?.outgoingBytes ?? 0 }
  }

  /** The tenant has no Session any more. */
  close(tenant: string): void {
    this.#accounts.delete(tenant)
  }

  /** A second has passed: clients may have read bytes without a word. */
  tick(): void {
    for (const { unread } of this.#accounts.values()) for (const output of unread) output.recount()
  }

  /** The tenants that must not hold more. */
  get heldBack(): ReadonlySet<string> {
    return this.#heldBack
  }

  isHeldBack(tenant: string): boolean {
    return this.#heldBack.size > 0 && this.#heldBack.has(tenant)
  }

  holdBack(tenant: string): void {
    this.#heldBack.add(tenant)
    const account = this.#accounts.get(tenant)
    if (account !== undefined) account.isHeldBack = true
  }

  /** The process is within its budget again. */
  releaseAll(): void {
    for (const tenant of this.#heldBack) {
      const account = this.#accounts.get(tenant)
      if (account !== undefined) account.isHeldBack = false
    }
    this.#heldBack.clear()
  }
}
