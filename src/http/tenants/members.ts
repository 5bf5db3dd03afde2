/** The members of an organization: `/api/organizations/{id}/users`. */
import { Type } from 'typebox'
import type { Member } from '../../identity/tenants/members.ts'
import type { Registry } from '../../identity/registry.ts'
import { viewerOf } from '../api/authenticate.ts'
import { accepted, invalidArgument, objectNotFound, permissionDenied } from '../api/errors.ts'
import {
  Empty,
  flag,
  id,
  idInBody,
  idText,
  listOf,
  PagingQuery,
  pageOf,
  responses,
  text,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { demandIn } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that members need. */
export type MemberRegistry = OwnershipRegistry & Pick<Registry, 'users'>

const Roles = {
  isAdmin: Type.Optional(
    flag('Manages the organization: members, applications, devices, tokens, service credentials.'),
  ),
  isDeviceAdmin: Type.Optional(flag('Manages devices.')),
  isGatewayAdmin: Type.Optional(flag('Manages gateways.')),
}

const Members = {
  userID: id('User id.'),
  username: Type.String(),
  email: Type.String(),
  isAdmin: Type.Boolean(),
  isDeviceAdmin: Type.Boolean(),
  isGatewayAdmin: Type.Boolean(),
}
const Times = { createdAt: Timestamp, updatedAt: Timestamp }
const MemberItem = Type.Object({ ...Members, ...Times }, { description: 'Member', [NAME]: 'Member' })
const MemberDetails = Type.Object(
  { organizationUser: Type.Object(Members, { [NAME]: 'MemberFields' }), ...Times },
  { description: 'A member by itself', [NAME]: 'MemberDetails' },
)

const OrganizationParameters = Type.Object({ id: id('Organization id.') })
const MemberParameters = Type.Object({ id: id('Organization id.'), userId: id('User id.') })

/** Registers the routes of members. */
export function addMemberRoutes(app: HttpApp, registry: MemberRegistry): void {
  listMembers(app, registry)
  addMember(app, registry)
  getMember(app, registry)
  changeMember(app, registry)
  removeMember(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Organizations'], security: SESSION_SECURITY }

function listMembers(app: HttpApp, registry: MemberRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/organizations/:id/users',
    config,
    schema: {
      ...common,
      operationId: 'listMembers',
      summary: 'List members',
      description: 'For members of the organization. Sorted by user name.',
      params: OrganizationParameters,
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(MemberItem, 'MemberList')),
    },
    handler: async (request) => {
      await demandIn(registry, viewerOf(request), request.params.id, 'member.read')
      return written(await registry.members.list(request.params.id, pageOf(request.query)), itemOf)
    },
  })
}

function addMember(app: HttpApp, registry: MemberRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/organizations/:id/users',
    config,
    schema: {
      ...common,
      operationId: 'addMember',
      summary: 'Add a member',
      description:
        'For admins of the organization. They name the user by email; by userID only a global admin may, for ids can be ' +
        'counted through.',
      params: OrganizationParameters,
      body: Type.Object({
        organizationUser: Type.Object(
          {
            userID: Type.Optional(idInBody('User id; for global admins.')),
            email: Type.Optional(text(320, 'User name.')),
            ...Roles,
          },
          { [NAME]: 'NewMember' },
        ),
      }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      await demandIn(registry, viewer, request.params.id, 'member.write')
      const { userID, email, ...roles } = request.body.organizationUser
      const user =
        email !== undefined && email !== ''
          ? await registry.users.getByEmail(email)
          : await byId(registry, viewer.isAdmin, userID)
      if (user === undefined) throw objectNotFound()
      accepted(await registry.members.add(request.params.id, user.id, rolesOf(roles), viewer))
      return {}
    },
  })
}

function getMember(app: HttpApp, registry: MemberRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/organizations/:id/users/:userId',
    config,
    schema: {
      ...common,
      operationId: 'getMember',
      summary: 'Get a member',
      description: 'For members of the organization.',
      params: MemberParameters,
      response: responses(MemberDetails),
    },
    handler: async (request) => {
      await demandIn(registry, viewerOf(request), request.params.id, 'member.read')
      const member = await registry.members.get(request.params.id, request.params.userId)
      if (member === undefined) throw objectNotFound()
      const { createdAt, updatedAt, ...organizationUser } = itemOf(member)
      return { organizationUser, createdAt, updatedAt }
    },
  })
}

function changeMember(app: HttpApp, registry: MemberRegistry): void {
  app.route({
    method: 'PUT',
    url: '/api/organizations/:id/users/:userId',
    config,
    schema: {
      ...common,
      operationId: 'updateMember',
      summary: 'Change a member’s roles',
      description: 'For admins of the organization. Roles that are left out stay.',
      params: MemberParameters,
      body: Type.Object({ organizationUser: Type.Object(Roles, { [NAME]: 'MemberChanges' }) }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const { id: organizationId, userId } = request.params
      await demandIn(registry, viewer, organizationId, 'member.write')
      const member = await registry.members.get(organizationId, userId)
      if (member === undefined) throw objectNotFound()
      const { isAdmin, isDeviceAdmin, isGatewayAdmin } = request.body.organizationUser
      const roles = {
        isAdmin: isAdmin ?? member.isAdmin,
        isDeviceAdmin: isDeviceAdmin ?? member.isDeviceAdmin,
        isGatewayAdmin: isGatewayAdmin ?? member.isGatewayAdmin,
      }
      accepted(await registry.members.update(organizationId, userId, roles, viewer))
      return {}
    },
  })
}

function removeMember(app: HttpApp, registry: MemberRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/organizations/:id/users/:userId',
    config,
    schema: {
      ...common,
      operationId: 'removeMember',
      summary: 'Remove a member',
      description: 'For admins of the organization. Ends the person’s broker connections for the organization at once.',
      params: MemberParameters,
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const { id: organizationId, userId } = request.params
      await demandIn(registry, viewer, organizationId, 'member.write')
      if ((await registry.members.get(organizationId, userId)) === undefined) throw objectNotFound()
      accepted(await registry.members.remove(organizationId, userId, viewer))
      return {}
    },
  })
}

async function byId(registry: MemberRegistry, isGlobalAdmin: boolean, userId: string | number | undefined) {
  if (userId === undefined) throw invalidArgument('organizationUser.email: is missing')
  if (!isGlobalAdmin) throw permissionDenied('permission denied: name the user by email')
  return registry.users.get(idText(userId))
}

function rolesOf(roles: {
  readonly isAdmin?: boolean
  readonly isDeviceAdmin?: boolean
  readonly isGatewayAdmin?: boolean
}) {
  return {
    isAdmin: roles.isAdmin ?? false,
    isDeviceAdmin: roles.isDeviceAdmin ?? false,
    isGatewayAdmin: roles.isGatewayAdmin ?? false,
  }
}

function itemOf(member: Member) {
  return {
    userID: member.userId,
    username: member.email,
    email: member.email,
    isAdmin: member.isAdmin,
    isDeviceAdmin: member.isDeviceAdmin,
    isGatewayAdmin: member.isGatewayAdmin,
    createdAt: timestamp(member.createdAtMs),
    updatedAt: timestamp(member.updatedAtMs),
  }
}
