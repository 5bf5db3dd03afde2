/**
 * The broker-access tokens on record. The registry keeps who has a token, for which organization
 * and until when, so that tokens can be listed and revoked; the token itself is not kept.
 */
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import { given } from '../../given.ts'
import { listPage } from '../store/list-page.ts'
import { done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import type { BrokerAccessLog } from './broker-access-log.ts'
import { notMember, userInactive } from './standing.ts'

/** A broker-access token on record. */
export interface BrokerAccess {
  readonly tokenId: string
  readonly userId: string
  readonly organizationId: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  /** When a connection last used it, `null` for never. */
  readonly lastUsedAtMs: number | null
}

/** The user, the organization and the lifetime of a new broker-access token. */
export interface BrokerAccessGrant {
  readonly userId: string
  readonly organizationId: string
  readonly ttlSeconds: number
  /** Issued to a page of the console, for as long as the page is open. The audit can hide it. */
  readonly isOfConsole?: boolean
}

/** The broker-access tokens on record. */
export interface BrokerAccessRecords {
  /** The tokens that are neither expired nor revoked, newest first. */
  listBrokerAccess(
    page: Page & { readonly organizationId?: string; readonly userId?: string },
  ): Promise<Listed<BrokerAccess>>
  getBrokerAccess(tokenId: string): Promise<BrokerAccess | undefined>
  /** Refusal: token_not_found. */
  revokeBrokerAccess(tokenId: string, actor: Actor): Promise<Result<void>>
}

/**
 * Living tokens of one user, against filling the disk. A client that takes a token of a day each
 * minute stays below the bound.
 */
const MAXIMUM_TOKENS = 10_000
/** Tokens that one statement deletes. */
const PRUNE_BATCH = 500
/**
 * Expired tokens are kept for this time. So a clock that was ahead for a while, and was set back,
 * has ended no token for good.
 */
const PRUNE_SLACK_MS = 86_400_000

/** The records of a store. */
export function createBrokerAccessRecords(store: Store, accessLog: BrokerAccessLog): BrokerAccessRecords {
  const { db, clock } = store
  return {
    async listBrokerAccess(page) {
      await accessLog.flush()
      let scope = db.selectFrom('broker_tokens').where('expires_at', '>', clock.now())
      if (page.organizationId !== undefined) {
        scope = scope.where('organization_id', '=', parseId(page.organizationId) ?? 0)
      }
      if (page.userId !== undefined) scope = scope.where('user_id', '=', parseId(page.userId) ?? 0)
      return listPage(scope, page, {
        searched: undefined,
        sorted: (rows) => rows.selectAll().orderBy('issued_at', 'desc').orderBy('id', 'desc'),
        itemOf: brokerAccessOf,
      })
    },

    async getBrokerAccess(tokenId) {
      await accessLog.flush()
      const row = await db
        .selectFrom('broker_tokens')
        .selectAll()
        .where('id', '=', tokenId)
        .where('expires_at', '>', clock.now())
        .executeTakeFirst()
      return row && brokerAccessOf(row)
    },

    revokeBrokerAccess: (tokenId, actor) =>
      store.change(actor, async ({ trx, audit, emit }) => {
        const row = await trx
          .deleteFrom('broker_tokens')
          .where('id', '=', tokenId)
          .returning(['user_id', 'organization_id', 'is_of_console'])
          .executeTakeFirst()
        if (row === undefined) return notFound('token_not_found')
        await audit('token.revoked', tokenId, String(row.organization_id), {
          userId: String(row.user_id),
          ...given({ isOfConsole: row.is_of_console === 1 ? true : undefined }),
        })
        emit({ kind: 'token_revoked', tokenId })
        return done
      }),
  }
}

/**
 * Puts a new token on record, in the transaction that issues it. Refusals: user_inactive,
 * not_a_member, too_many_tokens.
 */
export async function recordBrokerAccess(
  { trx, nowMs, audit }: Unit,
  grant: BrokerAccessGrant,
): Promise<Result<{ readonly tokenId: string; readonly issuedAtMs: number; readonly expiresAtMs: number }>> {
  const user = await trx
    .selectFrom('users')
    .select(['id', 'is_active', 'is_admin'])
    .where('id', '=', parseId(grant.userId) ?? 0)
    .executeTakeFirst()
  if (user?.is_active !== 1) return userInactive()
  const organization = await trx
    .selectFrom('organizations')
    .leftJoin('members', (join) =>
      join.onRef('members.organization_id', '=', 'organizations.id').on('members.user_id', '=', user.id),
    )
    .select(['organizations.id', 'members.user_id'])
    .where('organizations.id', '=', parseId(grant.organizationId) ?? 0)
    .where('organizations.removed_at', 'is', null)
    .executeTakeFirst()
  if (organization === undefined || (organization.user_id === null && user.is_admin !== 1)) return notMember()
  const { count } = await trx
    .selectFrom('broker_tokens')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', user.id)
    .where('expires_at', '>', nowMs)
    .executeTakeFirstOrThrow()
  if (count >= MAXIMUM_TOKENS) {
    const rule = `a user has at most ${MAXIMUM_TOKENS} living broker-access tokens: revoke some`
    return refuse('resource_exhausted', 'too_many_tokens', rule)
  }
  const tokenId = randomUUID()
  // Whole seconds, as in the token.
  const issuedAtMs = Math.floor(nowMs / 1000) * 1000
  const expiresAtMs = issuedAtMs + grant.ttlSeconds * 1000
  await trx
    .insertInto('broker_tokens')
    .values({
      id: tokenId,
      user_id: user.id,
      organization_id: organization.id,
      issued_at: issuedAtMs,
      expires_at: expiresAtMs,
      last_used_at: null,
      is_of_console: Number(grant.isOfConsole === true),
    })
    .execute()
  await audit('token.issued', tokenId, grant.organizationId, {
    userId: grant.userId,
    expiresAtMs,
    ...given({ isOfConsole: grant.isOfConsole === true ? true : undefined }),
  })
  return granted({ tokenId, issuedAtMs, expiresAtMs })
}

/** Deletes the records of tokens that have expired. */
export async function pruneBrokerAccess(store: Store): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await store.transaction((trx) =>
      trx
        .deleteFrom('broker_tokens')
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('broker_tokens')
            .select('id')
            .where('expires_at', '<=', store.clock.now() - PRUNE_SLACK_MS)
            .orderBy('expires_at')
            .limit(PRUNE_BATCH),
        )
        .executeTakeFirstOrThrow(),
    )
    if (numDeletedRows < BigInt(PRUNE_BATCH)) return
    await nextTurn()
  }
}

function brokerAccessOf(row: Selectable<Schema['broker_tokens']>): BrokerAccess {
  return {
    tokenId: row.id,
    userId: String(row.user_id),
    organizationId: String(row.organization_id),
    issuedAtMs: row.issued_at,
    expiresAtMs: row.expires_at,
    lastUsedAtMs: row.last_used_at,
  }
}
