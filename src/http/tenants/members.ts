/** The members of an organization: `/api/organizations/{id}/users`. */
import { Type } from 'typebox'
import type { Member, MemberRoles } from '../../identity/tenants/members.ts'
import type { Registry } from '../../identity/registry.ts'
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
  Times,
  timesOf,
  written,
} from '../api/fields.ts'
import { inOrganization } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
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
const MemberItem = Type.Object({ ...Members, ...Times }, { description: 'Member', [NAME]: 'Member' })
const MemberDetails = Type.Object(
  { organizationUser: Type.Object(Members, { [NAME]: 'MemberFields' }), ...Times },
  { description: 'A member by itself', [NAME]: 'MemberDetails' },
)

const OrganizationParameters = Type.Object({ id: id('Organization id.') })
const MemberParameters = Type.Object({ id: id('Organization id.'), userId: id('User id.') })

/** The routes of members. */
export function memberRoutes(registry: MemberRegistry): readonly Route[] {
  return resource('Organizations', [
    listMembers(registry),
    addMember(registry),
    getMember(registry),
    changeMember(registry),
    removeMember(registry),
  ])
}

function listMembers(registry: MemberRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id/users',
    may: inOrganization('member.read', 'params.id'),
    schema: {
      operationId: 'listMembers',
      summary: 'List members',
      description: 'Sorted by user name.',
      params: OrganizationParameters,
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(MemberItem, 'MemberList')),
    },
    handle: async ({ organizationId }, request) => {
      return written(await registry.members.list(organizationId, pageOf(request.query)), itemOf)
    },
  })
}

function addMember(registry: MemberRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/organizations/:id/users',
    may: inOrganization('member.write', 'params.id'),
    schema: {
      operationId: 'addMember',
      summary: 'Add a member',
      description:
        'They name the user by email. Only a global admin may name the user by userID, for ids can be counted through.',
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
    handle: async ({ viewer, organizationId }, request) => {
      const { userID, email, ...roles } = request.body.organizationUser
      const user =
        email !== undefined && email !== ''
          ? await registry.users.getByEmail(email)
          : await byId(registry, viewer.isAdmin, userID)
      if (user === undefined) throw objectNotFound()
      accepted(await registry.members.add(organizationId, user.id, rolesOf(roles), viewer))
      return {}
    },
  })
}

function getMember(registry: MemberRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id/users/:userId',
    may: inOrganization('member.read', 'params.id'),
    schema: {
      operationId: 'getMember',
      summary: 'Get a member',
      params: MemberParameters,
      response: responses(MemberDetails),
    },
    handle: async ({ organizationId }, request) => {
      const member = await registry.members.get(organizationId, request.params.userId)
      if (member === undefined) throw objectNotFound()
      return { organizationUser: membersOf(member), ...timesOf(member) }
    },
  })
}

function changeMember(registry: MemberRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/organizations/:id/users/:userId',
    may: inOrganization('member.write', 'params.id'),
    schema: {
      operationId: 'updateMember',
      summary: 'Change a member’s roles',
      description: 'Roles that are left out stay.',
      params: MemberParameters,
      body: Type.Object({ organizationUser: Type.Object(Roles, { [NAME]: 'MemberChanges' }) }),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { userId } = request.params
      const member = await registry.members.get(organizationId, userId)
      if (member === undefined) throw objectNotFound()
      const roles = rolesOf(request.body.organizationUser, member)
      accepted(await registry.members.update(organizationId, userId, roles, viewer))
      return {}
    },
  })
}

function removeMember(registry: MemberRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/organizations/:id/users/:userId',
    may: inOrganization('member.write', 'params.id'),
    schema: {
      operationId: 'removeMember',
      summary: 'Remove a member',
      description: 'Ends the person’s broker connections for the organization at once.',
      params: MemberParameters,
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { userId } = request.params
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

const NO_ROLES: MemberRoles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false }

/** The roles that a body gives; a role that it leaves out is as `before`. */
export function rolesOf(roles: Partial<MemberRoles>, before: MemberRoles = NO_ROLES): MemberRoles {
  return {
    isAdmin: roles.isAdmin ?? before.isAdmin,
    isDeviceAdmin: roles.isDeviceAdmin ?? before.isDeviceAdmin,
    isGatewayAdmin: roles.isGatewayAdmin ?? before.isGatewayAdmin,
  }
}

function itemOf(member: Member) {
  return { ...membersOf(member), ...timesOf(member) }
}

function membersOf(member: Member) {
  return {
    userID: member.userId,
    username: member.email,
    email: member.email,
    isAdmin: member.isAdmin,
    isDeviceAdmin: member.isDeviceAdmin,
    isGatewayAdmin: member.isGatewayAdmin,
  }
}
