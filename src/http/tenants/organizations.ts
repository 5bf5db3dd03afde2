/** Endpoint 2 of the specification, and the administration of organizations. */
import { Type } from 'typebox'
import { MAXIMUM_NAME, ORGANIZATION_NAME_PATTERN } from '../../identity/tenants/organizations.ts'
import type { Organization } from '../../identity/tenants/organizations.ts'
import type { Registry } from '../../identity/registry.ts'
import { viewerOf } from '../api/authenticate.ts'
import { accepted, permissionDenied } from '../api/errors.ts'
import {
  A_NAME,
  A_NAME_OR_NOTHING,
  Created,
  Empty,
  flag,
  id,
  listOf,
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
import { demandGlobalAdmin, demandIn, organizationFor } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that organizations need. */
export type OrganizationRegistry = OwnershipRegistry & Pick<Registry, 'organizations'>

const Members = {
  id: id('Organization id.'),
  name: Type.String({ examples: ['acme'] }),
  displayName: Type.String({ examples: ['Acme Metering'] }),
  canHaveGateways: Type.Boolean(),
}
const Times = { createdAt: Timestamp, updatedAt: Timestamp }
const OrganizationItem = Type.Object({ ...Members, ...Times }, { description: 'Organization', [NAME]: 'Organization' })
const OrganizationDetails = Type.Object(
  { organization: Type.Object(Members, { [NAME]: 'OrganizationFields' }), ...Times },
  { description: 'An organization by itself', [NAME]: 'OrganizationDetails' },
)

const Name = ruledText(100, 'Letters, digits, _ and -; unique in the deployment.', {
  minLength: 1,
  maxLength: MAXIMUM_NAME,
  pattern: ORGANIZATION_NAME_PATTERN,
})
const DisplayName = ruledText(200, 'Name for people.', { ...A_NAME, maxLength: MAXIMUM_NAME })
const FirstDisplayName = ruledText(200, 'Name for people; the name when not given.', {
  ...A_NAME_OR_NOTHING,
  maxLength: MAXIMUM_NAME,
})
const CanHaveGateways = flag('Whether the organization may have gateways of its own.')

const Parameters = Type.Object({ id: id('Organization id.') })

/** Registers the routes of organizations. */
export function addOrganizationRoutes(app: HttpApp, registry: OrganizationRegistry): void {
  listOrganizations(app, registry)
  createOrganization(app, registry)
  getOrganization(app, registry)
  changeOrganization(app, registry)
  deleteOrganization(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Organizations'], security: SESSION_SECURITY }

function listOrganizations(app: HttpApp, registry: OrganizationRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/organizations',
    config,
    schema: {
      ...common,
      operationId: 'listOrganizations',
      summary: 'List my organizations',
      description: 'The organizations that the caller is a member of (a global admin: all), sorted by displayName.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(OrganizationItem, 'OrganizationList')),
    },
    handler: async (request) =>
      written(await registry.organizations.list(viewerOf(request), pageOf(request.query)), itemOf),
  })
}

function createOrganization(app: HttpApp, registry: OrganizationRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/organizations',
    config,
    schema: {
      ...common,
      operationId: 'createOrganization',
      summary: 'Create an organization',
      description: 'For global admins.',
      body: Type.Object({
        organization: Type.Object(
          {
            name: Name,
            displayName: Type.Optional(FirstDisplayName),
            canHaveGateways: Type.Optional(CanHaveGateways),
          },
          { [NAME]: 'NewOrganization' },
        ),
      }),
      response: responses(Created),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      const { name, displayName, canHaveGateways } = request.body.organization
      const organization = {
        name,
        displayName: displayName === undefined || displayName === '' ? name : displayName,
        canHaveGateways: canHaveGateways ?? false,
      }
      return accepted(await registry.organizations.create(organization, viewer))
    },
  })
}

function getOrganization(app: HttpApp, registry: OrganizationRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/organizations/:id',
    config,
    schema: {
      ...common,
      operationId: 'getOrganization',
      summary: 'Get an organization',
      description: 'For its members.',
      params: Parameters,
      response: responses(OrganizationDetails),
    },
    handler: async (request) => {
      const organization = await organizationFor(registry, viewerOf(request), request.params.id, 'organization.read')
      const { createdAt, updatedAt, ...members } = itemOf(organization)
      return { organization: members, createdAt, updatedAt }
    },
  })
}

function changeOrganization(app: HttpApp, registry: OrganizationRegistry): void {
  app.route({
    method: 'PUT',
    url: '/api/organizations/:id',
    config,
    schema: {
      ...common,
      operationId: 'updateOrganization',
      summary: 'Change an organization',
      description:
        'Members that are left out stay. Its admins may change displayName; name and canHaveGateways are a global admin’s.',
      params: Parameters,
      body: Type.Object({
        organization: Type.Object(
          {
            name: Type.Optional(Name),
            displayName: Type.Optional(DisplayName),
            canHaveGateways: Type.Optional(CanHaveGateways),
          },
          { [NAME]: 'OrganizationChanges' },
        ),
      }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const organization = await organizationFor(registry, viewer, request.params.id, 'organization.update')
      const { name, displayName, canHaveGateways } = request.body.organization
      const isGoverned =
        (name !== undefined && name !== organization.name) ||
        (canHaveGateways !== undefined && canHaveGateways !== organization.canHaveGateways)
      if (isGoverned && !viewer.isAdmin) {
        throw permissionDenied('permission denied: only a global admin may change name and canHaveGateways')
      }
      const fields = {
        ...(name === undefined ? {} : { name }),
        ...(displayName === undefined ? {} : { displayName }),
        ...(canHaveGateways === undefined ? {} : { canHaveGateways }),
      }
      accepted(await registry.organizations.update(organization.id, fields, viewer))
      return {}
    },
  })
}

function deleteOrganization(app: HttpApp, registry: OrganizationRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/organizations/:id',
    config,
    schema: {
      ...common,
      operationId: 'deleteOrganization',
      summary: 'Delete an organization',
      description:
        'For global admins. Takes its applications, devices, broker-access tokens and service credentials along, and ends ' +
        'their connections.',
      params: Parameters,
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      await demandIn(registry, viewer, request.params.id, 'organization.govern')
      accepted(await registry.organizations.remove(request.params.id, viewer))
      return {}
    },
  })
}

function itemOf(organization: Organization) {
  return {
    id: organization.id,
    name: organization.name,
    displayName: organization.displayName,
    canHaveGateways: organization.canHaveGateways,
    createdAt: timestamp(organization.createdAtMs),
    updatedAt: timestamp(organization.updatedAtMs),
  }
}
