/** The members of an organization: `/api/organizations/{id}/users`. */
import { Type } from 'typebox'
import type { Member, MemberRoles } from '../../identity/tenants/members.ts'
import type { Registry } from '../../identity/registry.ts'
import type { ApiKeyRight } from '../../identity/store/api-key-rights.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { accepted, invalidArgument, objectNotFound, permissionDenied, RequestRefused } from '../api/errors.ts'
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
  isReadOnly: Type.Optional(
    flag('Reads only, whatever the other roles say: sends no commands, and its broker-access tokens send none.'),
  ),
}

const Members = {
  userID: id('User id.'),
  username: Type.String(),
  email: Type.String(),
  isAdmin: Type.Boolean(),
  isDeviceAdmin: Type.Boolean(),
  isGatewayAdmin: Type.Boolean(),
  isReadOnly: Type.Boolean(),
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
      demandGrantable(viewer, rolesOf(roles))
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
      demandGrantable(viewer, member)
      demandGrantable(viewer, roles)
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
      const member = await registry.members.get(organizationId, userId)
      if (member === undefined) throw objectNotFound()
      demandGrantable(viewer, member)
      accepted(await registry.members.remove(organizationId, userId, viewer))
      return {}
    },
  })
}

/**
 * Throws unless an API key has all that a member with the roles may do. A key makes no member wider
 * than itself, and touches none: so it never makes, changes or removes an admin, who may do more
 * than any key.
 */
function demandGrantable({ apiKey }: Viewer, roles: MemberRoles): void {
  if (apiKey === undefined) return
  const needed: readonly ApiKeyRight[] = [
    'events.read',
    'devices.read',
    ...(roles.isReadOnly ? [] : (['commands.send'] as const)),
    ...(roles.isDeviceAdmin ? (['devices.write'] as const) : []),
  ]
  if (!roles.isAdmin && !roles.isGatewayAdmin && needed.every((right) => apiKey.rights.includes(right))) return
  const message = 'an API key can’t make, change or remove a member who may do more than the key'
  throw new RequestRefused('permission_denied', message, 'api_key_too_narrow')
}

async function byId(registry: MemberRegistry, isGlobalAdmin: boolean, userId: string | number | undefined) {
  if (userId === undefined) throw invalidArgument('organizationUser.email: is missing')
  if (!isGlobalAdmin) throw permissionDenied('permission denied: name the user by email')
  return registry.users.get(idText(userId))
}

const NO_ROLES: MemberRoles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false, isReadOnly: false }

/** The roles that a body gives; a role that it leaves out is as `before`. */
export function rolesOf(roles: Partial<MemberRoles>, before: MemberRoles = NO_ROLES): MemberRoles {
  return {
    isAdmin: roles.isAdmin ?? before.isAdmin,
    isDeviceAdmin: roles.isDeviceAdmin ?? before.isDeviceAdmin,
    isGatewayAdmin: roles.isGatewayAdmin ?? before.isGatewayAdmin,
    isReadOnly: roles.isReadOnly ?? before.isReadOnly ?? false,
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
    isReadOnly: member.isReadOnly,
  }
}
