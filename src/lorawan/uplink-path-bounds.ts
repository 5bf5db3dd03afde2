/** How many events may be held back, so that a tenant whose script is slow harms nobody else. */
import { Quarantine } from './codecs/quarantine.ts'

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

/** Why an uplink is not decoded: so many events wait, or those before it did for too long. */
export type NotDecoded = 'busy' | 'often_late'

interface Maximum {
  readonly messages: number
  readonly bytes: number
}

/** While so many events of one application wait no more uplinks are decoded; it is a second of them at 2,000 a second. */
export const MAXIMUM_OF_APPLICATION = 2_048
/** Of one organization, however many applications it makes; a quarter of all, so that one that is slow leaves room. */
export const MAXIMUM_OF_ORGANIZATION: Maximum = { messages: 4_096, bytes: 16_777_216 }
/** In all: half of what can be in memory between a PUBLISH and its ownership. */
export const MAXIMUM_IN_ALL: Maximum = { messages: 16_384, bytes: 67_108_864 }

/** An uplink that is not decoded waits for those of its device that are; up to this multiple of the bounds above. */
const WAITING_FACTOR = 2
/** Objects and places in maps that an event takes beside its payload, about. */
const OVERHEAD_BYTES = 1_024
/** An application whose script was late is not waited for at once, an organization with the third of its applications within a minute. */
const STRIKES_OF_APPLICATION = 3
const STRIKES_OF_ORGANIZATION = 1
/** An application counts once in this time: alone it does not let its organization's others go undecoded. */
const COUNTED_ONCE_MS = 60_000

/** Accounts of what is held back. */
export class HeldBounds {
  readonly #all: Account = { messages: 0, bytes: 0 }
  readonly #organizations = new Map<string, Account>()
  readonly #applications = new Map<string, Account>()
  readonly #lateApplications: Quarantine
  readonly #lateOrganizations: Quarantine
  /** When each application was last counted against its organization; those of the last minute, first come first. */
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
   * Why an uplink may not be decoded now. `room` is how many unacknowledged messages its connection has left: an
   * organization gets no more of them than it leaves, so that however many are slow, one more still has some.
   */
  refusal(size: HeldSize, room: number): NotDecoded | undefined {
    if (this.#isOftenLate(size)) return 'often_late'
    return this.#fits(size, room, 1) ? undefined : 'busy'
  }

  /** Takes an event into account that waits, decoded or not; false at a bound. */
  take(size: HeldSize, room: number): boolean {
    if (!this.#fits(size, room, WAITING_FACTOR)) return false
    const bytes = bytesOf(size)
    add(this.#all, 1, bytes)
    enter(this.#applications, size.applicationId, bytes)
    enter(this.#organizations, size.organizationId, bytes)
    return true
  }

  /** What was taken has gone on. */
  release(size: HeldSize): void {
    const bytes = bytesOf(size)
    add(this.#all, -1, -bytes)
    leave(this.#applications, size.applicationId, bytes)
    leave(this.#organizations, size.organizationId, bytes)
  }

  /**
   * Decoding took too long: for 10 s the application's events are not held back, then for 20 s, up to 5 minutes, until its script is
   * changed. Network servers that acknowledge in order, or send few messages before they are acknowledged, wait for each that is late.
   * True when it was not so before.
   */
  late(size: HeldSize): boolean {
    const { applicationId, organizationId, decoderScript } = size
    // Then it was the registry that was slow.
    if (organizationId === '' || this.#isOftenLate(size)) return false
    this.#lateApplications.strike(applicationId, decoderScript, STRIKES_OF_APPLICATION)
    if (this.#counts(applicationId)) this.#lateOrganizations.strike(organizationId, '', STRIKES_OF_ORGANIZATION)
    return true
  }

  #fits(size: HeldSize, room: number, factor: number): boolean {
    const application = this.#applications.get(size.applicationId) ?? NOTHING
    const organization = this.#organizations.get(size.organizationId) ?? NOTHING
    const bytes = bytesOf(size)
    return (
      application.messages < factor * MAXIMUM_OF_APPLICATION &&
      organization.messages < factor * room &&
      hasRoom(organization, bytes, MAXIMUM_OF_ORGANIZATION, factor) &&
      hasRoom(this.#all, bytes, MAXIMUM_IN_ALL, factor)
    )
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

const NOTHING: Account = { messages: 0, bytes: 0 }

function bytesOf({ payloadBytes }: HeldSize): number {
  return payloadBytes + OVERHEAD_BYTES
}

function hasRoom({ messages, bytes }: Account, more: number, maximum: Maximum, factor: number): boolean {
  return messages < factor * maximum.messages && bytes + more <= factor * maximum.bytes
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
