/** The OpenAPI 3.1 document, generated from the routes' schemas, and a page to browse it that asks nobody else for anything. */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { HttpApp } from './http-app.ts'
import { Type } from 'typebox'

/** Names of the security schemes that routes refer to. */
export const SESSION_SECURITY = [{ session: [] }, { authorization: [] }]

/** For the topic endpoints, which take a broker-access token as well. */
export const SESSION_OR_BROKER_SECURITY = [{ session: [] }, { authorization: [] }, { brokerAccess: [] }]

/** For network servers that post events. */
export const SERVICE_CREDENTIAL_SECURITY = [{ serviceCredential: [] }]

/** Where the browsable reference lives. */
export const REFERENCE_PATH = '/api/docs'

const REFERENCE_CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const HEADER_SCHEME = { type: 'apiKey', in: 'header', name: 'Grpc-Metadata-Authorization' } as const

/** Registers the generator; before any route, or it would miss them. */
export async function registerOpenApi(app: HttpApp, baseUrl: string): Promise<void> {
  await app.register(swagger, {
    // Shows `const` and the like as JSON Schema has them, which OpenAPI 3.1 takes as they are.
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Fieldgate',
        version: '1',
        description:
          'Credentials and topics for device events and downlink commands over MQTT, and the administration of ' +
          'organizations, users, applications and devices. Every error has the same body; `code` is a gRPC status ' +
          'code, `details[0].reason` a stable reason.',
      },
      servers: [{ url: baseUrl }],
      tags: TAGS.map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          session: { ...HEADER_SCHEME, description: '`Bearer <session JWT>`' },
          brokerAccess: { ...HEADER_SCHEME, description: '`Bearer <broker-access JWT>`' },
          serviceCredential: { type: 'http', scheme: 'basic', description: 'A service credential.' },
          authorization: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The same, plain.' },
        },
      },
    },
  })
}

const TAGS = [
  ['Login', 'Sessions, the second factor and one’s own account.'],
  ['Broker access', 'Broker-access tokens and topics.'],
  ['Organizations', 'Organizations and their members.'],
  ['Users', 'Users of the deployment.'],
  ['Applications', 'Applications of an organization.'],
  ['Devices', 'Devices of an application, and their import.'],
  ['Events', 'Stored events of devices and applications.'],
  ['Network servers', 'Service credentials of network servers, and the events that they post.'],
  ['Operation', 'Health, metrics, keys, the audit log and this document.'],
] as const

/** Serves the document at /api/openapi.json and the browsable reference at /api/docs. */
export async function serveOpenApi(app: HttpApp): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: REFERENCE_PATH,
    staticCSP: REFERENCE_CONTENT_SECURITY_POLICY,
    // The validator's badge would tell a third party about this deployment.
    uiConfig: { url: '/api/openapi.json', validatorUrl: null, docExpansion: 'list', deepLinking: true },
    theme: { title: 'Fieldgate API' },
  })
  app.route({
    method: 'GET',
    url: '/api/openapi.json',
    config: { credential: 'none' },
    schema: {
      tags: ['Operation'],
      summary: 'The OpenAPI 3.1 document of this interface',
      description: 'Generated from the schemas that requests are checked with.',
      security: [],
      response: {
        200: Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'OpenAPI document' }),
      },
    },
    handler: async () => app.swagger(),
  })
}
