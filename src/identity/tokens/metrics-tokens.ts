/** The tokens by which programs read the metrics, without an admin's session. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { listPage } from '../store/list-page.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { foldText, isName } from '../store/text-rules.ts'

/** A token that reads the metrics and nothing else. The token itself is not kept. */
export interface MetricsToken {
  readonly id: string
  /** Unique, without regard to case. */
  readonly name: string
  readonly createdAtMs: number
  /** Exact to a minute; `null` for never. */
  readonly lastUsedAtMs: number | null
}

/** The metrics tokens of the deployment. */
export interface MetricsTokens {
  /**
   * Returns the token, which is never told again: only its hash is kept. Refusals: invalid_name,
   * metrics_token_exists, too_many_metrics_tokens.
   */
  create(name: string, actor: Actor): Promise<Result<{ readonly id: string; readonly token: string }>>
  /** Sorted by name. */
  list(page: Page): Promise<Listed<MetricsToken>>
  /** Refusal: metrics_token_not_found. */
  revoke(id: string, actor: Actor): Promise<Result<void>>
  /** Whether the token is good. Also notes the use. */
  authenticate(token: string): Promise<boolean>
}

/**
 * The first characters of every metrics token: they tell it apart from a JWT, and scanners of
 * secrets find it by them.
 */
export const metricsTokenPrefix = 'fgm_'

const TOKEN_BYTES = 32
/** Longer tokens are refused without being hashed. */
const MAXIMUM_TOKEN_CHARACTERS = 100
const MAXIMUM_NAME = 100
/**
 * Metrics tokens of the deployment, against filling the disk: many times what a monitoring needs.
 */
const MAXIMUM_TOKENS = 100
/**
 * A use is written when the last written use is older than this: a scraper comes every few seconds.
 */
const USE_STEP_MS = 60_000

/**
 * The metrics tokens of a store. The error of a use that could not be noted goes to `onWriteError`;
 * the metrics are read all the same.
 */
export function createMetricsTokens(store: Store, onWriteError: (error: unknown) => void): MetricsTokens {
  const { db, clock } = store
  return {
    create: (name, actor) =>
      store.change(actor, async ({ trx, nowMs, audit }) => {
        if (!isName(name, MAXIMUM_NAME)) {
          const rule = `name must have 1 to ${MAXIMUM_NAME} characters on one line`
          return refuse('invalid_argument', 'invalid_name', rule)
        }
        const names = await trx.selectFrom('metrics_tokens').select('name_key').execute()
        if (names.some(({ name_key }) => name_key === foldText(name))) return alreadyExists('metrics_token_exists')
        if (names.length >= MAXIMUM_TOKENS) {
          const rule = `a deployment has at most ${MAXIMUM_TOKENS} metrics tokens: revoke some`
          return refuse('resource_exhausted', 'too_many_metrics_tokens', rule)
        }
        const id = randomUUID()
        const token = metricsTokenPrefix + randomBytes(TOKEN_BYTES).toString('base64url')
        const row = { id, name, name_key: foldText(name), token_hash: hashOf(token), created_at: nowMs }
        await trx
          .insertInto('metrics_tokens')
          .values({ ...row, last_used_at: null })
          .execute()
        await audit('metrics_token.created', id, null, { name })
        return granted({ id, token })
      }),

    list: (page) =>
      listPage(db.selectFrom('metrics_tokens'), page, {
        searched: 'name_key',
        sorted: (rows) => rows.selectAll().orderBy('name_key'),
        itemOf: metricsTokenOf,
      }),

    revoke: (id, actor) =>
      store.change(actor, async ({ trx, audit }) => {
        const row = await trx.deleteFrom('metrics_tokens').where('id', '=', id).returning('name').executeTakeFirst()
        if (row === undefined) return notFound('metrics_token_not_found')
        await audit('metrics_token.revoked', id, null, { name: row.name })
        return done
      }),

    async authenticate(token) {
      if (token.length > MAXIMUM_TOKEN_CHARACTERS) return false
      // The token is found by its hash. The time that this takes tells nothing from which somebody
      // could guess a token.
      const row = await db
        .selectFrom('metrics_tokens')
        .select(['id', 'last_used_at'])
        .where('token_hash', '=', hashOf(token))
        .executeTakeFirst()
      if (row === undefined) return false
      const nowMs = clock.now()
      if (row.last_used_at === null || Math.abs(nowMs - row.last_used_at) >= USE_STEP_MS) {
        const table = db.updateTable('metrics_tokens').set({ last_used_at: nowMs })
        await table.where('id', '=', row.id).execute().catch(onWriteError)
      }
      return true
    },
  }
}

function metricsTokenOf(row: Selectable<Schema['metrics_tokens']>): MetricsToken {
  return { id: row.id, name: row.name, createdAtMs: row.created_at, lastUsedAtMs: row.last_used_at }
}

/** SHA-256 is enough: 256 random bits can't be guessed, however quick the hash is. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
