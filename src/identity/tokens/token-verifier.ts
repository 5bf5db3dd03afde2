/**
 * Verifies the form, the origin and the time of tokens. Whether a token was revoked is asked
 * elsewhere (`standing.ts`).
 */
import { KeyObject, verify as verifySignature } from 'node:crypto'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Clock } from '../../clock.ts'
import { granted, refuse } from '../store/result.ts'
import type { Refusal, Result } from '../store/result.ts'
import { signatureAlgorithm } from './signing-keys.ts'
import type { SigningKeyRing } from './signing-keys.ts'
import type { TokenDigests } from './token-digests.ts'
import { parseObject } from '../../json.ts'
import type { JsonObject } from '../../json.ts'

/** The kinds of token. `typ` (RFC 8725 §3.11) and `aud` differ, so that none passes for another. */
export const tokenKinds = {
  session: { typ: 'fieldgate-session+jwt', audience: 'fieldgate:session' },
  secondFactorStep: { typ: 'fieldgate-second-factor+jwt', audience: 'fieldgate:second-factor' },
  brokerAccess: { typ: 'fieldgate-broker-access+jwt', audience: 'fieldgate:broker' },
} as const

/** A kind of token. */
export type TokenKind = keyof typeof tokenKinds

/** The contents of a token that this service signed. */
export interface VerifiedToken {
  readonly userId: string
  readonly tokenId: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  /** All members of the token's payload. */
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * Tells whether a token was signed by this service, is of the kind, and has not expired; not
 * whether the token was revoked.
 */
export interface TokenVerifier {
  verify(kind: TokenKind, jwt: string): Result<VerifiedToken>
  /** Like `verify`, but takes expired tokens, too. */
  read(kind: TokenKind, jwt: string): Result<VerifiedToken>
  /**
   * Whether the text names a key that is known only since now. Then it is worth another try.
   */
  learnsKeyOf(jwt: string): Promise<boolean>
  /** To be called after keys were pruned. */
  forget(): void
}

/** The longest text that is looked at. Real tokens have some 450 characters. */
const MAXIMUM_TOKEN_CHARACTERS = 4096
/**
 * Tokens whose signature was verified; with their texts some 10 MB. A client that reconnects costs
 * no elliptic curve. Only verified tokens are kept, so nobody can push them out with forged tokens.
 */
const MAXIMUM_VERIFIED = 10_000

/** The parts of a verifier. */
export interface TokenVerifierParts {
  readonly keys: SigningKeyRing
  readonly digests: TokenDigests
  readonly issuer: string
  readonly clock: Pick<Clock, 'now'>
}

/**
 * A verifier of the tokens that the keys signed for the issuer. It verifies on the caller's thread:
 * the way to another thread and back costs as much as the curve.
 */
export function createTokenVerifier({ keys, digests, issuer, clock }: TokenVerifierParts): TokenVerifier {
  const verified = {
    session: new BoundedCache<VerifiedToken>(MAXIMUM_VERIFIED),
    secondFactorStep: new BoundedCache<VerifiedToken>(MAXIMUM_VERIFIED),
    brokerAccess: new BoundedCache<VerifiedToken>(MAXIMUM_VERIFIED),
  }

  function read(kind: TokenKind, jwt: string): Result<VerifiedToken> {
    const parts = partsOf(jwt)
    const header = parts && readHeader(parts.header)
    if (parts === undefined || header === undefined) return malformed()
    // The type is checked before the signature because it is cheaper. The other reason of refusal
    // tells an attacker nothing.
    if (header.typ !== tokenKinds[kind].typ) return wrongAudience()
    const key = keys.publicKey(header.kid)
    if (key === undefined || header.alg !== signatureAlgorithm) return badSignature()
    const claims = decodedObject(parts.payload)
    if (!isIssued(kind, claims, jwt) && !isSigned(parts, KeyObject.from(key))) return badSignature()
    if (claims === undefined) return malformed()
    const { iss, aud, sub, jti, iat, exp } = claims
    if (iss !== issuer || aud !== tokenKinds[kind].audience) return wrongAudience()
    if (typeof sub !== 'string' || typeof jti !== 'string') return malformed()
    if (typeof iat !== 'number' || typeof exp !== 'number') return malformed()
    return granted({ userId: sub, tokenId: jti, issuedAtMs: iat * 1000, expiresAtMs: exp * 1000, claims })
  }

  /** True for a text that the registry is known to have issued. */
  function isIssued(kind: TokenKind, claims: JsonObject | undefined, jwt: string): boolean {
    const tokenId = claims?.['jti']
    return kind === 'brokerAccess' && typeof tokenId === 'string' && digests.recognizes(tokenId, jwt)
  }

  function readOnce(kind: TokenKind, jwt: string): Result<VerifiedToken> {
    if (typeof jwt !== 'string' || jwt.length > MAXIMUM_TOKEN_CHARACTERS) return malformed()
    const known = verified[kind].get(jwt)
    if (known !== undefined) return granted(known)
    const found = read(kind, jwt)
    if (found.ok && isCurrent(found.value, clock)) verified[kind].set(jwt, found.value)
    return found
  }

  return {
    verify(kind, jwt) {
      const found = readOnce(kind, jwt)
      return !found.ok || isCurrent(found.value, clock) ? found : tokenExpired()
    },

    read: readOnce,

    async learnsKeyOf(jwt) {
      const parts = jwt.length > MAXIMUM_TOKEN_CHARACTERS ? undefined : partsOf(jwt)
      const header = parts && readHeader(parts.header)
      return header !== undefined && keys.publicKey(header.kid) === undefined && keys.look(header.kid)
    },

    forget() {
      for (const cache of Object.values(verified)) cache.clear()
    },
  }
}

/**
 * RFC 7519 §4.1.4. The comparison is written so that an `exp` that is no number counts as passed.
 */
function isCurrent({ expiresAtMs }: VerifiedToken, clock: Pick<Clock, 'now'>): boolean {
  return clock.now() < expiresAtMs
}

interface TokenTexts {
  /** The signed text: header and payload with the dot between them. */
  readonly signed: string
  readonly header: string
  readonly payload: string
  readonly signature: string
}

/** The parts of a JWS in its compact form (RFC 7515 §7.1). */
function partsOf(jwt: string): TokenTexts | undefined {
  // Decoders of base64 skip white space and unknown characters. Without this check one token would
  // have many spellings.
  if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(jwt)) return undefined
  const first = jwt.indexOf('.')
  const last = jwt.lastIndexOf('.')
  return {
    signed: jwt.slice(0, last),
    header: jwt.slice(0, first),
    payload: jwt.slice(first + 1, last),
    signature: jwt.slice(last + 1),
  }
}

/**
 * The header, if it has exactly the members that this service writes. Other parameters, of a
 * hostile header, are never looked at.
 */
function readHeader(text: string): { readonly alg: unknown; readonly kid: string; readonly typ: string } | undefined {
  const header = decodedObject(text)
  if (header === undefined || Object.keys(header).length !== 3) return undefined
  const { alg, kid, typ } = header
  return typeof kid === 'string' && typeof typ === 'string' ? { alg, kid, typ } : undefined
}

/** Parses a JSON object in base64url; undefined when the text holds none. */
function decodedObject(text: string): JsonObject | undefined {
  return parseObject(Buffer.from(text, 'base64url'))
}

/** ES256 (RFC 7518 §3.4): ECDSA on P-256 with SHA-256, its two numbers side by side in 64 bytes. */
function isSigned({ signed, signature }: TokenTexts, key: KeyObject): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  // The last character has four bits to spare. Only one of its sixteen spellings is accepted.
  if (bytes.length !== 64 || bytes.toString('base64url') !== signature) return false
  return verifySignature('sha256', Buffer.from(signed, 'latin1'), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}

function wrongAudience(): Refusal {
  return refuse('unauthenticated', 'token_wrong_audience', 'the token is meant for something else')
}

function malformed(): Refusal {
  return refuse('unauthenticated', 'token_malformed', 'the token is malformed')
}

function badSignature(): Refusal {
  return refuse('unauthenticated', 'token_signature_invalid', 'the token was not signed by this service')
}

/** The refusal of an expired token. */
export function tokenExpired(): Refusal {
  return refuse('unauthenticated', 'token_expired', 'the token has expired')
}
