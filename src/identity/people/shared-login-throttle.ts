/** The throttle of logins for several processes that share a registry. */
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import {
  accountRule,
  createLoginThrottle,
  MEMORY_MS,
  NETWORK_FAILURE_MS,
  NETWORK_FAILURES,
  pairRule,
  waitAfter,
} from './login-throttle.ts'
import type { LoginThrottle, Rule } from './login-throttle.ts'

/**
 * Rows that are kept at most, three for a failure. A failure costs a hash of argon2, so a flood
 * does not bring many more between two calls of `prune`.
 */
const MAXIMUM_ROWS = 300_000

type Row = Pick<Selectable<Schema['login_failures']>, 'failures' | 'blocked_until_at' | 'last_at'>

/**
 * A throttle with the rules of `createLoginThrottle`, whose failures are rows in the store: several
 * processes count together. Attempts under way, and the networks at which an account is at home,
 * are known to their own process alone. A login that succeeds writes nothing, unless there are
 * failures to forget. Durations are differences of the clocks of the processes.
 */
export function createSharedLoginThrottle(store: Store): LoginThrottle & { prune(): Promise<void> } {
  const { db, clock } = store
  const local = createLoginThrottle(clock)
  return {
    async begin(account, network) {
      const attempt = local.begin(account, network)
      if (attempt === undefined) return undefined
      const keys = keysOf(account, network)
      let rows: ReadonlyMap<string, Row>
      try {
        rows = await read(db, [keys.pair, keys.account, keys.network])
      } catch (error) {
        attempt.forget()
        throw error
      }
      const nowMs = clock.now()
      const isBlocked =
        isWaiting(pairRule, rows.get(keys.pair), nowMs) ||
        (!attempt.isAtHome &&
          (isWaiting(accountRule, rows.get(keys.account), nowMs) || isFull(rows.get(keys.network), nowMs)))
      if (isBlocked) {
        attempt.forget()
        return undefined
      }
      return {
        forget: () => attempt.forget(),
        async fail() {
          const counted = attempt.isAtHome ? [keys.pair] : [keys.pair, keys.account, keys.network]
          await store.note((trx) => count(trx, counted, keys.network, clock.now()))
        },
        async succeed() {
          attempt.succeed()
          const known = [keys.pair, keys.account].filter((key) => rows.has(key))
          if (known.length === 0) return
          await store.note((trx) => trx.deleteFrom('login_failures').where('key', 'in', known).execute())
        },
      }
    },

    async prune() {
      await store.note((trx) =>
        trx
          .deleteFrom('login_failures')
          .where((eb) =>
            eb.or([
              eb('last_at', '<', clock.now() - MEMORY_MS),
              eb(
                'key',
                'in',
                eb.selectFrom('login_failures').select('key').orderBy('last_at', 'desc').offset(MAXIMUM_ROWS),
              ),
            ]),
          )
          .execute(),
      )
    },
  }
}

function keysOf(account: string, network: string): Readonly<Record<'pair' | 'account' | 'network', string>> {
  return { pair: `pair ${network} ${account}`, account: `account ${account}`, network: `network ${network}` }
}

async function read(db: Kysely<Schema>, keys: readonly string[]): Promise<ReadonlyMap<string, Row>> {
  const rows = await db.selectFrom('login_failures').selectAll().where('key', 'in', keys).execute()
  return new Map(rows.map((row) => [row.key, row]))
}

/** A wait never lasts longer than its rule says, not even when a clock was set back since. */
function isWaiting(rule: Rule, row: Row | undefined, nowMs: number): boolean {
  const leftMs = (row?.blocked_until_at ?? 0) - nowMs
  return leftMs > 0 && leftMs <= rule.longestWaitMs
}

function isFull(row: Row | undefined, nowMs: number): boolean {
  return row !== undefined && leftOf(row, nowMs) > NETWORK_FAILURES - 1
}

/** The failures of a network that still count. */
function leftOf({ failures, last_at: lastMs }: Row, nowMs: number): number {
  return Math.max(failures - Math.max(nowMs - lastMs, 0) / NETWORK_FAILURE_MS, 0)
}

/** Counts one failure at each key. The lock of notes makes the sums of several processes right. */
async function count(trx: Kysely<Schema>, keys: readonly string[], network: string, nowMs: number): Promise<void> {
  const rows = await read(trx, keys)
  for (const key of keys) {
    const row = rows.get(key)
    const isOld = row === undefined || Math.abs(nowMs - row.last_at) > MEMORY_MS
    const rule = key.startsWith('pair ') ? pairRule : accountRule
    const failures = (isOld ? 0 : key === network ? leftOf(row, nowMs) : row.failures) + 1
    const values = {
      failures,
      last_at: nowMs,
      blocked_until_at: key === network ? 0 : nowMs + waitAfter(rule, failures),
    }
    await trx
      .insertInto('login_failures')
      .values({ key, ...values })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(values))
      .execute()
  }
}
