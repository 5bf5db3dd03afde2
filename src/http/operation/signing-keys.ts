/**
 * The keys that sign tokens: everybody reads the public keys, and a global admin asks for a new
 * key.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { accepted } from '../api/errors.ts'
import { responses } from '../api/fields.ts'
import { GLOBAL_ADMIN, OPEN } from '../api/access.ts'
import { route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The part of the registry that signing keys need. */
export type SigningKeyRegistry = Pick<Registry, 'signingKeys'>

/** The public keys, at the address of this API family and at the usual one, and their rotation. */
export function signingKeyRoutes(registry: SigningKeyRegistry): readonly Route[] {
  return [
    publicKeys(registry, '/api/internal/jwks', 'getPublicKeys'),
    publicKeys(registry, '/.well-known/jwks.json', 'getWellKnownPublicKeys'),
    rotation(registry),
  ]
}

const Key = Type.Object(
  {
    kty: Type.String(),
    crv: Type.String(),
    x: Type.String(),
    y: Type.String(),
    kid: Type.String(),
    alg: Type.String(),
    use: Type.String(),
  },
  { description: 'A JSON Web Key (RFC 7517 §4)', [NAME]: 'PublicKey' },
)
const Keys = Type.Object(
  { keys: Type.Array(Key) },
  { description: 'A JSON Web Key Set (RFC 7517 §5)', [NAME]: 'PublicKeySet' },
)

function publicKeys(registry: SigningKeyRegistry, url: string, operationId: string): Route {
  return route({
    method: 'GET',
    url,
    may: OPEN,
    schema: {
      operationId,
      summary: 'Public keys of the tokens',
      description: 'A JSON Web Key Set (RFC 7517).',
      response: responses(Keys),
    },
    // Member by member: a private member could not slip out even if the registry returned it.
    handle: async () => ({
      keys: registry.signingKeys.jwks().keys.map((key) => ({
        kty: key.kty ?? 'EC',
        crv: key.crv ?? '',
        x: key.x ?? '',
        y: key.y ?? '',
        kid: key.kid ?? '',
        alg: key.alg ?? 'ES256',
        use: key.use ?? 'sig',
      })),
    }),
  })
}

const RotatedKey = Type.Object(
  { kid: Type.String({ description: 'The new key’s id.' }) },
  { description: 'The key that signs from now on', [NAME]: 'RotatedKey' },
)

function rotation(registry: SigningKeyRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/keys/rotate',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'rotateSigningKey',
      summary: 'Sign with a new key',
      description:
        'Tokens that were issued before stay good: the older key is among the public keys until the ' +
        'last token that it signed has expired. To end tokens, revoke them. At most 100 keys are kept.',
      response: responses(RotatedKey),
    },
    handle: async ({ viewer }) => {
      return accepted(await registry.signingKeys.rotate(viewer))
    },
  })
}
