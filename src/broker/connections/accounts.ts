/**
 * The accounts that pay for work: each tenant has one, and so has each network server of the whole
 * deployment. An account has a share of each turn of the event loop, and bounds on what all its
 * connections together may do within a second.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { TurnShare } from '../delivery/turn-shares.ts'
import type { TurnShares } from '../delivery/turn-shares.ts'
import type { Counters } from '../ports/counters.ts'
import type { TenantLimits, TenantLimitsOf } from '../ports/limits.ts'
import { RecentRate } from './recent-rate.ts'

/**
 * A rate of CONNECTs is an average over so many seconds: a site's clients may come back at once.
 */
const BURST_SECONDS = 10
/**
 * The part of a second whose publishes and bytes an account may send at once. Beyond it the account
 * goes on in small portions: read at once, the publishes of a whole second would hold up others.
 */
const BURST_SHARE = 0.1
/**
 * An account with a low bound may send so much at once, or as much as in a second if that is less.
 */
const LEAST_BURST_PUBLISHES = 100
const LEAST_BURST_BYTES = 65_536
/** Accounts beyond a rate go on after this time, ms. */
const PORTION_MS = 10
/**
 * Seconds for which an account without a connection is remembered. A storm of short connections
 * would have no past otherwise.
 */
const REMEMBERED_SECONDS = 60
/** An account beyond a bound is logged once in this time: it may be beyond it in each second. */
const TOLD_SECONDS = 60

/** The present use of one tenant's bounds. */
export interface AccountUsage {
  readonly connectsPerSecond: number
  readonly publishesPerSecond: number
  readonly publishedBytesPerSecond: number
}

const NO_USAGE: AccountUsage = { connectsPerSecond: 0, publishesPerSecond: 0, publishedBytesPerSecond: 0 }

/** The bounds of an account that are rates. */
type RateLimits = Pick<
  TenantLimits,
  'maximumPublishesPerSecondPerTenant' | 'maximumPublishedBytesPerSecondPerTenant' | 'maximumConnectsPerSecondPerTenant'
>

export interface AccountsOptions {
  readonly clock: Clock
  readonly tenantLimits: TenantLimitsOf
  readonly turns: TurnShares
  readonly log: Logger
  readonly counters: Counters
}

export class Account {
  readonly name: string
  /** The account's share of the turns for reading its connections. */
  readonly reading = new TurnShare()
  /** The share for writing to them. Nothing that is read waits for it, and it is never parked. */
  readonly writing = new TurnShare()
  /** Live connections that pay here. */
  connections = 0
  /** The last second in which a connection came or went. */
  usedAtSecond = 0
  /** The bounds, as they were when the present second began. */
  limits: RateLimits
  /** True when the connections sent something in the present second. */
  isActive = false
  /** True when the account was beyond a rate in the present second. */
  isOverRate = false
  /** PUBLISH packets and bytes of the present second. */
  publishes = 0
  bytes = 0
  /** PUBLISH packets and bytes that may still come before the account waits. */
  publishTokens: number
  byteTokens: number
  sendTokensAt: SteadyMs
  readonly connectRate = new RecentRate()
  readonly publishRate = new RecentRate()
  readonly byteRate = new RecentRate()
  /** The CONNECTs that may come at once. They grow by the bound in each second. */
  connectTokens: number
  tokensAt: SteadyMs
  /** The last second in which the account was logged, by the log's message. */
  readonly toldAt = new Map<string, number>()

  constructor(name: string, limits: RateLimits, now: SteadyMs) {
    this.name = name
    this.limits = limits
    this.connectTokens = limits.maximumConnectsPerSecondPerTenant * BURST_SECONDS
    this.tokensAt = now
    this.publishTokens = burstOf(limits.maximumPublishesPerSecondPerTenant, LEAST_BURST_PUBLISHES)
    this.byteTokens = burstOf(limits.maximumPublishedBytesPerSecondPerTenant, LEAST_BURST_BYTES)
    this.sendTokensAt = now
  }

  /** True while the account is within its rates of publishes and bytes. */
  get isWithinRates(): boolean {
    return this.publishTokens > 0 && this.byteTokens > 0
  }

  /** Lets the account send what has grown since the last call. */
  grow(now: SteadyMs): void {
    const seconds = (now - this.sendTokensAt) / 1000
    this.sendTokensAt = now
    const { maximumPublishesPerSecondPerTenant, maximumPublishedBytesPerSecondPerTenant } = this.limits
    this.publishTokens = afterGrowth(
      this.publishTokens,
      seconds,
      maximumPublishesPerSecondPerTenant,
      LEAST_BURST_PUBLISHES,
    )
    this.byteTokens = afterGrowth(this.byteTokens, seconds, maximumPublishedBytesPerSecondPerTenant, LEAST_BURST_BYTES)
  }
}

/** The number or the bytes that an account may send at once. */
function burstOf(perSecond: number, least: number): number {
  return Math.min(perSecond, Math.max(perSecond * BURST_SHARE, least))
}

/** A single large packet is paid for within a second, however low the rate is. */
function afterGrowth(tokens: number, seconds: number, perSecond: number, least: number): number {
  if (perSecond === Infinity) return Infinity
  return Math.min(burstOf(perSecond, least), Math.max(tokens, -perSecond) + seconds * perSecond)
}

/**
 * Before CONNECT is accepted nobody is known: nothing but turns bounds these connections together.
 */
const UNBOUNDED: RateLimits = {
  maximumPublishesPerSecondPerTenant: Infinity,
  maximumPublishedBytesPerSecondPerTenant: Infinity,
  maximumConnectsPerSecondPerTenant: Infinity,
}

export class Accounts {
  /** Pays for all connections whose CONNECT is not accepted yet. */
  readonly nobody = new Account('', UNBOUNDED, 0 as SteadyMs)
  readonly turns: TurnShares
  readonly #clock: Clock
  readonly #tenantLimits: TenantLimitsOf
  readonly #log: Logger
  readonly #counters: Counters
  readonly #accounts = new Map<string, Account>()
  /** The accounts that sent something in the present second. */
  #active: Account[] = []
  /** The accounts beyond a rate: none of their connections is read. */
  readonly #parked = new Set<Account>()
  #isPortionPlanned = false
  #second = 0

  constructor({ clock, tenantLimits, turns, log, counters }: AccountsOptions) {
    this.#clock = clock
    this.#tenantLimits = tenantLimits
    this.turns = turns
    this.#log = log
    this.#counters = counters
  }

  /** The number of accounts that are remembered. */
  get size(): number {
    return this.#accounts.size
  }

  /** The present use of the account, on average over the last seconds. */
  usageOf(name: string): AccountUsage {
    const account = this.#accounts.get(name)
    if (account === undefined) return NO_USAGE
    return {
      connectsPerSecond: account.connectRate.perSecond(this.#second),
      publishesPerSecond: account.publishRate.perSecond(this.#second),
      publishedBytesPerSecond: account.byteRate.perSecond(this.#second),
    }
  }

  /**
   * Counts a CONNECT that was authenticated. A sentence: the account has had too many of them, and
   * this one is to be refused.
   */
  whyTooManyConnects(name: string, now: SteadyMs): string | undefined {
    const account = this.#of(name, now)
    const perSecond = this.#tenantLimits(name).maximumConnectsPerSecondPerTenant
    if (perSecond !== Infinity) {
      const grown = account.connectTokens + ((now - account.tokensAt) / 1000) * perSecond
      account.connectTokens = Math.min(perSecond * BURST_SECONDS, grown)
      account.tokensAt = now
      if (account.connectTokens < 1) {
        this.#tell(account, 'connect.over_rate')
        return `more than ${perSecond} connections a second, on average over ${BURST_SECONDS} seconds`
      }
      account.connectTokens -= 1
    }
    account.connectRate.add(this.#second, 1)
    return undefined
  }

  /** A connection pays by this account from now on; `leave` follows once. */
  join(name: string, now: SteadyMs): Account {
    const account = this.#of(name, now)
    account.connections += 1
    return account
  }

  leave(account: Account): void {
    account.connections -= 1
    account.usedAtSecond = this.#second
  }

  /** Counts bytes that a connection of the account has sent. */
  received(account: Account, bytes: number): void {
    account.bytes += bytes
    account.byteTokens -= bytes
    this.#sent(account)
  }

  /** Counts PUBLISH packets that were read of a connection of the account. */
  published(account: Account, publishes: number): void {
    account.publishes += publishes
    account.publishTokens -= publishes
    this.#sent(account)
  }

  /** A second has passed. */
  tick(): void {
    // A tick is called by a timer: it begins a turn of its own.
    this.turns.turn += 1
    const active = this.#active
    this.#active = []
    for (const account of active) {
      account.isActive = false
      account.isOverRate = false
      account.publishRate.add(this.#second, account.publishes)
      account.byteRate.add(this.#second, account.bytes)
      account.publishes = 0
      account.bytes = 0
      account.limits = account === this.nobody ? UNBOUNDED : this.#tenantLimits(account.name)
      // The bounds may have become lower.
      account.grow(this.#clock.steady())
    }
    this.#second += 1
    this.#readOn()
    for (const account of this.#accounts.values()) {
      const isIdle = account.connections === 0 && this.#second - account.usedAtSecond > REMEMBERED_SECONDS
      if (isIdle) this.#accounts.delete(account.name)
    }
  }

  #of(name: string, now: SteadyMs): Account {
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = new Account(name, this.#tenantLimits(name), now)
      this.#accounts.set(name, account)
    }
    account.usedAtSecond = this.#second
    return account
  }

  #sent(account: Account): void {
    if (!account.isActive) {
      account.isActive = true
      this.#active.push(account)
    }
    if (account.isWithinRates || account.reading.isParked) return
    account.grow(this.#clock.steady())
    if (account.isWithinRates) return
    if (!account.isOverRate) this.#counters.secondsOverRate += 1
    account.isOverRate = true
    this.turns.park(account.reading)
    this.#parked.add(account)
    this.#planPortion()
    this.#tell(account, 'publish.over_rate')
  }

  #planPortion(): void {
    if (this.#isPortionPlanned) return
    this.#isPortionPlanned = true
    this.#clock.after(PORTION_MS, () => {
      this.#isPortionPlanned = false
      // A timer begins a turn of its own.
      this.turns.turn += 1
      this.#readOn()
      if (this.#parked.size > 0) this.#planPortion()
    })
  }

  /** Accounts that have waited long enough are read again. */
  #readOn(): void {
    const now = this.#clock.steady()
    for (const account of this.#parked) {
      account.grow(now)
      if (!account.isWithinRates) continue
      this.#parked.delete(account)
      this.turns.unpark(account.reading)
    }
  }

  #tell(account: Account, message: string): void {
    const toldAt = account.toldAt.get(message)
    if (toldAt !== undefined && this.#second - toldAt < TOLD_SECONDS) return
    account.toldAt.set(message, this.#second)
    const { name, limits, publishes, bytes } = account
    this.#log.warn({ tenant: name, publishes, bytes, limits: { ...limits } }, message)
  }
}
