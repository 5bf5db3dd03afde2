/**
 * The requests of each payer: how many in a second, and how many at the same time. A payer is the
 * organization, the person or the network to which a request counts. So one of them can't take the
 * time and the memory that the requests of others need.
 */
import { BoundedCache } from '../../bounded-cache.ts'
import { later } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { OrganizationUsage } from '../../organization-bounds.ts'

/** To whom a request counts. */
export interface Payer {
  /**
   * `organization`: requests about an organization. `networkServer`: events that a network server
   * of the organization posts. `person` and `globalAdmin`: requests of a person that are about no
   * organization. `network`: requests without a good credential, by the network of the client.
   */
  readonly kind: 'organization' | 'networkServer' | 'person' | 'globalAdmin' | 'network'
  /** The id of the organization or of the person, or the network as `networkOf` gives it. */
  readonly id: string
}

/** The answer to a request: it may go on, or it is over a bound. */
export type Admission =
  | {
      readonly isAdmitted: true
      /** Must be called once, when the request's work is done and its answer has gone out. */
      readonly release: () => void
    }
  | { readonly isAdmitted: false; readonly sentence: string; readonly retryAfterSeconds: number }

/** Requests of a payer in a second, on average over ten seconds; Infinity for no bound. */
export type RequestRates = Readonly<Record<Payer['kind'], (id: string) => number>>

/** The average of a rate: a payer that was quiet may send the requests of ten seconds at once. */
const BURST_SECONDS = 10
/**
 * How long a request over the rate waits. A program that sends one request after the other is so
 * slowed down to its rate, and never refused.
 */
const LONGEST_WAIT_MS = 1000
/**
 * How long a refusal waits: a client that tries again at once would cost as much as its requests.
 */
const REFUSAL_WAIT_MS = 1000
/** Refusals of one payer, and of all payers, that wait; further ones are answered at once. */
const MAXIMUM_WAITING_REFUSALS = 64
const MAXIMUM_WAITING_REFUSALS_IN_ALL = 1024
/**
 * Requests of one payer that wait or are worked on, or whose answers are not read yet. Each holds a
 * body or an answer of up to 1 MiB.
 */
const MAXIMUM_UNDER_WAY = 64
/** The same of all payers together. */
const MAXIMUM_UNDER_WAY_IN_ALL = 1024
/** Requests at the same time that a payer has even then: others must not take them from it. */
const GUARANTEED_UNDER_WAY = 4
/** Payers that are remembered, some 200 bytes each: the longest idle are forgotten. */
const MAXIMUM_PAYERS = 20_000

interface Account {
  /** Below zero by the requests that wait. */
  tokens: number
  refilledAt: SteadyMs
  underWay: number
  waitingRefusals: number
  /** The requests of the ten seconds since `countedSince`, and of the ten seconds before. */
  count: number
  countBefore: number
  countedSince: SteadyMs
}

/** The shares of all payers. */
export class RequestShares {
  readonly #clock: Pick<Clock, 'steady' | 'after'>
  readonly #rates: RequestRates
  readonly #accounts = new BoundedCache<Account>(MAXIMUM_PAYERS)
  #underWay = 0
  #waitingRefusals = 0

  constructor(clock: Pick<Clock, 'steady' | 'after'>, rates: RequestRates) {
    this.#clock = clock
    this.#rates = rates
  }

  /**
   * Admits a request of the payer, after a wait of at most a second where the payer is over its
   * rate. A refusal comes a second later, too.
   */
  async enter(payer: Payer): Promise<Admission> {
    const account = this.#accountOf(payer)
    const isFull = this.#underWay >= MAXIMUM_UNDER_WAY_IN_ALL && account.underWay >= GUARANTEED_UNDER_WAY
    if (isFull || account.underWay >= MAXIMUM_UNDER_WAY) {
      return this.#refuse(account, `too many requests at the same time: at most ${MAXIMUM_UNDER_WAY} may be under way`)
    }
    const waitMs = this.#waitOf(payer, account)
    if (waitMs > LONGEST_WAIT_MS) {
      const rate = this.#rates[payer.kind](payer.id)
      return this.#refuse(account, `too many requests: at most ${rate} in a second, on average over ten seconds`)
    }
    account.tokens -= 1
    this.#count(account)
    account.underWay += 1
    this.#underWay += 1
    if (waitMs > 0) await this.#sleep(waitMs)
    const release = (): void => {
      account.underWay -= 1
      this.#underWay -= 1
    }
    return { isAdmitted: true, release }
  }

  /**
   * Counts a request that is refused for another reason, or that may not be refused. Waits up to a
   * second where the payer is over its rate. The number of waiting requests is bounded by the
   * connections alone.
   */
  async slowDown(payer: Payer): Promise<void> {
    const account = this.#accountOf(payer)
    const waitMs = Math.min(this.#waitOf(payer, account), LONGEST_WAIT_MS)
    if (waitMs < LONGEST_WAIT_MS) account.tokens -= 1
    if (waitMs > 0) await this.#sleep(waitMs)
  }

  /** The present use of the organization's bound. */
  usageOf(organizationId: string): OrganizationUsage {
    return { httpRequestsPerSecond: this.requestsPerSecondOf(organizationId) }
  }

  /** The organizations that are remembered; at most `MAXIMUM_PAYERS`. */
  *organizations(): Generator<string> {
    for (const key of this.#accounts.keys()) if (key.startsWith(ORGANIZATION)) yield key.slice(ORGANIZATION.length)
  }

  /** The requests of the organization in a second at present, on average over ten seconds. */
  requestsPerSecondOf(organizationId: string): number {
    const account = this.#accounts.get(keyOf({ kind: 'organization', id: organizationId }))
    if (account === undefined) return 0
    this.#turnCount(account)
    const share = (this.#clock.steady() - account.countedSince) / COUNT_MS
    return (account.countBefore * (1 - share) + account.count) / BURST_SECONDS
  }

  #accountOf(payer: Payer): Account {
    const key = keyOf(payer)
    const known = this.#accounts.get(key)
    if (known !== undefined) return known
    const now = this.#clock.steady()
    const tokens = this.#rates[payer.kind](payer.id) * BURST_SECONDS
    const underWay = { underWay: 0, waitingRefusals: 0 }
    const account = { tokens, refilledAt: now, ...underWay, count: 0, countBefore: 0, countedSince: now }
    this.#accounts.set(key, account)
    return account
  }

  /** How long the next request has to wait. Fills the account up before. */
  #waitOf({ kind, id }: Payer, account: Account): number {
    const rate = this.#rates[kind](id)
    if (rate === Infinity) return 0
    const now = this.#clock.steady()
    const filled = account.tokens + ((now - account.refilledAt) / 1000) * rate
    account.tokens = Math.min(filled, rate * BURST_SECONDS)
    account.refilledAt = now
    return account.tokens >= 1 ? 0 : ((1 - account.tokens) / rate) * 1000
  }

  async #refuse(account: Account, sentence: string): Promise<Admission> {
    const mayWait = account.waitingRefusals < MAXIMUM_WAITING_REFUSALS
    if (mayWait && this.#waitingRefusals < MAXIMUM_WAITING_REFUSALS_IN_ALL) {
      account.waitingRefusals += 1
      this.#waitingRefusals += 1
      await this.#sleep(REFUSAL_WAIT_MS)
      account.waitingRefusals -= 1
      this.#waitingRefusals -= 1
    }
    return { isAdmitted: false, sentence, retryAfterSeconds: LONGEST_WAIT_MS / 1000 }
  }

  #count(account: Account): void {
    this.#turnCount(account)
    account.count += 1
  }

  #turnCount(account: Account): void {
    const elapsedMs = this.#clock.steady() - account.countedSince
    if (elapsedMs < COUNT_MS) return
    account.countBefore = elapsedMs < 2 * COUNT_MS ? account.count : 0
    account.count = 0
    account.countedSince = later(account.countedSince, Math.floor(elapsedMs / COUNT_MS) * COUNT_MS)
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve))
  }
}

const COUNT_MS = BURST_SECONDS * 1000

/** The beginning of the keys of organizations. */
const ORGANIZATION = keyOf({ kind: 'organization', id: '' })

/** The payer as one text. */
export function keyOf({ kind, id }: Payer): string {
  return `${kind} ${id}`
}
