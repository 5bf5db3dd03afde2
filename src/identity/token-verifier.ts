import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import { BoundedCache } from './bounded-cache.ts'
import type { Clock } from './clock.ts'
import { granted, type Refusal, refuse, type Result } from './result.ts'
import { signatureAlgorithm, type SigningKeyRing } from './signing-keys.ts'

/** The kinds of token. `typ` (RFC 8725 §3.11) and `aud` differ, so that none passes for another. */
export const tokenKinds = {
  session: { typ: 'fieldgate-session+jwt', audience: 'fieldgate:session' },
  secondFactorStep: { typ: 'fieldgate-second-factor+jwt', audience: 'fieldgate:second-factor' },
  brokerAccess: { typ: 'fieldgate-broker-access+jwt', audience: 'fieldgate:broker' },
} as const

/** One of the kinds of token. */
export type TokenKind = keyof typeof tokenKinds

/** What a token of ours says. */
export interface VerifiedToken {
  readonly userId: string
  readonly tokenId: string
  readonly expiresAtMs: number
  readonly claims: JWTPayload
}

/** Tells whether a token is ours, of the kind, and not expired; not whether it was revoked. */
export interface TokenVerifier {
  verify(kind: TokenKind, jwt: string): Promise<Result<VerifiedToken>>
  /** To be called when keys were forgotten. */
  forget(): void
}

/** Ours have some 450 characters. */
const tokenMaximumCharacters = 4096
/**
 * Tokens whose signature was found good, with their texts some 10 MB: a client that reconnects costs no elliptic
 * curve. Only good ones are kept, so nobody else can push them out.
 */
const verifiedMaximum = 10_000

/** A verifier of tokens that were signed with one of the keys for that issuer. */
export function createTokenVerifier(keys: SigningKeyRing, issuer: string, clock: Clock): TokenVerifier {
  const verified = {
    session: new BoundedCache<VerifiedToken>(verifiedMaximum),
    secondFactorStep: new BoundedCache<VerifiedToken>(verifiedMaximum),
    brokerAccess: new BoundedCache<VerifiedToken>(verifiedMaximum),
  }

  return {
    async verify(kind, jwt) {
      if (typeof jwt !== 'string' || jwt.length > tokenMaximumCharacters) return malformed()
      const known = verified[kind].get(jwt)
      if (known !== undefined) return clock.now() < known.expiresAtMs ? granted(known) : expired()
      const kid = readKeyId(jwt)
      if (kid === undefined) return malformed()
      const key = keys.publicKey(kid)
      if (key === undefined) return badSignature()
      const { typ, audience } = tokenKinds[kind]
      let claims: JWTPayload
      try {
        const verification = await jwtVerify(jwt, key, {
          algorithms: [signatureAlgorithm],
          issuer,
          audience,
          typ,
          currentDate: new Date(clock.now()),
          clockTolerance: 0,
          requiredClaims: ['sub', 'jti', 'iat', 'exp'],
        })
        claims = verification.payload
      } catch (error) {
        return refusalOf(error)
      }
      const { sub, jti, exp } = claims
      if (typeof sub !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return malformed()
      const token = { userId: sub, tokenId: jti, expiresAtMs: exp * 1000, claims }
      verified[kind].set(jwt, token)
      return granted(token)
    },

    forget() {
      for (const cache of Object.values(verified)) cache.clear()
    },
  }
}

/** The `kid`, if the header looks like one that we write. No other parameter of a hostile header is ever looked at. */
function readKeyId(jwt: string): string | undefined {
  // Decoders of base64 pass over white space: one token would have many spellings.
  if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(jwt)) return undefined
  try {
    const header = decodeProtectedHeader(jwt)
    const { kid } = header
    return typeof kid === 'string' && Object.keys(header).length === 3 && typeof header.typ === 'string'
      ? kid
      : undefined
  } catch {
    return undefined
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof errors.JWTExpired) return expired()
  if (error instanceof errors.JWTClaimValidationFailed && ['aud', 'typ', 'iss'].includes(error.claim)) {
    return refuse('unauthenticated', 'token_wrong_audience', 'the token is meant for something else')
  }
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JOSEAlgNotAllowed) {
    return badSignature()
  }
  if (error instanceof errors.JOSEError) return malformed()
  throw error
}

function malformed(): Refusal {
  return refuse('unauthenticated', 'token_malformed', 'the token is malformed')
}

function badSignature(): Refusal {
  return refuse('unauthenticated', 'token_signature_invalid', 'the token was not signed by this service')
}

function expired(): Refusal {
  return refuse('unauthenticated', 'token_expired', 'the token has expired')
}
