/** How many events may be held back, so that a tenant whose script is slow harms nobody else. */

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
}

interface Maximum {
  readonly messages: number
  readonly bytes: number
}

/** Of one application: a second of uplinks at 2,000 a second. */
export const MAXIMUM_OF_APPLICATION = 2_048
/** Of one organization, however many applications it makes; a quarter of all, so that one that is slow leaves room. */
export const MAXIMUM_OF_ORGANIZATION: Maximum = { messages: 4_096, bytes: 16_777_216 }
/** In all: what can be in memory between a PUBLISH and its ownership. */
export const MAXIMUM_IN_ALL: Maximum = { messages: 16_384, bytes: 67_108_864 }

/** Objects and places in maps that an event takes beside its payload, about. */
const OVERHEAD_BYTES = 1_024

/** Accounts of what is held back. */
export class HeldBounds {
  readonly #all: Account = { messages: 0, bytes: 0 }
  readonly #organizations = new Map<string, Account>()
  readonly #applications = new Map<string, Account>()
  /** Of applications that were late: what they may have held back now. At most the applications of the deployment. */
  readonly #allowances = new Map<string, number>()

  get messages(): number {
    return this.#all.messages
  }

  /**
   * Takes an event into account; false at a bound. `room` is how many unacknowledged messages its connection has left: an
   * organization gets no more of them than it leaves, so that however many are slow, one more still has some.
   */
  take(size: HeldSize, room: number): boolean {
    const bytes = size.payloadBytes + OVERHEAD_BYTES
    const application = accountOf(this.#applications, size.applicationId)
    const organization = accountOf(this.#organizations, size.organizationId)
    const allowed = this.#allowances.get(size.applicationId) ?? MAXIMUM_OF_APPLICATION
    const isWithin =
      application.messages < allowed &&
      organization.messages < room &&
      fits(organization, bytes, MAXIMUM_OF_ORGANIZATION) &&
      fits(this.#all, bytes, MAXIMUM_IN_ALL)
    if (!isWithin) return false
    this.#applications.set(size.applicationId, application)
    this.#organizations.set(size.organizationId, organization)
    for (const account of [application, organization, this.#all]) add(account, 1, bytes)
    return true
  }

  /** What was taken has gone on. */
  release(size: HeldSize): void {
    const bytes = size.payloadBytes + OVERHEAD_BYTES
    add(this.#all, -1, -bytes)
    leave(this.#applications, size.applicationId, bytes)
    leave(this.#organizations, size.organizationId, bytes)
  }

  /**
   * Decoding took too long: the application may have one event held back at a time, and twice as many with each that is in
   * time. A client that sends no more than a few messages before they are acknowledged would wait for each. True when it was not late before.
   */
  late(applicationId: string): boolean {
    const isNew = !this.#allowances.has(applicationId)
    this.#allowances.set(applicationId, 1)
    return isNew
  }

  inTime(applicationId: string): void {
    const allowance = this.#allowances.get(applicationId)
    if (allowance === undefined) return
    if (allowance * 2 >= MAXIMUM_OF_APPLICATION) this.#allowances.delete(applicationId)
    else this.#allowances.set(applicationId, allowance * 2)
  }

  /** Its codec has changed, or it is gone. */
  forgive(applicationId: string): void {
    this.#allowances.delete(applicationId)
  }
}

function accountOf(accounts: ReadonlyMap<string, Account>, key: string): Account {
  return accounts.get(key) ?? { messages: 0, bytes: 0 }
}

function fits({ messages, bytes }: Account, more: number, maximum: Maximum): boolean {
  return messages < maximum.messages && bytes + more <= maximum.bytes
}

function add(account: Account, messages: number, bytes: number): void {
  account.messages += messages
  account.bytes += bytes
}

function leave(accounts: Map<string, Account>, key: string, bytes: number): void {
  const account = accounts.get(key)
  if (account === undefined) return
  add(account, -1, -bytes)
  if (account.messages === 0) accounts.delete(key)
}
