/** Slows the guessing of passwords down: by account, by network, and by both. */
import { BoundedCache } from '../../bounded-cache.ts'
import type { Clock } from '../../clock.ts'

/**
 * An attempt to log in that may go on. The attempt counts as failed until `succeed` or `forget` is
 * called.
 */
export interface LoginAttempt {
  /** The password was right. */
  succeed(): void | Promise<void>
  /** The password was wrong. */
  fail(): void | Promise<void>
  /** The password was not looked at. */
  forget(): void
}

/** Slows guessing of passwords down. */
export interface LoginThrottle {
  /**
   * Counts an attempt at the account from the network (`networkOf`). Returns `undefined` when the
   * attempt comes too early.
   */
  begin(account: string, network: string): LoginAttempt | undefined | Promise<LoginAttempt | undefined>
}

/** A throttle that answers from memory, at once. */
export interface LocalLoginThrottle extends LoginThrottle {
  begin(account: string, network: string): LocalLoginAttempt | undefined
}

interface LocalLoginAttempt extends LoginAttempt {
  /** The account has logged in from the network before. */
  readonly isAtHome: boolean
  succeed(): void
  fail(): void
}

export interface Rule {
  /** The failures that have no consequence. */
  readonly free: number
  /** The wait after the first failure beyond `free`; the wait doubles with each further failure. */
  readonly firstWaitMs: number
  readonly longestWaitMs: number
}

/** One guesser, one account. */
export const pairRule: Rule = { free: 5, firstWaitMs: 1000, longestWaitMs: 900_000 }
/** Many guessers, one account. The longest wait is short: it locks the owner out too. */
export const accountRule: Rule = { free: 50, firstWaitMs: 1000, longestWaitMs: 60_000 }

/**
 * One guesser, many accounts. A network may fail so often. An office behind one address shares it,
 * so the number is greater than the number for one account.
 */
export const NETWORK_FAILURES = 31
/**
 * How long one failure of a network counts. Beyond its failures a network has one attempt in this
 * time, for all accounts that have not logged in from there: some 2,900 guesses a day. A wait that
 * grows without end would let one guesser lock everybody out who shares its address.
 */
export const NETWORK_FAILURE_MS = 30_000

/** After this time without a failure, the failures are forgotten. */
export const MEMORY_MS = 3_600_000
/**
 * The most entries of each of the four maps, some 150 bytes each. At the bound the entries that
 * were not used lately go.
 */
const MAXIMUM_ENTRIES = 20_000
/**
 * Networks of an account that are remembered, so that one account of an attacker with many networks
 * doesn't push out the networks of others.
 */
const MAXIMUM_NETWORKS_OF_ACCOUNT = 8

interface Entry {
  failures: number
  blockedUntilMs: number
  lastMs: number
}

/** All that the throttle measures are durations. */
type DurationClock = Pick<Clock, 'steady'>

/**
 * A throttle by account, by network, and by both; it forgets with the process.
 *
 * An account that has logged in from a network is at home there. It is judged by its own failures
 * in that network alone. So a guesser elsewhere, or a guesser behind the same address who tries
 * other accounts, doesn't lock it out.
 */
export function createLoginThrottle(clock: DurationClock): LocalLoginThrottle {
  const pairs = createCounter(pairRule, clock)
  const accounts = createCounter(accountRule, clock)
  const networks = createLeakyCounter(clock)
  const homes = createHomes()
  return {
    begin(account, network) {
      const pair = `${network} ${account}`
      if (pairs.isBlocked(pair)) return undefined
      const isAtHome = homes.has(account, network)
      if (!isAtHome && (networks.isBlocked(network) || accounts.isBlocked(account))) return undefined
      // Attempts are counted before the slow comparison, so that a burst of parallel attempts does
      // not get around the bound.
      const taken = isAtHome ? [pairs.add(pair)] : [pairs.add(pair), networks.add(network), accounts.add(account)]
      return {
        isAtHome,
        // It was counted at its begin.
        fail() {},
        succeed() {
          for (const takeBack of taken) takeBack()
          pairs.forget(pair)
          accounts.forget(account)
          homes.add(account, network)
          // The failures of the network stay: a guesser could clear them with an account of its
          // own.
        },
        forget() {
          for (const takeBack of taken) takeBack()
        },
      }
    },
  }
}

/** The networks from which accounts have logged in. */
interface Homes {
  has(account: string, network: string): boolean
  add(account: string, network: string): void
}

function createHomes(): Homes {
  const networksOf = new BoundedCache<Set<string>>(MAXIMUM_ENTRIES)
  return {
    has: (account, network) => networksOf.get(account)?.has(network) === true,
    add(account, network) {
      const networks = networksOf.get(account) ?? new Set()
      // The network is the newest now; the oldest goes.
      networks.delete(network)
      networks.add(network)
      const [oldest] = networks
      if (oldest !== undefined && networks.size > MAXIMUM_NETWORKS_OF_ACCOUNT) networks.delete(oldest)
      networksOf.set(account, networks)
    },
  }
}

type FailureCounter = Pick<Counter, 'isBlocked' | 'add'>

/** Counts the failures of networks. A failure counts less and less, until it counts no more. */
function createLeakyCounter(clock: DurationClock): FailureCounter {
  const entries = new BoundedCache<{ failures: number; atMs: number }>(MAXIMUM_ENTRIES)
  const failuresNow = ({ failures, atMs }: { readonly failures: number; readonly atMs: number }): number =>
    Math.max(failures - (clock.steady() - atMs) / NETWORK_FAILURE_MS, 0)
  return {
    isBlocked(key) {
      const entry = entries.get(key)
      return entry !== undefined && failuresNow(entry) > NETWORK_FAILURES - 1
    },
    add(key) {
      const entry = entries.get(key) ?? { failures: 0, atMs: 0 }
      entry.failures = failuresNow(entry) + 1
      entry.atMs = clock.steady()
      entries.set(key, entry)
      return () => {
        entry.failures = Math.max(entry.failures - 1, 0)
      }
    },
  }
}

/** The wait after so many failures; 0 while they have no consequence. */
export function waitAfter({ free, firstWaitMs, longestWaitMs }: Rule, failures: number): number {
  const beyond = failures - free
  return beyond > 0 ? Math.min(firstWaitMs * 2 ** Math.min(beyond - 1, 30), longestWaitMs) : 0
}

interface Counter {
  isBlocked(key: string): boolean
  /** Counts one failure. The returned function takes the failure back. */
  add(key: string): () => void
  forget(key: string): void
}

function createCounter(rule: Rule, clock: DurationClock): Counter {
  const entries = new BoundedCache<Entry>(MAXIMUM_ENTRIES)
  return {
    isBlocked(key) {
      const entry = entries.get(key)
      return entry !== undefined && clock.steady() < entry.blockedUntilMs
    },
    add(key) {
      const nowMs = clock.steady()
      const known = entries.get(key)
      const entry =
        known === undefined || nowMs - known.lastMs > MEMORY_MS
          ? { failures: 0, blockedUntilMs: 0, lastMs: nowMs }
          : known
      entry.failures += 1
      entry.lastMs = nowMs
      const blockedBefore = entry.blockedUntilMs
      const beyond = entry.failures - rule.free
      if (beyond > 0) entry.blockedUntilMs = nowMs + waitAfter(rule, entry.failures)
      entries.set(key, entry)
      const blockedByThis = entry.blockedUntilMs
      return () => {
        entry.failures -= 1
        if (entry.blockedUntilMs === blockedByThis) entry.blockedUntilMs = blockedBefore
      }
    },
    forget: (key) => entries.delete(key),
  }
}
