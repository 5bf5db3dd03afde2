/**
 * The tokens of users, as they are issued and verified: for sessions, for the second step of a
 * login, and for the broker.
 */
import { randomUUID } from 'node:crypto'
import { given } from '../../given.ts'
import type { ApiKeyStandings } from './api-key-standing.ts'
import type { BrokerAccessLog } from './broker-access-log.ts'
import {
  createBrokerAccessRecords,
  newBrokerAccess,
  pruneBrokerAccess,
  recordBrokerAccess,
} from './broker-access-records.ts'
import type { BrokerAccessGrant, BrokerAccessRecords } from './broker-access-records.ts'
import { done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import { readOnlyScope } from './scope.ts'
import type { Scope } from './scope.ts'
import type { SigningKeyRing } from './signing-keys.ts'
import { apiKeyEnded, notMember, userInactive } from './standing.ts'
import type { Standings } from './standing.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import { digestOfToken } from './token-digests.ts'
import { tokenExpired, tokenKinds } from './token-verifier.ts'
import type { TokenKind, TokenVerifier } from './token-verifier.ts'

/** The contents of a session token. */
export interface SessionClaims {
  readonly userId: string
  readonly tokenId: string
  /** Whether the user is a global admin now, not when the token was issued. */
  readonly isAdmin: boolean
  /** True for a token that was issued to the machine's operator, who acts in the user's place. */
  readonly isOperator: boolean
  readonly expiresAtMs: number
}

/** The contents of a token for the second step of a login. */
export interface SecondFactorStepClaims {
  readonly userId: string
  readonly tokenId: string
  readonly expiresAtMs: number
}

/** The contents of a broker-access token. */
export interface BrokerAccessClaims {
  readonly userId: string
  readonly organizationId: string
  readonly tokenId: string
  readonly expiresAtMs: number
  /** The API key that made the token. Absent: the user made it. */
  readonly apiKeyId?: string | undefined
  /**
   * The limits of the token as they are now, with those of the user's membership. They are kept in
   * the registry, not in the token. Undefined: no limit. A token that was only read, and not
   * verified, has none either.
   */
  readonly scope?: Scope | undefined
  /** The limits that the token was made with: they never change. */
  readonly ownScope?: Scope | undefined
  /** Absent where it is not known: the token itself always tells it. */
  readonly issuedAtMs?: number
}

/**
 * A broker-access token that is refused. `claims` are the contents of a token that this service
 * signed and that is no longer good.
 */
export type BrokerAccessRefusal = Refusal & { readonly claims?: BrokerAccessClaims }

/**
 * JSON Web Tokens (RFC 7519), signed with ES256. The three kinds differ in `typ` and `aud`, so that
 * none passes for another. `verify…` refuses as `unauthenticated` with: token_malformed,
 * token_signature_invalid, token_expired, token_wrong_audience, token_revoked, user_inactive; and
 * as `permission_denied` with not_a_member.
 */
export interface Tokens extends BrokerAccessRecords {
  issueSession(user: { readonly id: string }): Promise<string>
  /**
   * Issues a session to the machine's operator, who acts in the user's place. The session may set
   * the user's password without the old password.
   */
  issueOperatorSession(user: { readonly id: string }): Promise<string>
  /** Issues a token that is good for 600 s, and for the second step of the login only. */
  issueSecondFactorStep(user: { readonly id: string }): Promise<string>
  /**
   * Refusals: invalid_ttl (not a whole number of 1 or more), user_inactive, not_a_member,
   * too_many_tokens, api_key_ended.
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
   * The contents of a token that this service signed, whether or not the token is good; undefined
   * for any other text. Proves only whose the token is.
   */
  readBrokerAccess(jwt: string): BrokerAccessClaims | undefined
  /**
   * The contents of a token that was verified earlier, with its limits as they are now. Refuses
   * like `verifyBrokerAccess`, but does not look at the signature.
   */
  recheckBrokerAccess(claims: BrokerAccessClaims): Promise<Result<BrokerAccessClaims>>
  /** Voids every session issued until now. Refusal: user_not_found. */
  signOutEverywhere(userId: string, actor: Actor): Promise<Result<void>>
  /** Forgets expired tokens, and keys whose last token has expired. To be called now and then. */
  pruneExpired(): Promise<void>
}

const SECOND_FACTOR_STEP_SECONDS = 600
/** Some ten years. No clock and no client has trouble with such a time. */
const MAXIMUM_TTL_SECONDS = 315_360_000
/** The parts that the tokens are made of. */
export interface TokenParts {
  readonly store: Store
  readonly keys: SigningKeyRing
  readonly verifier: TokenVerifier
  readonly standings: Standings
  readonly apiKeys: Pick<ApiKeyStandings, 'inForce'>
  readonly accessLog: BrokerAccessLog
  readonly issuer: string
  readonly sessionTtlSeconds: number
}

/** The tokens of a store. */
export function createTokens(parts: TokenParts): Tokens {
  return {
    ...createIssuing(parts),
    ...createVerifying(parts),
    ...createEnding(parts),
    ...createBrokerAccessRecords(parts.store, parts.accessLog),
  }
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
    // A user that was removed gets a token that nothing accepts.
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
      const made = newBrokerAccess(grant, store.clock.now())
      const { tokenId: jti, issuedAtMs, expiresAtMs } = made
      const [iat, exp] = [issuedAtMs / 1000, expiresAtMs / 1000]
      const key = given({ key: grant.apiKey?.id })
      // Signed before the transaction, for which others wait. Nobody sees the token of a refusal.
      const jwt = await issue('brokerAccess', { sub: userId, org: organizationId, ...key, jti, iat, exp })
      const digest = digestOfToken(jwt)
      const recorded = await store.change(actor, (unit) => recordBrokerAccess(unit, grant, made, digest))
      return recorded.ok ? granted({ jwt, tokenId: jti, expiresAtMs }) : recorded
    },
  }
}

interface IssuedClaims {
  readonly sub: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
  readonly org?: string
  readonly key?: string
  readonly epoch?: number
  readonly operator?: true
}

function createVerifying({
  store,
  verifier,
  standings,
  apiKeys,
  accessLog,
}: TokenParts): Pick<Tokens, Extract<keyof Tokens, `verify${string}` | 'readBrokerAccess' | 'recheckBrokerAccess'>> {
  const judge = createJudge({ standings, apiKeys })

  async function verifyOfUser(kind: TokenKind, jwt: string): Promise<Result<SessionClaims>> {
    const first = verifier.verify(kind, jwt)
    const verified = isUnsigned(first) && (await verifier.learnsKeyOf(jwt)) ? verifier.verify(kind, jwt) : first
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
    const { userId, tokenId, issuedAtMs, expiresAtMs, claims } = read.value
    const organizationId = claims['org']
    if (typeof organizationId !== 'string')
      return refuse('unauthenticated', 'token_malformed', 'the token is malformed')
    const key = claims['key']
    const apiKeyId = typeof key === 'string' ? key : undefined
    return granted({ userId, organizationId, tokenId, issuedAtMs, expiresAtMs, ...given({ apiKeyId }) })
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
      const first = readBrokerAccess(jwt)
      const read = isUnsigned(first) && (await verifier.learnsKeyOf(jwt)) ? readBrokerAccess(jwt) : first
      if (!read.ok) return read
      const claims = read.value
      const judged = store.clock.now() < claims.expiresAtMs ? await judge(claims) : tokenExpired()
      if (!judged.ok) return { ...judged, claims }
      accessLog.noteUse(claims.tokenId)
      return judged
    },

    readBrokerAccess(jwt) {
      const read = readBrokerAccess(jwt)
      return read.ok ? read.value : undefined
    },

    recheckBrokerAccess: async (claims) => (store.clock.now() < claims.expiresAtMs ? judge(claims) : tokenExpired()),
  }
}

/** Whether a token of ours that has not expired is good, with its limits as they are now. */
type Judge = (claims: BrokerAccessClaims) => Promise<Result<BrokerAccessClaims>>

function createJudge({ standings, apiKeys }: Pick<TokenParts, 'standings' | 'apiKeys'>): Judge {
  const judgeOfKey = async (claims: BrokerAccessClaims, apiKeyId: string): Promise<Result<BrokerAccessClaims>> => {
    const { userId, organizationId, tokenId, issuedAtMs, expiresAtMs } = claims
    const key = await apiKeys.inForce(apiKeyId)
    if (key === undefined) return apiKeyEnded()
    const isOfOwner = key.organizationId === null || key.organizationId === organizationId
    const standing = isOfOwner ? await standings.ofKeyToken(apiKeyId, organizationId, tokenId) : undefined
    if (standing === undefined) return unknownToken()
    if (standing.generation !== key.generation) return olderThanKey()
    const { scope } = standing
    const ofScope = given({ issuedAtMs, scope, ownScope: scope })
    return granted({ userId, organizationId, tokenId, expiresAtMs, apiKeyId, ...ofScope })
  }

  return async (claims) => {
    if (claims.apiKeyId !== undefined) return judgeOfKey(claims, claims.apiKeyId)
    const { userId, organizationId, tokenId, issuedAtMs, expiresAtMs } = claims
    const standing = await standings.ofAccess(userId, organizationId, tokenId)
    if (!standing.isUserActive) return userInactive()
    if (!standing.isMember) return notMember()
    if (!standing.isTokenKnown) return unknownToken()
    const scope = standing.isReadOnly ? readOnlyScope(standing.scope) : standing.scope
    const ofScope = given({ issuedAtMs, scope, ownScope: standing.scope })
    return granted({ userId, organizationId, tokenId, expiresAtMs, ...ofScope })
  }
}

/** Another process may have made the key of such a token. */
function isUnsigned(verified: Result<unknown>): boolean {
  return !verified.ok && verified.reason === 'token_signature_invalid'
}

function createEnding({ store, keys, verifier }: TokenParts): Pick<Tokens, 'signOutEverywhere' | 'pruneExpired'> {
  return {
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
      await pruneBrokerAccess(store)
      if (await keys.prune()) verifier.forget()
    },
  }
}

/**
 * The refusal of a token without a record. A revoked token has none, and neither has a token that
 * was issued after the backup from which this registry was restored.
 */
function unknownToken(): Refusal {
  const message = 'the token is not known here any more: it was revoked, or an older backup of the service was restored'
  return refuse('unauthenticated', 'token_revoked', message)
}

/** The refusal of a token that its API key made before it was narrowed, or rotated at once. */
function olderThanKey(): Refusal {
  const message = 'the API key was changed or rotated since it made the token: take a new token with it'
  return refuse('unauthenticated', 'token_revoked', message)
}

function revoked(): Refusal {
  return refuse('unauthenticated', 'token_revoked', 'the token was revoked')
}
