/**
 * The key pairs that tokens are signed with. One key signs. The older keys are kept until the last
 * token that they signed has expired.
 */
import assert from 'node:assert/strict'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { done, granted, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Store } from '../store/store.ts'
import { isWholeKey } from '../store/stored-key.ts'

/** The ES256 key pairs that tokens are signed with. A `kid` is the thumbprint of RFC 7638. */
export interface SigningKeys {
  /**
   * Signs with a new key from now on. Tokens that older keys signed stay good until they expire.
   * Refusal: too_many_signing_keys.
   */
  rotate(actor: Actor): Promise<Result<{ readonly kid: string }>>
  /** The public keys (RFC 7517). */
  jwks(): { readonly keys: readonly JWK[] }
}

/** The one algorithm: ECDSA on P-256 with SHA-256 (RFC 7518 §3.4). */
export const signatureAlgorithm = 'ES256'

/** The keys, with the operations that tokens need. */
export interface SigningKeyRing extends SigningKeys {
  /** Signs with the current key. The key is kept until `exp`. */
  sign(typ: string, claims: JWTPayload & { readonly exp: number }): Promise<string>
  /** The public key of the `kid`; undefined when it is none of ours. */
  publicKey(kid: string): CryptoKey | undefined
  /** Forgets the keys whose last token has expired. True when there was such a key. */
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
 * Keys at most: the current key and those whose tokens live. At the bound no key is made. Anybody
 * may ask for all public keys, which then take some 25 KB. Without the bound, a rotation every hour
 * beside tokens that live a year would make it megabytes.
 */
const MAXIMUM_KEYS = 100

/**
 * The end of a key is noted with this time to spare, so that it is written once a day instead of
 * with each token.
 */
const EXPIRY_SLACK_MS = 86_400_000

/**
 * Opens the key ring of a store, and makes the first key when there is none. A key that is damaged
 * is left out, and `onBroken` hears of it.
 */
export async function openSigningKeys(store: Store, onBroken: (kid: string) => void): Promise<SigningKeyRing> {
  const ring = new StoredKeyRing(store)
  await ring.load(onBroken)
  return ring
}

class StoredKeyRing implements SigningKeyRing {
  readonly #store: Store
  readonly #keys = new Map<string, Key>()
  #current: Key | undefined

  constructor(store: Store) {
    this.#store = store
  }

  async load(onBroken: (kid: string) => void): Promise<void> {
    const rows = await this.#store.db.selectFrom('signing_keys').selectAll().orderBy('created_at').execute()
    for (const row of rows) {
      if (isWholeKey(row)) this.#add(await importKey(row), row.is_current === 1)
      else onBroken(row.kid)
    }
    if (this.#current === undefined) await this.rotate({ userId: null })
  }

  async rotate(actor: Actor): Promise<Result<{ readonly kid: string }>> {
    const made = await makeKey()
    const outcome = await this.#store.change(actor, async ({ trx, nowMs, audit }) => {
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
    this.#add(await importKey({ ...made, latest_expiry_at: this.#store.clock.now() }), true)
    return granted({ kid: made.kid })
  }

  jwks(): { readonly keys: readonly JWK[] } {
    return { keys: Array.from(this.#keys.values(), ({ publicJwk }) => publicJwk) }
  }

  async sign(typ: string, claims: JWTPayload & { readonly exp: number }): Promise<string> {
    const key = this.#current
    assert(key !== undefined, 'there is a key from the first opening on')
    await this.#keepUntil(key, claims.exp * 1000)
    return new SignJWT(claims).setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ }).sign(key.privateKey)
  }

  publicKey(kid: string): CryptoKey | undefined {
    return this.#keys.get(kid)?.publicKey
  }

  async prune(): Promise<boolean> {
    const { db, clock } = this.#store
    const pruned = await db
      .deleteFrom('signing_keys')
      .where('is_current', '=', 0)
      .where('latest_expiry_at', '<=', clock.now())
      .returning('kid')
      .execute()
    for (const { kid } of pruned) this.#keys.delete(kid)
    return pruned.length > 0
  }

  #add(key: Key, isCurrent: boolean): void {
    this.#keys.set(key.kid, key)
    if (isCurrent) this.#current = key
  }

  /** Notes that a token of the key lives until this time. */
  async #keepUntil(key: Key, expiresAtMs: number): Promise<void> {
    if (expiresAtMs <= key.latestExpiryAtMs) return
    const latestExpiryAtMs = expiresAtMs + EXPIRY_SLACK_MS
    await this.#store.db
      .updateTable('signing_keys')
      .set({ latest_expiry_at: latestExpiryAtMs })
      .where('kid', '=', key.kid)
      .where('latest_expiry_at', '<', latestExpiryAtMs)
      .execute()
    key.latestExpiryAtMs = Math.max(key.latestExpiryAtMs, latestExpiryAtMs)
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
