import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose'
import type { Actor } from './result.ts'
import type { Store } from './store.ts'

/** The ES256 key pairs that tokens are signed with; `kid` is the thumbprint of RFC 7638. */
export interface SigningKeys {
  /** Signs with a new key from now on. Tokens of the older ones stay good until they expire. */
  rotate(actor: Actor): Promise<{ readonly kid: string }>
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

/** A key's end is noted with so much to spare, so that it is written once a day instead of with each token. */
const expirySlackMs = 86_400_000

/** The key ring of a store; the first key is made when there is none. */
export async function openSigningKeys(store: Store): Promise<SigningKeyRing> {
  const { db, clock } = store
  const keys = new Map<string, Key>()
  let newest: Key | undefined
  for (const row of await db.selectFrom('signing_keys').selectAll().orderBy('created_at').execute()) {
    const key = await importKey(row)
    keys.set(key.kid, key)
    if (row.is_current === 1) newest = key
  }

  async function rotate(actor: Actor): Promise<Key> {
    const made = await makeKey()
    await store.change(actor, async ({ trx, nowMs, audit }) => {
      await trx.updateTable('signing_keys').set({ is_current: 0 }).execute()
      await trx
        .insertInto('signing_keys')
        .values({ ...made, is_current: 1, latest_expiry_at: nowMs, created_at: nowMs })
        .execute()
      await audit('signing_key.rotated', made.kid, null)
    })
    const key = await importKey({ ...made, latest_expiry_at: clock.now() })
    keys.set(key.kid, key)
    return key
  }

  let signing = newest ?? (await rotate({ userId: null }))

  return {
    async rotate(actor) {
      signing = await rotate(actor)
      return { kid: signing.kid }
    },

    jwks: () => ({ keys: Array.from(keys.values(), ({ publicJwk }) => publicJwk) }),

    async sign(typ, claims) {
      const key = signing
      const expiresAtMs = claims.exp * 1000
      if (expiresAtMs > key.latestExpiryAtMs) {
        const latestExpiryAtMs = expiresAtMs + expirySlackMs
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
