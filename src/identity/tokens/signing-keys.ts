/**
 * The key pairs that tokens are signed with. One key signs. The older keys are kept until the last
 * token that they signed has expired.
 */
import assert from 'node:assert/strict'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { granted, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Changes } from '../store/changes.ts'
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
  /**
   * Reads the keys again if another process may have made the key of this `kid`. True when the key
   * is there now. Anybody can make a `kid` up, so the keys are read once a second at most.
   */
  look(kid: string): Promise<boolean>
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

/** How often an unknown `kid` may make the process read the keys again. */
const LOOK_MS = 1_000
/** Clocks of processes that share a registry differ: a key outlives its last token by this time. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * Opens the key ring of a store, and makes the first key when there is none. A key that is damaged
 * is left out, and `onBroken` hears of it.
 */
export async function openSigningKeys(
  store: Store,
  changes: Changes,
  onBroken: (kid: string) => void,
  onError: (error: unknown) => void,
): Promise<SigningKeyRing> {
  const ring = new StoredKeyRing(store, onBroken)
  await ring.open()
  changes.subscribe((change) => {
    const isRotated = change.kind === 'signing_key_rotated' && change.kid !== ring.currentKid
    if (isRotated || change.kind === 'resynchronized') ring.load().catch(onError)
  })
  return ring
}

class StoredKeyRing implements SigningKeyRing {
  readonly #store: Store
  readonly #onBroken: (kid: string) => void
  readonly #keys = new Map<string, Key>()
  #current: Key | undefined
  #lookedAtMs = -Infinity

  constructor(store: Store, onBroken: (kid: string) => void) {
    this.#store = store
    this.#onBroken = onBroken
  }

  get currentKid(): string | undefined {
    return this.#current?.kid
  }

  async open(): Promise<void> {
    await this.load()
    // Another process may make the first key at the same time.
    if (this.#current === undefined) await this.#replace({ userId: null }, undefined)
  }

  async load(): Promise<void> {
    const rows = await this.#store.db.selectFrom('signing_keys').selectAll().orderBy('created_at').execute()
    for (const row of rows) {
      if (isWholeKey(row)) this.#add(await importKey(row), row.is_current === 1)
      else this.#onBroken(row.kid)
    }
  }

  async look(kid: string): Promise<boolean> {
    const nowMs = this.#store.clock.steady()
    if (this.#store.dialect === 'sqlite' || this.#keys.has(kid) || nowMs - this.#lookedAtMs < LOOK_MS) return false
    this.#lookedAtMs = nowMs
    await this.load()
    return this.#keys.has(kid)
  }

  rotate(actor: Actor): Promise<Result<{ readonly kid: string }>> {
    return this.#replace(actor, this.#current)
  }

  /**
   * Makes a key that signs from now on. Without a key to replace, a key that another process has
   * made meanwhile is taken instead.
   */
  async #replace(actor: Actor, replaced: Key | undefined): Promise<Result<{ readonly kid: string }>> {
    const made = await makeKey()
    const outcome = await this.#store.change(actor, async ({ trx, nowMs, audit, emit }) => {
      const known = await trx.selectFrom('signing_keys').selectAll().execute()
      const other = known.find((row) => row.is_current === 1 && isWholeKey(row))
      if (replaced === undefined && other !== undefined) return granted(other)
      if (known.length >= MAXIMUM_KEYS) return tooManyKeys()
      await trx.updateTable('signing_keys').set({ is_current: 0 }).execute()
      const row = { ...made, is_current: 1, latest_expiry_at: nowMs, created_at: nowMs }
      await trx.insertInto('signing_keys').values(row).execute()
      await audit('signing_key.rotated', made.kid, null)
      emit({ kind: 'signing_key_rotated', kid: made.kid })
      return granted(row)
    })
    if (!outcome.ok) return outcome
    this.#add(await importKey(outcome.value), true)
    return granted({ kid: outcome.value.kid })
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
    const { clock, dialect } = this.#store
    const endMs = clock.now() - (dialect === 'sqlite' ? 0 : CLOCKS_DIFFER_MS)
    const pruned = await this.#store.transaction((trx) =>
      trx
        .deleteFrom('signing_keys')
        .where('is_current', '=', 0)
        .where('latest_expiry_at', '<=', endMs)
        .returning('kid')
        .execute(),
    )
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
