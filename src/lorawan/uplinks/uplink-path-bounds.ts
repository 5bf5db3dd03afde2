/** How many events may be held back, so that a tenant whose script is slow harms nobody else. */
import { Quarantine } from '../codecs/quarantine.ts'

interface Account {
  messages: number
  bytes: number
}

/** Whose an event is, and what it takes. */
export interface HeldSize {
  readonly applicationId: string
  /** Empty while it is being looked up: these share one account. */
  readonly organizationId: string
  readonly payloadBytes: number
  readonly decoderScript: string
}

interface Maximum {
  readonly messages: number
  readonly bytes: number
}

/**
 * Events that wait of one organization, however many applications it makes. Beyond it the
 * connections that bring more wait.
 */
export const MAXIMUM_OF_ORGANIZATION: Maximum = { messages: 4_096, bytes: 16_777_216 }
/** In all: half of what can be in memory between a PUBLISH and its ownership. */
const MAXIMUM_IN_ALL: Maximum = { messages: 16_384, bytes: 67_108_864 }
/**
 * What one organization may have of what the others leave: so there is always room for one more,
 * however many are slow.
 */
const SHARE_OF_FREE = 0.5

/** Objects and places in maps that an event takes beside its payload, about. */
const OVERHEAD_BYTES = 1_024
/**
 * An application whose script was late is not waited for at once, an organization with the third of
 * its applications within a minute.
 */
const STRIKES_OF_APPLICATION = 3
const STRIKES_OF_ORGANIZATION = 1
/**
 * An application counts once in this time: alone it does not let its organization's others go
 * undecoded.
 */
const COUNTED_ONCE_MS = 60_000

/** Accounts of what is held back. */
export class HeldBounds {
  readonly #all: Account = { messages: 0, bytes: 0 }
  readonly #organizations = new Map<string, Account>()
  readonly #lateApplications: Quarantine
  readonly #lateOrganizations: Quarantine
  /**
   * When each application was last counted against its organization; those of the last minute,
   * first come first.
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
   * True when an event may wait, decoded or not. One of an organization of which nothing waits
   * always may.
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

  /** An event waits from now on. */
  take(size: HeldSize): void {
    const bytes = bytesOf(size)
    add(this.#all, 1, bytes)
    enter(this.#organizations, size.organizationId, bytes)
  }

  /**
   * True when uplinks of the application, or of its organization, were late on a connection that
   * others share, and it has more than its part of this one now: more events wait of it than the
   * connection has room for.
   */
  isTooSlow(size: HeldSize, room: number): boolean {
    return this.#isOftenLate(size) && (this.#organizations.get(size.organizationId)?.messages ?? 0) >= room
  }

  /** What was taken has gone on. */
  release(size: HeldSize): void {
    const bytes = bytesOf(size)
    add(this.#all, -1, -bytes)
    leave(this.#organizations, size.organizationId, bytes)
  }

  /**
   * Decoding took too long for a connection that several organizations share: for 10 s the
   * application's uplinks take no more than a part of such a connection, then for 20 s, up to 5
   * minutes, until its script is changed. True when it was not so before.
   */
  late(size: HeldSize): boolean {
    const { applicationId, organizationId, decoderScript } = size
    // Then it was the registry that was slow.
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
