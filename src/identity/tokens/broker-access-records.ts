/**
 * The broker-access tokens on record. The registry keeps who has a token, for which organization
 * and until when, so that tokens can be listed and revoked; the token itself is not kept.
 */
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import { given } from '../../given.ts'
import { listPage } from '../store/list-page.ts'
import { done, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import type { BrokerAccessLog } from './broker-access-log.ts'
import { readScope, scopeText } from './scope.ts'
import type { Scope } from './scope.ts'
import { apiKeyEnded, notMember, userInactive } from './standing.ts'

/** A broker-access token on record. */
export interface BrokerAccess {
  readonly tokenId: string
  readonly userId: string
  readonly organizationId: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  /** When a connection last used it, `null` for never. */
  readonly lastUsedAtMs: number | null
  /** The scope that the token was made with. Undefined: no limit. */
  readonly scope: Scope | undefined
  /** The API key that made the token; `null` for a token that a person made. */
  readonly apiKeyId: string | null
}

/** The user, the organization and the lifetime of a new broker-access token. */
export interface BrokerAccessGrant {
  readonly userId: string
  readonly organizationId: string
  readonly ttlSeconds: number
  /** Issued to a page of the console, for as long as the page is open. The audit can hide it. */
  readonly isOfConsole?: boolean
  /** The limits of the token. Absent: it is for all that the user may do. */
  readonly scope?: Scope | undefined
  /** The API key that makes the token for its maker. Absent: the user makes it. */
  readonly apiKey?: GrantingKey | undefined
}

/** An API key that makes a token. */
export interface GrantingKey {
  readonly id: string
  /** The token is good for this generation of the key. */
  readonly generation: number
  /** The end of the key, or of its old secret: the token lives no longer. `null` for none. */
  readonly untilMs: number | null
}

/** The broker-access tokens on record. */
export interface BrokerAccessRecords {
  /** The tokens that are neither expired nor revoked, newest first. */
  listBrokerAccess(
    page: Page & { readonly organizationId?: string; readonly userId?: string; readonly apiKeyId?: string },
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
/** Living tokens of one key. An organization has a hundred keys. */
const MAXIMUM_TOKENS_OF_KEY = 2_000
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
      if (page.apiKeyId !== undefined) scope = scope.where('api_key_id', '=', page.apiKeyId)
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

/** The members of a new token that the registry chooses. */
export interface NewBrokerAccess {
  readonly tokenId: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

/** Chooses the id and the times of a token for the grant. */
export function newBrokerAccess({ ttlSeconds, apiKey }: BrokerAccessGrant, nowMs: number): NewBrokerAccess {
  // Whole seconds, as in the token.
  const issuedAtMs = Math.floor(nowMs / 1000) * 1000
  const untilMs = Math.floor((apiKey?.untilMs ?? Infinity) / 1000) * 1000
  const expiresAtMs = Math.min(issuedAtMs + ttlSeconds * 1000, Math.max(untilMs, issuedAtMs + 1000))
  return { tokenId: randomUUID(), issuedAtMs, expiresAtMs }
}

/**
 * Puts a new token on record, with the digest of its text. Refusals: user_inactive, not_a_member,
 * too_many_tokens, api_key_ended.
 */
export async function recordBrokerAccess(
  unit: Unit,
  grant: BrokerAccessGrant,
  { tokenId, issuedAtMs, expiresAtMs }: NewBrokerAccess,
  digest: string,
): Promise<Result<void>> {
  const { trx, audit } = unit
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
  const refused = (await refuseManyTokens(unit, user.id, grant.apiKey)) ?? (await refuseEndedKey(unit, grant.apiKey))
  if (refused !== undefined) return refused
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
      scope: scopeText(grant.scope),
      api_key_id: grant.apiKey?.id ?? null,
      api_key_generation: grant.apiKey?.generation ?? null,
      digest,
    })
    .execute()
  await audit('token.issued', tokenId, grant.organizationId, {
    userId: grant.userId,
    expiresAtMs,
    ...given({
      isOfConsole: grant.isOfConsole === true ? true : undefined,
      scope: grant.scope,
      apiKeyId: grant.apiKey?.id,
    }),
  })
  return done
}

/** A key has a bound of its own: its program must not use up the tokens of its maker. */
async function refuseManyTokens(
  { trx, nowMs }: Unit,
  userId: number,
  key: GrantingKey | undefined,
): Promise<Refusal | undefined> {
  const living = trx
    .selectFrom('broker_tokens')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('expires_at', '>', nowMs)
  const own =
    key === undefined
      ? living.where('user_id', '=', userId).where('api_key_id', 'is', null)
      : living.where('api_key_id', '=', key.id)
  const [owner, maximum] = key === undefined ? ['a user', MAXIMUM_TOKENS] : ['an API key', MAXIMUM_TOKENS_OF_KEY]
  const { count } = await own.executeTakeFirstOrThrow()
  if (count < maximum) return undefined
  const rule = `${owner} has at most ${maximum} living broker-access tokens: revoke some`
  return refuse('resource_exhausted', 'too_many_tokens', rule)
}

/** The key may have been revoked or changed since its request came in. */
async function refuseEndedKey({ trx }: Unit, key: GrantingKey | undefined): Promise<Refusal | undefined> {
  if (key === undefined) return undefined
  const row = await trx.selectFrom('api_keys').select('generation').where('id', '=', key.id).executeTakeFirst()
  return row?.generation === key.generation ? undefined : apiKeyEnded()
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
    scope: readScope(row.scope),
    apiKeyId: row.api_key_id,
  }
}
