/** The credentials with which network servers connect to the broker. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import type { Viewer } from '../../identity/store/result.ts'
import type { ServiceCredential } from '../../identity/tenants/service-credentials.ts'
import { viewerOf } from '../api/authenticate.ts'
import { accepted, invalidArgument, objectNotFound } from '../api/errors.ts'
import {
  A_NAME,
  Empty,
  givenId,
  idInBody,
  idOrNothing,
  idText,
  listOf,
  opaqueId,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  ruledText,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { demandGlobalAdmin, demandIn, roleIn } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { mayDo } from '../api/permissions.ts'
import { ALSO_ACCEPTS, DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** The parts of the registry that service credentials need. */
export type ServiceCredentialRegistry = OwnershipRegistry & Pick<Registry, 'serviceCredentials'>

const CredentialItem = Type.Object(
  {
    id: opaqueId('Service credential id.'),
    name: Type.String(),
    userName: Type.String({ description: 'MQTT user name.' }),
    organizationID: idOrNothing('"" for the whole deployment.'),
    createdAt: Timestamp,
  },
  { description: 'Service credential', [NAME]: 'ServiceCredential' },
)

const IssuedCredential = Type.Object(
  {
    id: opaqueId('Service credential id.'),
    userName: Type.String({ description: 'MQTT user name.' }),
    password: Type.String({ description: 'Told only here.' }),
  },
  { description: 'A service credential with its password', [NAME]: 'IssuedServiceCredential' },
)

const EveryOrganization = Type.Literal('')

/** Registers the routes of service credentials. */
export function addServiceCredentialRoutes(app: HttpApp, registry: ServiceCredentialRegistry): void {
  listCredentials(app, registry)
  issueCredential(app, registry)
  revokeCredential(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Network servers'], security: SESSION_SECURITY }

function listCredentials(app: HttpApp, registry: ServiceCredentialRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/service-credentials',
    config,
    schema: {
      ...common,
      operationId: 'listServiceCredentials',
      summary: 'List service credentials',
      description:
        'Those of an organization, for its admins; without organizationID all of the deployment, for global admins. ' +
        'Passwords are never told again.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(CredentialItem, 'ServiceCredentialList')),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const organizationId = givenId(request.query.organizationID)
      if (organizationId === undefined) demandGlobalAdmin(viewer)
      else await demandIn(registry, viewer, organizationId, 'serviceCredential.manage')
      const page = { ...pageOf(request.query), ...(organizationId === undefined ? {} : { organizationId }) }
      return written(await registry.serviceCredentials.list(page), itemOf)
    },
  })
}

function issueCredential(app: HttpApp, registry: ServiceCredentialRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/service-credentials',
    config,
    schema: {
      ...common,
      operationId: 'createServiceCredential',
      summary: 'Issue a service credential',
      description:
        'For an organization, by its admins; with organizationID "" for the whole deployment, by global admins. The ' +
        'password is told here and never again.',
      body: Type.Object({
        serviceCredential: Type.Object(
          {
            name: ruledText(100, 'Name for people.', A_NAME),
            organizationID: Type.Union([EveryOrganization, idInBody('Organization id.')], {
              description: 'Organization id, or "" for the whole deployment.',
              [RULE]: 'must be a string of digits, or "" for the whole deployment',
              [DOCUMENTED]: { type: 'string', pattern: '^[0-9]{0,19}$', [ALSO_ACCEPTS]: ['integer'] },
            }),
          },
          { [NAME]: 'NewServiceCredential' },
        ),
      }),
      response: responses(IssuedCredential),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const { name, organizationID } = request.body.serviceCredential
      if (name.trim() === '') throw invalidArgument('serviceCredential.name: must not be empty')
      // Only "" means everything: a 0 that a client's zero value turned into must not.
      const organizationId = organizationID === '' ? null : idText(organizationID)
      if (organizationId === null) demandGlobalAdmin(viewer)
      else await demandIn(registry, viewer, organizationId, 'serviceCredential.manage')
      return accepted(await registry.serviceCredentials.create({ name, organizationId }, viewer))
    },
  })
}

function revokeCredential(app: HttpApp, registry: ServiceCredentialRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/service-credentials/:id',
    config,
    schema: {
      ...common,
      operationId: 'revokeServiceCredential',
      summary: 'Revoke a service credential',
      description: 'For admins of its organization. Ends its connections at once.',
      params: Type.Object({ id: opaqueId('Service credential id.') }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const credential = await find(registry, request.params.id)
      if (credential === undefined || !(await mayManage(registry, viewer, credential))) throw objectNotFound()
      accepted(await registry.serviceCredentials.revoke(credential.id, viewer))
      return {}
    },
  })
}

/**
 * Whoever may not manage a credential does not hear that it exists, members of its organization
 * included.
 */
async function mayManage(
  registry: ServiceCredentialRegistry,
  viewer: Viewer,
  { organizationId }: ServiceCredential,
): Promise<boolean> {
  if (viewer.isAdmin) return true
  if (organizationId === null) return false
  return mayDo(await roleIn(registry, viewer, organizationId), 'serviceCredential.manage')
}

const FIND_PAGE = 1000

/** The registry lists credentials and does not look one up; a deployment has a handful. */
async function find(registry: ServiceCredentialRegistry, id: string): Promise<ServiceCredential | undefined> {
  for (let offset = 0; ; offset += FIND_PAGE) {
    const { items } = await registry.serviceCredentials.list({ limit: FIND_PAGE, offset })
    const found = items.find((credential) => credential.id === id)
    if (found !== undefined || items.length < FIND_PAGE) return found
  }
}

function itemOf(credential: ServiceCredential) {
  return {
    id: credential.id,
    name: credential.name,
    userName: credential.userName,
    organizationID: credential.organizationId ?? '',
    createdAt: timestamp(credential.createdAtMs),
  }
}
