/**
 * The OpenAPI 3.1 document, generated from the routes' schemas, and the page that shows it to
 * people.
 */
import swagger from '@fastify/swagger'
import { Type } from 'typebox'
import { DOCUMENTATION_POLICY } from '../pages/documentation.ts'
import type { Documentation } from '../pages/documentation.ts'
import { ErrorBodySchema } from './errors.ts'
import { OPEN } from './access.ts'
import { responses } from './fields.ts'
import { resource, route } from './routes.ts'
import type { Route } from './routes.ts'
import type { HttpApp } from './http-app.ts'
import { withComponents } from './openapi-components.ts'
import { referenceOf } from '../pages/reference-page.ts'
import { ASKED_EACH_TIME, sendStaticFile, staticFile } from '../pages/static-files.ts'
import type { StaticFile } from '../pages/static-files.ts'

/** Where the browsable reference lives. */
const REFERENCE_PATH = '/api/docs'

const BEARER = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const

const OTHER_HEADER =
  'The header `Grpc-Metadata-Authorization` takes it as well, with the same value (`Bearer`, a space, the JWT), and is looked at first.'

const errorContent = { 'application/json': { schema: ErrorBodySchema } }
const ERROR_RESPONSES = {
  ClientError: {
    description:
      'The request was refused; `details[0].reason` says why. With 429, and where it helps, Retry-After names the seconds to wait.',
    content: errorContent,
  },
  ServerError: {
    description: 'The service could not do it now. Where it is known, Retry-After names the seconds to wait.',
    content: errorContent,
  },
}

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
        contact: { name: 'The operator of this deployment', url: baseUrl },
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: baseUrl, description: 'This deployment' }],
      tags: TAGS.map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          bearer: {
            ...BEARER,
            description: `The session JWT that \`login\` answers, or an API key where the operation names a right. ${OTHER_HEADER}`,
          },
          brokerAccess: {
            ...BEARER,
            description: `The broker-access JWT that \`createBrokerToken\` answers. ${OTHER_HEADER}`,
          },
          metricsToken: {
            type: 'http',
            scheme: 'bearer',
            description: 'A metrics token, as `createMetricsToken` answers it.',
          },
          serviceCredential: { type: 'http', scheme: 'basic', description: 'A service credential.' },
          brokerHook: {
            type: 'http',
            scheme: 'basic',
            description: 'Any user name, and a secret of `FIELDGATE_BROKER_HOOK_SECRETS` as the password.',
          },
        },
      },
    },
    transformObject: (document) =>
      'openapiObject' in document ? withComponents(document.openapiObject, ERROR_RESPONSES) : document.swaggerObject,
  })
}

const TAGS = [
  ['Login', 'Sessions, the second factor and one’s own account.'],
  ['Broker access', 'Broker-access tokens and topics.'],
  ['API keys', 'The credentials of programs, of an organization and of the deployment.'],
  ['Organizations', 'Organizations and their members.'],
  ['Users', 'Users of the deployment.'],
  ['Applications', 'Applications of an organization.'],
  ['Devices', 'Devices of an application, and their import.'],
  ['Events', 'Stored events of devices and applications.'],
  ['Contracts', 'JSON Schemas of the messages of the broker, and its AsyncAPI document.'],
  ['Device profiles', 'Device profiles: codecs and values for devices of one kind.'],
  ['Device library', 'The library of the deployment, from which device profiles are made.'],
  ['Webhooks', 'Webhooks, to which the events of an organization go out.'],
  ['Network servers', 'Service credentials of network servers, and the events that they post.'],
  ['Broker hooks', 'Questions of mosquitto, EMQX and RabbitMQ about their clients.'],
  ['Operation', 'Health, metrics, keys, the audit log and this document.'],
] as const

/**
 * The document at /api/openapi.json, and the reference in the frame of the documentation at
 * /api/docs.
 */
export function openApiRoutes(app: HttpApp, documentation: Documentation): readonly Route[] {
  const document = route({
    method: 'GET',
    url: '/api/openapi.json',
    may: OPEN,
    schema: {
      operationId: 'getOpenApiDocument',
      summary: 'The OpenAPI 3.1 document of this interface',
      description: 'Generated from the schemas that requests are checked with.',
      response: responses(
        Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'OpenAPI document' }),
      ),
    },
    handle: async () => app.swagger(),
  })
  return [...referenceRoutes(app, documentation), ...resource('Operation', [document])]
}

/**
 * The page, and the entries of its search. The first request makes both: before it, routes are
 * missing.
 */
function referenceRoutes(app: HttpApp, documentation: Documentation): readonly Route[] {
  let files: { readonly page: StaticFile; readonly search: StaticFile } | undefined
  const made = (): NonNullable<typeof files> => {
    const { content, contents, searchPage } = referenceOf({ ...app.swagger() }, REFERENCE_PATH)
    const page = staticFile('.html', documentation.framed({ content, contents }))
    return { page, search: staticFile('.json', JSON.stringify([searchPage])) }
  }
  const served = (url: string, name: 'page' | 'search'): Route =>
    route({
      method: 'GET',
      url,
      may: OPEN,
      schema: { hide: true },
      handle: async (_nobody, request, reply) => {
        files ??= made()
        reply.header('content-security-policy', DOCUMENTATION_POLICY)
        sendStaticFile(request, reply, files[name], ASKED_EACH_TIME)
        return reply
      },
    })
  return [served(REFERENCE_PATH, 'page'), served(`${REFERENCE_PATH}/search.json`, 'search')]
}
