/** Endpoint 2 of the specification, and the administration of organizations. */
import { Type } from 'typebox'
import { MAXIMUM_NAME, ORGANIZATION_NAME_PATTERN } from '../../identity/tenants/organizations.ts'
import type { Organization } from '../../identity/tenants/organizations.ts'
import type { Registry } from '../../identity/registry.ts'
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
  Times,
  timesOf,
  written,
} from '../api/fields.ts'
import { given } from '../../given.ts'
import { GLOBAL_ADMIN, inOrganization, onOrganization, SIGNED_IN_OR_KEY } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
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

/** The routes of organizations. */
export function organizationRoutes(registry: OrganizationRegistry): readonly Route[] {
  return resource('Organizations', [
    listOrganizations(registry),
    createOrganization(registry),
    getOrganization(),
    changeOrganization(registry),
    deleteOrganization(registry),
  ])
}

function listOrganizations(registry: OrganizationRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/organizations',
    may: SIGNED_IN_OR_KEY,
    schema: {
      operationId: 'listOrganizations',
      summary: 'List my organizations',
      description: 'The organizations that the caller is a member of (a global admin: all), sorted by displayName.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(OrganizationItem, 'OrganizationList')),
    },
    handle: async ({ viewer }, request) =>
      written(await registry.organizations.list(viewer, pageOf(request.query)), itemOf),
  })
}

function createOrganization(registry: OrganizationRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/organizations',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'createOrganization',
      summary: 'Create an organization',
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
    handle: async ({ viewer }, request) => {
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

function getOrganization(): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id',
    may: onOrganization('organization.read', 'params.id'),
    schema: {
      operationId: 'getOrganization',
      summary: 'Get an organization',
      params: Parameters,
      response: responses(OrganizationDetails),
    },
    handle: async ({ organization }) => {
      return { organization: membersOf(organization), ...timesOf(organization) }
    },
  })
}

function changeOrganization(registry: OrganizationRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/organizations/:id',
    may: onOrganization('organization.update', 'params.id'),
    schema: {
      operationId: 'updateOrganization',
      summary: 'Change an organization',
      description: 'Members that are left out stay. Only a global admin may change name and canHaveGateways.',
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
    handle: async ({ viewer, organization }, request) => {
      const { name, displayName, canHaveGateways } = request.body.organization
      const isGoverned =
        (name !== undefined && name !== organization.name) ||
        (canHaveGateways !== undefined && canHaveGateways !== organization.canHaveGateways)
      if (isGoverned && !viewer.isAdmin) {
        throw permissionDenied('permission denied: only a global admin may change name and canHaveGateways')
      }
      const fields = given({ name, displayName, canHaveGateways })
      accepted(await registry.organizations.update(organization.id, fields, viewer))
      return {}
    },
  })
}

function deleteOrganization(registry: OrganizationRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/organizations/:id',
    may: inOrganization('organization.govern', 'params.id'),
    schema: {
      operationId: 'deleteOrganization',
      summary: 'Delete an organization',
      description:
        'Takes its applications, devices, broker-access tokens and service credentials along, and ends ' +
        'their connections.',
      params: Parameters,
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }) => {
      accepted(await registry.organizations.remove(organizationId, viewer))
      return {}
    },
  })
}

function itemOf(organization: Organization) {
  return { ...membersOf(organization), ...timesOf(organization) }
}

function membersOf(organization: Organization) {
  return {
    id: organization.id,
    name: organization.name,
    displayName: organization.displayName,
    canHaveGateways: organization.canHaveGateways,
  }
}
