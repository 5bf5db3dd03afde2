import assert from 'node:assert/strict'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { done, granted, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Store } from '../store/store.ts'
import { isWholeKey } from '../store/stored-key.ts'

/** The ES256 key pairs that tokens are signed with; `kid` is the thumbprint of RFC 7638. */
export interface SigningKeys {
  /**
   * Signs with a new key from now on. Tokens of the older ones stay good until they expire.
   * Refusal: too_many_signing_keys.
   */
  rotate(actor: Actor): Promise<Result<{ readonly kid: string }>>
  /** The public keys (RFC 7517). */
  jwks(): { readonly keys: readonly JWK[] }
}

/** The one algorithm: ECDSA on P-256 with SHA-256 (RFC 7518 §3.4). */
export const signatureAlgorithm = 'ES256'

/** The keys, with what the tokens need of them. */
export interface SigningKeyRing extends SigningKeys {
  /** Signs with the current key, which is kept until `exp`. */
  sign(typ: string, claims: JWTPayload & { readonly exp: number }): Promise<string>
  /** The public key of that `kid` if it is one of ours. */
  publicKey(kid: string): CryptoKey | undefined
  /** Forgets keys whose last token has expired. True when it did. */
  prune(): Promise<boolean>
}

interface Key {
  readonly kid: string
  readonly publicJwk: JWK
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
  latestExpiryAtMs: number
}

/**
 * Keys that are kept at most: the present one and those whose tokens live. Everybody may ask for
 * all of them, some 25 KB then; a rotation every hour, beside tokens that live a year, would make
 * it megabytes. At the bound none is made.
 */
const MAXIMUM_KEYS = 100

/**
 * A key's end is noted with so much to spare, so that it is written once a day instead of with each
 * token.
 */
const EXPIRY_SLACK_MS = 86_400_000

/**
 * The key ring of a store; the first key is made when there is none. `broken` hears of keys that
 * are damaged: they are left out.
 */
export async function openSigningKeys(store: Store, broken: (kid: string) => void): Promise<SigningKeyRing> {
  const { db, clock } = store
  const keys = new Map<string, Key>()
  let signing: Key | undefined
  for (const row of await db.selectFrom('signing_keys').selectAll().orderBy('created_at').execute()) {
    if (!isWholeKey(row)) {
      broken(row.kid)
      continue
    }
    const key = await importKey(row)
    keys.set(key.kid, key)
    if (row.is_current === 1) signing = key
  }

  async function rotate(actor: Actor): Promise<Result<Key>> {
    const made = await makeKey()
    const outcome = await store.change(actor, async ({ trx, nowMs, audit }) => {
      const { count } = await trx
        .selectFrom('signing_keys')
        .select((eb) => eb.fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= MAXIMUM_KEYS) return tooManyKeys()
      await trx.updateTable('signing_keys').set({ is_current: 0 }).execute()
      await trx
        .insertInto('signing_keys')
        .values({ ...made, is_current: 1, latest_expiry_at: nowMs, created_at: nowMs })
        .execute()
      await audit('signing_key.rotated', made.kid, null)
      return done
    })
    if (!outcome.ok) return outcome
    const key = await importKey({ ...made, latest_expiry_at: clock.now() })
    keys.set(key.kid, key)
    signing = key
    return granted(key)
  }

  if (signing === undefined) await rotate({ userId: null })

  return {
    async rotate(actor) {
      const rotated = await rotate(actor)
      return rotated.ok ? granted({ kid: rotated.value.kid }) : rotated
    },

    jwks: () => ({ keys: Array.from(keys.values(), ({ publicJwk }) => publicJwk) }),

    async sign(typ, claims) {
      const key = signing
      assert(key !== undefined, 'there is a key from the first opening on')
      const expiresAtMs = claims.exp * 1000
      if (expiresAtMs > key.latestExpiryAtMs) {
        const latestExpiryAtMs = expiresAtMs + EXPIRY_SLACK_MS
        await db
          .updateTable('signing_keys')
          .set({ latest_expiry_at: latestExpiryAtMs })
          .where('kid', '=', key.kid)
          .where('latest_expiry_at', '<', latestExpiryAtMs)
          .execute()
        key.latestExpiryAtMs = Math.max(key.latestExpiryAtMs, latestExpiryAtMs)
      }
      return new SignJWT(claims).setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ }).sign(key.privateKey)
    },

    publicKey: (kid) => keys.get(kid)?.publicKey,

    async prune() {
      const pruned = await db
        .deleteFrom('signing_keys')
        .where('is_current', '=', 0)
        .where('latest_expiry_at', '<=', clock.now())
        .returning('kid')
        .execute()
      for (const { kid } of pruned) keys.delete(kid)
      return pruned.length > 0
    },
  }
}

interface KeyRow {
  readonly kid: string
  readonly public_jwk: string
  readonly private_jwk: string
}

async function makeKey(): Promise<KeyRow> {
  const { publicKey, privateKey } = await generateKeyPair(signatureAlgorithm, { extractable: true })
  const publicJwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(publicJwk)
  return {
    kid,
    public_jwk: JSON.stringify({ ...publicJwk, kid, alg: signatureAlgorithm, use: 'sig' }),
    private_jwk: JSON.stringify(await exportJWK(privateKey)),
  }
}

async function importKey(row: KeyRow & { readonly latest_expiry_at: number }): Promise<Key> {
  const publicJwk = JSON.parse(row.public_jwk) as JWK
  return {
    kid: row.kid,
    publicJwk,
    publicKey: (await importJWK(publicJwk, signatureAlgorithm)) as CryptoKey,
    privateKey: (await importJWK(JSON.parse(row.private_jwk) as JWK, signatureAlgorithm)) as CryptoKey,
    latestExpiryAtMs: row.latest_expiry_at,
  }
}

function tooManyKeys(): Refusal {
  const rule = `there are ${MAXIMUM_KEYS} keys with living tokens: wait until those of one have expired`
  return refuse('failed_precondition', 'too_many_signing_keys', rule)
}
