/**
 * A signing key as the registry stores it. Damage shows, because the key's id is derived from its
 * content.
 */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import type { webcrypto } from 'node:crypto'

/** The row of a signing key. */
export interface StoredKey {
  /** The thumbprint of the public key (RFC 7638). */
  readonly kid: string
  readonly public_jwk: string
  readonly private_jwk: string
}

/** False when the key is not as it was made. */
export function isWholeKey({ kid, public_jwk: publicText, private_jwk: privateText }: StoredKey): boolean {
  try {
    const key = JSON.parse(publicText) as webcrypto.JsonWebKey
    const { crv, kty, x, y } = key
    // RFC 7638 §3.2: the required members, by name.
    const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
    const secret = JSON.parse(privateText) as webcrypto.JsonWebKey
    createPublicKey({ key, format: 'jwk' })
    createPrivateKey({ key: secret, format: 'jwk' })
    return thumbprint === kid && secret.x === x && secret.y === y
  } catch {
    return false
  }
}

/** The problem as a sentence for people. */
export function brokenKeyText(kid: string): string {
  return `The signing key ${kid} is damaged: tokens that it signed are refused.`
}
