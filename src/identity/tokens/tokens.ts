import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import type { BrokerAccessLog } from './broker-access-log.ts'
import { boundedPage, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { SigningKeyRing } from './signing-keys.ts'
import type { Standings } from './standing.ts'
import type { Store, Unit } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import { tokenExpired, tokenKinds } from './token-verifier.ts'
import type { TokenKind, TokenVerifier } from './token-verifier.ts'

/** What a session token says. */
export interface SessionClaims {
  readonly userId: string
  readonly tokenId: string
  /** As it is now, not as it was when the token was issued. */
  readonly isAdmin: boolean
  /** Issued to the machine's operator, who acts in the user's place. */
  readonly isOperator: boolean
  readonly expiresAtMs: number
}

/** What the token between the two steps of a login says. */
export interface SecondFactorStepClaims {
  readonly userId: string
  readonly tokenId: string
  readonly expiresAtMs: number
}

/** What a broker-access token says. */
export interface BrokerAccessClaims {
  readonly userId: string
  readonly organizationId: string
  readonly tokenId: string
  readonly expiresAtMs: number
}

/**
 * A broker-access token that is refused; with what it says where it is one of ours, though it is
 * good no more.
 */
export type BrokerAccessRefusal = Refusal & { readonly claims?: BrokerAccessClaims }

/** A broker-access token as the registry knows it; the token itself is not kept. */
export interface BrokerAccess {
  readonly tokenId: string
  readonly userId: string
  readonly organizationId: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  /** When a connection last used it, `null` for never. */
  readonly lastUsedAtMs: number | null
}

/** What a broker-access token is to allow. */
export interface BrokerAccessGrant {
  readonly userId: string
  readonly organizationId: string
  readonly ttlSeconds: number
  /**
   * For a page of the console, that is open for a while: a reader of the audit may leave it out.
   */
  readonly isOfConsole?: boolean
}

/**
 * JSON Web Tokens (RFC 7519), signed with ES256. The three kinds differ in `typ` and `aud`, so that
 * none passes for another. `verify…` refuses as `unauthenticated` with: token_malformed,
 * token_signature_invalid, token_expired, token_wrong_audience, token_revoked, user_inactive; and
 * as `permission_denied` with not_a_member.
 */
export interface Tokens {
  issueSession(user: { readonly id: string }): Promise<string>
  /**
   * A session for the machine's operator, who acts in that user's place, and may set its password
   * without the old one.
   */
  issueOperatorSession(user: { readonly id: string }): Promise<string>
  /** Good for 600 s and for the second step of the login alone. */
  issueSecondFactorStep(user: { readonly id: string }): Promise<string>
  /**
   * Refusals: invalid_ttl (not a whole number of 1 or more), user_inactive, not_a_member,
   * too_many_tokens.
   */
  issueBrokerAccess(
    grant: BrokerAccessGrant,
    actor?: Actor,
  ): Promise<Result<{ readonly jwt: string; readonly tokenId: string; readonly expiresAtMs: number }>>
  verifySession(jwt: string): Promise<Result<SessionClaims>>
  verifySecondFactorStep(jwt: string): Promise<Result<SecondFactorStepClaims>>
  /** Also notes the use. */
  verifyBrokerAccess(
    jwt: string,
  ): Promise<{ readonly ok: true; readonly value: BrokerAccessClaims } | BrokerAccessRefusal>
  /**
   * What a token of ours says, whether or not it is good; undefined where it is none. Proves
   * nothing but whose it is.
   */
  readBrokerAccess(jwt: string): BrokerAccessClaims | undefined
  /**
   * Whether what was verified earlier still holds; refuses like `verifyBrokerAccess`, but for the
   * signature.
   */
  recheckBrokerAccess(claims: BrokerAccessClaims): Promise<Result<void>>
  /** Those that are neither expired nor revoked, newest first. */
  listBrokerAccess(
    page: Page & { readonly organizationId?: string; readonly userId?: string },
  ): Promise<Listed<BrokerAccess>>
  getBrokerAccess(tokenId: string): Promise<BrokerAccess | undefined>
  /** Refusal: token_not_found. */
  revokeBrokerAccess(tokenId: string, actor: Actor): Promise<Result<void>>
  /** Voids every session issued until now. Refusal: user_not_found. */
  signOutEverywhere(userId: string, actor: Actor): Promise<Result<void>>
  /** Forgets expired tokens, and keys whose last token has expired. To be called now and then. */
  pruneExpired(): Promise<void>
}

const SECOND_FACTOR_STEP_SECONDS = 600
/** Some ten years: no clock and no client has trouble with it. */
const MAXIMUM_TTL_SECONDS = 315_360_000
/**
 * Living tokens of one user, against filling the disk. A client that takes a token of a day each
 * minute stays below.
 */
const MAXIMUM_TOKENS = 10_000
/** Tokens that one statement forgets. */
const PRUNE_BATCH = 500
/**
 * Kept after their end: a clock that was ahead for a while, and was set back, has ended no token
 * for good.
 */
const PRUNE_SLACK_MS = 86_400_000

/** What the tokens are made of. */
export interface TokenParts {
  readonly store: Store
  readonly keys: SigningKeyRing
  readonly verifier: TokenVerifier
  readonly standings: Standings
  readonly accessLog: BrokerAccessLog
  readonly issuer: string
  readonly sessionTtlSeconds: number
}

/** The tokens of a store. */
export function createTokens(parts: TokenParts): Tokens {
  return { ...createIssuing(parts), ...createVerifying(parts), ...createAdministration(parts) }
}

function createIssuing({
  store,
  keys,
  standings,
  issuer,
  sessionTtlSeconds,
}: TokenParts): Pick<Tokens, Extract<keyof Tokens, `issue${string}`>> {
  async function issue(kind: TokenKind, claims: IssuedClaims): Promise<string> {
    const { typ, audience } = tokenKinds[kind]
    return keys.sign(typ, { iss: issuer, aud: audience, ...claims })
  }

  async function issueToUser(
    kind: TokenKind,
    userId: string,
    ttlSeconds: number,
    more: Pick<IssuedClaims, 'operator'> = {},
  ): Promise<string> {
    const standing = await standings.ofUser(userId)
    const iat = Math.floor(store.clock.now() / 1000)
    // A user that is gone gets a token that nothing accepts.
    const epoch = standing?.sessionEpoch ?? 0
    return issue(kind, { sub: userId, jti: randomUUID(), iat, exp: iat + ttlSeconds, epoch, ...more })
  }

  return {
    issueSession: ({ id }) => issueToUser('session', id, sessionTtlSeconds),

    issueOperatorSession: ({ id }) => issueToUser('session', id, sessionTtlSeconds, { operator: true }),

    issueSecondFactorStep: ({ id }) => issueToUser('secondFactorStep', id, SECOND_FACTOR_STEP_SECONDS),

    async issueBrokerAccess(grant, actor = { userId: grant.userId }) {
      const { userId, organizationId, ttlSeconds } = grant
      if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MAXIMUM_TTL_SECONDS) {
        const rule = `the lifetime must be a whole number of seconds from 1 to ${MAXIMUM_TTL_SECONDS}`
        return refuse('invalid_argument', 'invalid_ttl', rule)
      }
      const recorded = await store.change(actor, (unit) => recordBrokerAccess(unit, grant))
      if (!recorded.ok) return recorded
      const { tokenId: jti, issuedAtMs, expiresAtMs } = recorded.value
      const [iat, exp] = [issuedAtMs / 1000, expiresAtMs / 1000]
      const jwt = await issue('brokerAccess', { sub: userId, org: organizationId, jti, iat, exp })
      return granted({ jwt, tokenId: jti, expiresAtMs })
    },
  }
}

interface IssuedClaims {
  readonly sub: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
  readonly org?: string
  readonly epoch?: number
  readonly operator?: true
}

async function recordBrokerAccess(
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
    ...(grant.isOfConsole === true ? { isOfConsole: true } : {}),
  })
  return granted({ tokenId, issuedAtMs, expiresAtMs })
}

function createVerifying({
  store,
  verifier,
  standings,
  accessLog,
}: TokenParts): Pick<Tokens, Extract<keyof Tokens, `verify${string}` | 'readBrokerAccess' | 'recheckBrokerAccess'>> {
  async function verifyOfUser(kind: TokenKind, jwt: string): Promise<Result<SessionClaims>> {
    const verified = verifier.verify(kind, jwt)
    if (!verified.ok) return verified
    const { userId, tokenId, expiresAtMs, claims } = verified.value
    const standing = await standings.ofUser(userId)
    if (standing === undefined || !standing.isActive) return userInactive()
    if (claims['epoch'] !== standing.sessionEpoch) return revoked()
    const isOperator = claims['operator'] === true
    return granted({ userId, tokenId, isAdmin: standing.isAdmin, isOperator, expiresAtMs })
  }

  function readBrokerAccess(jwt: string): Result<BrokerAccessClaims> {
    const read = verifier.read('brokerAccess', jwt)
    if (!read.ok) return read
    const { userId, tokenId, expiresAtMs, claims } = read.value
    const organizationId = claims['org']
    if (typeof organizationId !== 'string')
      return refuse('unauthenticated', 'token_malformed', 'the token is malformed')
    return granted({ userId, organizationId, tokenId, expiresAtMs })
  }

  async function judge({ userId, organizationId, tokenId }: BrokerAccessClaims): Promise<Result<void>> {
    const standing = await standings.ofAccess(userId, organizationId, tokenId)
    if (!standing.isUserActive) return userInactive()
    if (!standing.isMember) return notMember()
    return standing.isTokenKnown ? done : unknownToken()
  }

  return {
    verifySession: (jwt) => verifyOfUser('session', jwt),

    async verifySecondFactorStep(jwt) {
      const verified = await verifyOfUser('secondFactorStep', jwt)
      if (!verified.ok) return verified
      const { userId, tokenId, expiresAtMs } = verified.value
      return granted({ userId, tokenId, expiresAtMs })
    },

    async verifyBrokerAccess(jwt) {
      const read = readBrokerAccess(jwt)
      if (!read.ok) return read
      const claims = read.value
      const judged = store.clock.now() < claims.expiresAtMs ? await judge(claims) : tokenExpired()
      if (!judged.ok) return { ...judged, claims }
      accessLog.noteUse(claims.tokenId)
      return granted(claims)
    },

    readBrokerAccess(jwt) {
      const read = readBrokerAccess(jwt)
      return read.ok ? read.value : undefined
    },

    recheckBrokerAccess: async (claims) => (store.clock.now() < claims.expiresAtMs ? judge(claims) : tokenExpired()),
  }
}

type Administration = Exclude<
  keyof Tokens,
  `issue${string}` | `verify${string}` | 'readBrokerAccess' | 'recheckBrokerAccess'
>

function createAdministration({ store, keys, verifier, accessLog }: TokenParts): Pick<Tokens, Administration> {
  const { db, clock } = store
  return {
    async listBrokerAccess(page) {
      await accessLog.flush()
      let query = db.selectFrom('broker_tokens').where('expires_at', '>', clock.now())
      if (page.organizationId !== undefined) {
        query = query.where('organization_id', '=', parseId(page.organizationId) ?? 0)
      }
      if (page.userId !== undefined) query = query.where('user_id', '=', parseId(page.userId) ?? 0)
      const { limit, offset } = boundedPage(page)
      const { count } = await query.select((eb) => eb.fn.countAll().as('count')).executeTakeFirstOrThrow()
      const rows = await query
        .selectAll()
        .orderBy('issued_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute()
      return { totalCount: Number(count), items: rows.map(brokerAccessOf) }
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
          ...(row.is_of_console === 1 ? { isOfConsole: true } : {}),
        })
        emit({ kind: 'token_revoked', tokenId })
        return done
      }),

    signOutEverywhere: (userId, actor) =>
      store.change(actor, async ({ trx, audit, emit }) => {
        const { numUpdatedRows } = await trx
          .updateTable('users')
          .set((eb) => ({ session_epoch: eb('session_epoch', '+', 1) }))
          .where('id', '=', parseId(userId) ?? 0)
          .executeTakeFirst()
        if (numUpdatedRows === 0n) return notFound('user_not_found')
        await audit('user.signed_out_everywhere', userId, null)
        emit({ kind: 'user_changed', userId })
        return done
      }),

    async pruneExpired() {
      for (;;) {
        const { numDeletedRows } = await db
          .deleteFrom('broker_tokens')
          .where('id', 'in', (eb) =>
            eb
              .selectFrom('broker_tokens')
              .select('id')
              .where('expires_at', '<=', clock.now() - PRUNE_SLACK_MS)
              .orderBy('expires_at')
              .limit(PRUNE_BATCH),
          )
          .executeTakeFirst()
        if (numDeletedRows < BigInt(PRUNE_BATCH)) break
        await nextTurn()
      }
      if (await keys.prune()) verifier.forget()
    },
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

function userInactive(): Refusal {
  return refuse('unauthenticated', 'user_inactive', 'the user is inactive or was removed')
}

function notMember(): Refusal {
  return refuse('permission_denied', 'not_a_member', 'the user is no member of the organization')
}

/**
 * A revoked token leaves no row, and so does one that was issued after the backup from which this
 * registry was restored.
 */
function unknownToken(): Refusal {
  const message = 'the token is not known here any more: it was revoked, or an older backup of the service was restored'
  return refuse('unauthenticated', 'token_revoked', message)
}

function revoked(): Refusal {
  return refuse('unauthenticated', 'token_revoked', 'the token was revoked')
}
