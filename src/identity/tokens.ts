import type { Actor, Listed, Page, Result } from './result.ts'

/** What a session token says. */
export interface SessionClaims {
  readonly userId: string
  readonly tokenId: string
  /** As it is now, not as it was when the token was issued. */
  readonly isAdmin: boolean
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

/**
 * JSON Web Tokens (RFC 7519), signed with ES256. The three kinds differ in `typ` and `aud`, so that none passes for another.
 * `verify…` refuses as `unauthenticated` with: token_malformed, token_signature_invalid, token_expired, token_wrong_audience,
 * token_revoked, user_inactive; and as `permission_denied` with not_a_member.
 */
export interface Tokens {
  issueSession(user: { readonly id: string }): Promise<string>
  /** Good for 600 s and for the second step of the login alone. */
  issueSecondFactorStep(user: { readonly id: string }): Promise<string>
  /** Refusals: invalid_ttl (not a whole number of 1 or more), user_inactive, not_a_member, too_many_tokens. */
  issueBrokerAccess(
    grant: { readonly userId: string; readonly organizationId: string; readonly ttlSeconds: number },
    actor?: Actor,
  ): Promise<Result<{ readonly jwt: string; readonly tokenId: string; readonly expiresAtMs: number }>>
  verifySession(jwt: string): Promise<Result<SessionClaims>>
  verifySecondFactorStep(jwt: string): Promise<Result<SecondFactorStepClaims>>
  /** Also notes the use. */
  verifyBrokerAccess(jwt: string): Promise<Result<BrokerAccessClaims>>
  /** Those that are neither expired nor revoked, newest first. */
  listBrokerAccess(
    page: Page & { readonly organizationId?: string; readonly userId?: string },
  ): Promise<Listed<BrokerAccess>>
  getBrokerAccess(tokenId: string): Promise<BrokerAccess | undefined>
  /** Refusal: token_not_found. */
  revokeBrokerAccess(tokenId: string, actor: Actor): Promise<Result<void>>
  /** Voids every session issued until now. Refusal: user_not_found. */
  signOutEverywhere(userId: string, actor: Actor): Promise<Result<void>>
  /** Forgets expired tokens, keys that no living token was signed with, and audit entries past their time. */
  pruneExpired(): Promise<void>
}
