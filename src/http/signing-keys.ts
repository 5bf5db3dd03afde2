/** The keys that tokens are signed with: the public ones for everybody, and a new one when a global admin asks for it. */
import { Type } from 'typebox'
import type { Registry } from '../identity/registry.ts'
import { viewerOf } from './authenticate.ts'
import { accepted } from './errors.ts'
import { responses } from './fields.ts'
import type { HttpApp } from './http-app.ts'
import { SESSION_SECURITY } from './openapi.ts'
import { demandGlobalAdmin } from './ownership.ts'

/** The part of the registry that signing keys need. */
export type SigningKeyRegistry = Pick<Registry, 'signingKeys'>

/** Registers the public keys, at the address of this API family and at the usual one, and their rotation. */
export function addSigningKeyRoutes(app: HttpApp, registry: SigningKeyRegistry): void {
  publicKeys(app, registry)
  rotation(app, registry)
}

function publicKeys(app: HttpApp, registry: SigningKeyRegistry): void {
  const Keys = Type.Object({
    keys: Type.Array(
      Type.Object({
        kty: Type.String(),
        crv: Type.String(),
        x: Type.String(),
        y: Type.String(),
        kid: Type.String(),
        alg: Type.String(),
        use: Type.String(),
      }),
    ),
  })
  for (const url of ['/api/internal/jwks', '/.well-known/jwks.json']) {
    app.route({
      method: 'GET',
      url,
      config: { credential: 'none' },
      schema: {
        tags: ['Operation'],
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

function rotation(app: HttpApp, registry: SigningKeyRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/keys/rotate',
    config: { credential: 'session' },
    schema: {
      tags: ['Operation'],
      summary: 'Sign with a new key',
      description:
        'For global admins. Tokens that were issued before stay good: the older key is among the public keys until the ' +
        'last token that it signed has expired. To end tokens, revoke them. At most 100 keys are kept.',
      security: SESSION_SECURITY,
      response: responses(Type.Object({ kid: Type.String({ description: 'The new key’s id.' }) })),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      return accepted(await registry.signingKeys.rotate(viewer))
    },
  })
}
