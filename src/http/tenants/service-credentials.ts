/** The routes of the credentials with which network servers connect to the broker. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import type { ServiceCredential } from '../../identity/tenants/service-credentials.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import {
  A_NAME,
  Empty,
  idInBody,
  idOrNothing,
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
import { given } from '../../given.ts'
import { inOrganizationOrDeployment, onHidden } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
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

/** The routes of service credentials. */
export function serviceCredentialRoutes(registry: ServiceCredentialRegistry): readonly Route[] {
  return resource('Network servers', [listCredentials(registry), issueCredential(registry), revokeCredential(registry)])
}

function listCredentials(registry: ServiceCredentialRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/service-credentials',
    may: inOrganizationOrDeployment('serviceCredential.manage', 'query.organizationID'),
    schema: {
      operationId: 'listServiceCredentials',
      summary: 'List service credentials',
      description:
        'The credentials of the organization; without organizationID all credentials of the deployment. Passwords are never ' +
        'told again.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(CredentialItem, 'ServiceCredentialList')),
    },
    handle: async ({ organizationId }, request) => {
      const page = { ...pageOf(request.query), ...given({ organizationId }) }
      return written(await registry.serviceCredentials.list(page), itemOf)
    },
  })
}

function issueCredential(registry: ServiceCredentialRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/service-credentials',
    may: inOrganizationOrDeployment('serviceCredential.manage', 'body.serviceCredential.organizationID'),
    schema: {
      operationId: 'createServiceCredential',
      summary: 'Issue a service credential',
      description:
        'With organizationID "" the credential is good for the whole deployment. The password is told here and never again.',
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
    before: ({ body }) => {
      if (body.serviceCredential.name.trim() === '') {
        throw invalidArgument('serviceCredential.name: must not be empty')
      }
    },
    handle: async ({ viewer, organizationId }, request) => {
      const created = { name: request.body.serviceCredential.name, organizationId: organizationId ?? null }
      return accepted(await registry.serviceCredentials.create(created, viewer))
    },
  })
}

function revokeCredential(registry: ServiceCredentialRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/service-credentials/:id',
    may: onHidden('serviceCredential.manage', {
      named: 'params.id',
      find: (id) => registry.serviceCredentials.get(id),
      organizationIdOf: (credential) => credential.organizationId,
    }),
    schema: {
      operationId: 'revokeServiceCredential',
      summary: 'Revoke a service credential',
      description: 'Ends its connections at once.',
      params: Type.Object({ id: opaqueId('Service credential id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer, found }) => {
      accepted(await registry.serviceCredentials.revoke(found.id, viewer))
      return {}
    },
  })
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
