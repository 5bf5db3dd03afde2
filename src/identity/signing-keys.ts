import type { JWK } from 'jose'
import type { Actor } from './result.ts'

/** The ES256 key pairs that tokens are signed with; `kid` is the thumbprint of RFC 7638. */
export interface SigningKeys {
  /** Signs with a new key from now on. Tokens of the older ones stay good until they expire. */
  rotate(actor: Actor): Promise<{ readonly kid: string }>
  /** The public keys (RFC 7517). */
  jwks(): { readonly keys: readonly JWK[] }
}
