/**
 * Bounds on the events that are held back, so that a tenant whose script is slow harms no other
 * tenant.
 */
import { Quarantine } from '../codecs/quarantine.ts'

interface Account {
  messages: number
  bytes: number
}

/** The owner of an event, and the memory that the event takes. */
export interface HeldSize {
  readonly applicationId: string
  /** Empty while the organization is being looked up. All such events share one account. */
  readonly organizationId: string
  readonly payloadBytes: number
  readonly decoderScript: string
}

interface Maximum {
  readonly messages: number
  readonly bytes: number
}

/**
 * Waiting events of an organization, however many applications it has. At the bound, connections
 * that bring more of them wait.
 */
export const MAXIMUM_OF_ORGANIZATION: Maximum = { messages: 4_096, bytes: 16_777_216 }
/**
 * Waiting events of all organizations: half of the bytes that can be in memory between a PUBLISH
 * and its ownership.
 */
const MAXIMUM_IN_ALL: Maximum = { messages: 16_384, bytes: 67_108_864 }
/**
 * An organization may take this part of the room that the others leave. So there is always room for
 * a further organization, however many are slow.
 */
const SHARE_OF_FREE = 0.5

/** Memory that an event takes beside its payload, for objects and places in maps; an estimate. */
const OVERHEAD_BYTES = 1_024
/**
 * Strikes of a late uplink against its application. With three strikes `Quarantine` holds it back:
 * after one late uplink, the application's uplinks no longer wait on a connection that others
 * share.
 */
const STRIKES_OF_APPLICATION = 3
/**
 * Strikes of a late application against its organization, which is held back when three of its
 * applications are late within a minute.
 */
const STRIKES_OF_ORGANIZATION = 1
/**
 * An application counts against its organization once in this time. So one application alone can't
 * make all uplinks of its organization go undecoded.
 */
const COUNTED_ONCE_MS = 60_000

/** The accounts of the events that are held back. */
export class HeldBounds {
  readonly #all: Account = { messages: 0, bytes: 0 }
  readonly #organizations = new Map<string, Account>()
  readonly #lateApplications: Quarantine
  readonly #lateOrganizations: Quarantine
  /**
   * When each application was last counted against its organization, for the last minute, in the
   * order of these times.
   */
  readonly #counted = new Map<string, number>()
  readonly #now: () => number

  /** `now` in milliseconds, from any beginning. */
  constructor(now: () => number) {
    this.#now = now
    this.#lateApplications = new Quarantine(now)
    this.#lateOrganizations = new Quarantine(now)
  }

  get messages(): number {
    return this.#all.messages
  }

  /**
   * True when an event may wait, decoded or not. An organization without waiting events may always
   * have one.
   */
  hasRoom(size: HeldSize): boolean {
    const organization = this.#organizations.get(size.organizationId)
    if (organization === undefined) return true
    const free = {
      messages: MAXIMUM_IN_ALL.messages - this.#all.messages,
      bytes: MAXIMUM_IN_ALL.bytes - this.#all.bytes,
    }
    const { messages, bytes } = MAXIMUM_OF_ORGANIZATION
    return (
      organization.messages < Math.min(messages, free.messages * SHARE_OF_FREE) &&
      organization.bytes + bytesOf(size) <= Math.min(bytes, free.bytes * SHARE_OF_FREE)
    )
  }

  /** Counts an event that waits from now on. */
  take(size: HeldSize): void {
    const bytes = bytesOf(size)
    add(this.#all, 1, bytes)
    enter(this.#organizations, size.organizationId, bytes)
  }

  /**
   * True when an uplink must not wait for its codec: uplinks of the application, or of its
   * organization, were late on a shared connection, and more of its events wait now than its part
   * of this connection's room.
   */
  isTooSlow(size: HeldSize, room: number): boolean {
    return this.#isOftenLate(size) && (this.#organizations.get(size.organizationId)?.messages ?? 0) >= room
  }

  /** Uncounts an event that has gone on. */
  release(size: HeldSize): void {
    const bytes = bytesOf(size)
    add(this.#all, -1, -bytes)
    leave(this.#organizations, size.organizationId, bytes)
  }

  /**
   * Notes that decoding took too long for a connection that several organizations share. From now
   * on uplinks of the application take only a part of such a connection: for 10 s at first, then
   * for 20 s, up to 5 minutes, or until the script is changed. True when this was not so before.
   */
  late(size: HeldSize): boolean {
    const { applicationId, organizationId, decoderScript } = size
    // Without an organization it was the registry that was slow, and not a script.
    if (organizationId === '' || this.#isOftenLate(size)) return false
    this.#lateApplications.strike(applicationId, decoderScript, STRIKES_OF_APPLICATION)
    if (this.#counts(applicationId)) this.#lateOrganizations.strike(organizationId, '', STRIKES_OF_ORGANIZATION)
    return true
  }

  #counts(applicationId: string): boolean {
    const nowMs = this.#now()
    for (const [counted, countedMs] of this.#counted) {
      if (nowMs - countedMs <= COUNTED_ONCE_MS) break
      this.#counted.delete(counted)
    }
    if (this.#counted.has(applicationId)) return false
    this.#counted.set(applicationId, nowMs)
    return true
  }

  #isOftenLate({ applicationId, organizationId, decoderScript }: HeldSize): boolean {
    if (organizationId === '') return false
    const heldMs = this.#lateApplications.heldMs(applicationId, decoderScript)
    return heldMs > 0 || this.#lateOrganizations.heldMs(organizationId, '') > 0
  }
}

function bytesOf({ payloadBytes }: HeldSize): number {
  return payloadBytes + OVERHEAD_BYTES
}

function add(account: Account, messages: number, bytes: number): void {
  account.messages += messages
  account.bytes += bytes
}

function enter(accounts: Map<string, Account>, key: string, bytes: number): void {
  const account = accounts.get(key)
  if (account === undefined) accounts.set(key, { messages: 1, bytes })
  else add(account, 1, bytes)
}

function leave(accounts: Map<string, Account>, key: string, bytes: number): void {
  const account = accounts.get(key)
  if (account === undefined) return
  add(account, -1, -bytes)
  if (account.messages === 0) accounts.delete(key)
}
