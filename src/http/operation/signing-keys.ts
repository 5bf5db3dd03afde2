/**
 * The keys that tokens are signed with: the public ones for everybody, and a new one when a global
 * admin asks for it.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { viewerOf } from '../api/authenticate.ts'
import { accepted } from '../api/errors.ts'
import { responses } from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { demandGlobalAdmin } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The part of the registry that signing keys need. */
export type SigningKeyRegistry = Pick<Registry, 'signingKeys'>

/**
 * Registers the public keys, at the address of this API family and at the usual one, and their
 * rotation.
 */
export function addSigningKeyRoutes(app: HttpApp, registry: SigningKeyRegistry): void {
  publicKeys(app, registry)
  rotation(app, registry)
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

function publicKeys(app: HttpApp, registry: SigningKeyRegistry): void {
  for (const [url, operationId] of [
    ['/api/internal/jwks', 'getPublicKeys'],
    ['/.well-known/jwks.json', 'getWellKnownPublicKeys'],
  ] as const) {
    app.route({
      method: 'GET',
      url,
      config: { credential: 'none' },
      schema: {
        tags: ['Operation'],
        operationId,
        summary: 'Public keys of the tokens',
        description: 'A JSON Web Key Set (RFC 7517).',
        security: [],
        response: responses(Keys),
      },
      // Member by member: a private one could not slip out even if the registry handed it over.
      handler: async () => ({
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
}

const RotatedKey = Type.Object(
  { kid: Type.String({ description: 'The new key’s id.' }) },
  { description: 'The key that signs from now on', [NAME]: 'RotatedKey' },
)

function rotation(app: HttpApp, registry: SigningKeyRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/keys/rotate',
    config: { credential: 'session' },
    schema: {
      tags: ['Operation'],
      operationId: 'rotateSigningKey',
      summary: 'Sign with a new key',
      description:
        'For global admins. Tokens that were issued before stay good: the older key is among the public keys until the ' +
        'last token that it signed has expired. To end tokens, revoke them. At most 100 keys are kept.',
      security: SESSION_SECURITY,
      response: responses(RotatedKey),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      return accepted(await registry.signingKeys.rotate(viewer))
    },
  })
}
