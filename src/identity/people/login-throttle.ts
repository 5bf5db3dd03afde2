/** Slows the guessing of passwords down: by account, by address, and by both. */
import { isIPv6 } from 'node:net'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Clock } from '../../clock.ts'

/**
 * An attempt to log in that may go on. The attempt counts as failed until `succeed` or `forget` is
 * called.
 */
interface LoginAttempt {
  /** The password was right. */
  succeed(): void
  /** The password was not looked at. */
  forget(): void
}

/** Slows guessing of passwords down. */
export interface LoginThrottle {
  /**
   * Counts an attempt at the account from the address. Returns `undefined` when the attempt comes
   * too early.
   */
  begin(account: string, address: string): LoginAttempt | undefined
}

interface Rule {
  /** The failures that have no consequence. */
  readonly free: number
  /** The wait after the first failure beyond `free`; the wait doubles with each further failure. */
  readonly firstWaitMs: number
  readonly longestWaitMs: number
}

/** One guesser, one account. */
const pairRule: Rule = { free: 5, firstWaitMs: 1000, longestWaitMs: 900_000 }
/** One guesser, many accounts. An office behind one address shares it, so it takes more. */
const addressRule: Rule = { free: 30, firstWaitMs: 1000, longestWaitMs: 900_000 }
/** Many guessers, one account. The longest wait is short: it locks the owner out too. */
const accountRule: Rule = { free: 50, firstWaitMs: 1000, longestWaitMs: 60_000 }

/** After this time without a failure, the failures are forgotten. */
const MEMORY_MS = 3_600_000
/**
 * The most entries of each of the three maps, some 150 bytes each. At the bound the entries with
 * the oldest failures go.
 */
const MAXIMUM_ENTRIES = 20_000

interface Entry {
  failures: number
  blockedUntilMs: number
  lastMs: number
}

/** All that the throttle measures are durations. */
type DurationClock = Pick<Clock, 'steady'>

/**
 * A throttle by account, by address, and by both, with exponential waits; it forgets with the
 * process.
 */
export function createLoginThrottle(clock: DurationClock): LoginThrottle {
  const pairs = createCounter(pairRule, clock)
  const addresses = createCounter(addressRule, clock)
  const accounts = createCounter(accountRule, clock)
  return {
    begin(account, address) {
      const network = networkOf(address)
      const pair = `${network} ${account}`
      if (pairs.isBlocked(pair) || addresses.isBlocked(network) || accounts.isBlocked(account)) return undefined
      // Attempts are counted before the slow comparison, so that a burst of parallel attempts does
      // not get around the bound.
      const taken = [pairs.add(pair), addresses.add(network), accounts.add(account)]
      return {
        succeed() {
          for (const takeBack of taken) takeBack()
          pairs.forget(pair)
          accounts.forget(account)
          // The failures of the address stay: its owner could clear them with an account of its
          // own.
        },
        forget() {
          for (const takeBack of taken) takeBack()
        },
      }
    },
  }
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
      if (beyond > 0) {
        entry.blockedUntilMs = nowMs + Math.min(rule.firstWaitMs * 2 ** Math.min(beyond - 1, 30), rule.longestWaitMs)
      }
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

/**
 * The network of one guesser: an IPv4 address, or the first 64 bits of an IPv6 address, which every
 * customer has for itself.
 */
function networkOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address.slice(0, 64)
  const [head = '', tail] = address.toLowerCase().split('%')[0]?.split('::') ?? []
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : Math.max(8 - groups.length - rest.length, 0)
  return [...groups, ...Array.from({ length: missing }, () => '0'), ...rest]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
