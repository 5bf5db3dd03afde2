/**
 * The administration of users, for global admins; everybody may read the own entry and change the
 * own password.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { MAXIMUM_EMAIL } from '../../identity/people/users.ts'
import type { User } from '../../identity/people/users.ts'
import { changeOwnPassword } from '../account/account.ts'
import { accepted, objectNotFound } from '../api/errors.ts'
import {
  A_PARAGRAPH,
  A_TRIMMED_LINE,
  Created,
  Empty,
  flag,
  id,
  idInBody,
  idText,
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
import { GLOBAL_ADMIN, onUser } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NewPassword, PasswordInput } from '../account/login.ts'
import { rolesOf } from './members.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that users need. */
export type UserRegistry = Pick<Registry, 'users' | 'passwords' | 'secondFactor'>

const Members = {
  id: id('User id.'),
  username: Type.String(),
  email: Type.String(),
  isAdmin: Type.Boolean(),
  isActive: Type.Boolean(),
  note: Type.String(),
}
const UserItem = Type.Object({ ...Members, ...Times }, { description: 'User', [NAME]: 'User' })
const UserDetails = Type.Object(
  {
    user: Type.Object(Members, { [NAME]: 'UserFields' }),
    is2faEnabled: Type.Boolean({ description: 'Whether a login needs a one-time code.' }),
    ...Times,
  },
  { description: 'A user by itself', [NAME]: 'UserDetails' },
)

const Email = ruledText(320, 'User name, unique in any case.', { ...A_TRIMMED_LINE, maxLength: MAXIMUM_EMAIL })
const Writable = {
  isAdmin: Type.Optional(flag('Global admin: sees and may do everything.')),
  isActive: Type.Optional(flag('Only active users can log in; true when not given.')),
  note: Type.Optional(ruledText(1000, 'For admins.', A_PARAGRAPH)),
}

const Membership = Type.Object(
  {
    organizationID: idInBody('Organization id.'),
    isAdmin: Type.Optional(flag('Admin of the organization.')),
    isDeviceAdmin: Type.Optional(flag('Device admin of the organization.')),
    isGatewayAdmin: Type.Optional(flag('Gateway admin of the organization.')),
    isReadOnly: Type.Optional(flag('Reads only, whatever the other roles say.')),
  },
  { [NAME]: 'NewMembership' },
)

const Parameters = Type.Object({ id: id('User id.') })

/** The routes of users. */
export function userRoutes(registry: UserRegistry): readonly Route[] {
  return resource('Users', [
    listUsers(registry),
    createUser(registry),
    getUser(registry),
    changeUser(registry),
    deleteUser(registry),
    setPassword(registry),
    resetSecondFactor(registry),
  ])
}

function listUsers(registry: UserRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/users',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'listUsers',
      summary: 'List users',
      description: 'Sorted by user name.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(UserItem, 'UserList')),
    },
    handle: async (_person, request) => {
      return written(await registry.users.list(pageOf(request.query)), itemOf)
    },
  })
}

function createUser(registry: UserRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/users',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'createUser',
      summary: 'Create a user',
      body: Type.Object({
        user: Type.Object({ email: Email, ...Writable }, { [NAME]: 'NewUser' }),
        password: NewPassword,
        organizations: Type.Optional(Type.Array(Membership, { maxItems: 1000 })),
      }),
      response: responses(Created),
    },
    handle: async ({ viewer }, request) => {
      const { user, password, organizations } = request.body
      const created = {
        email: user.email,
        isAdmin: user.isAdmin ?? false,
        isActive: user.isActive ?? true,
        note: user.note ?? '',
        password,
        organizations: (organizations ?? []).map(({ organizationID, ...roles }) =>
          Object.assign({ organizationId: idText(organizationID) }, rolesOf(roles)),
        ),
      }
      return accepted(await registry.users.create(created, viewer))
    },
  })
}

function getUser(registry: UserRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/users/:id',
    may: onUser('params.id'),
    schema: {
      operationId: 'getUser',
      summary: 'Get a user',
      params: Parameters,
      response: responses(UserDetails),
    },
    handle: async ({ viewer, userId }) => {
      const user = await registry.users.get(userId)
      if (user === undefined) throw objectNotFound()
      const { enabled } = await registry.secondFactor.status(user.id)
      const members = membersOf(user)
      return { user: viewer.isAdmin ? members : { ...members, note: '' }, is2faEnabled: enabled, ...timesOf(user) }
    },
  })
}

function changeUser(registry: UserRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/users/:id',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'updateUser',
      summary: 'Change a user',
      description:
        'Members that are left out stay. Deactivating ends sessions and connections at once. The last ' +
        'active global admin can’t be deactivated or demoted.',
      params: Parameters,
      body: Type.Object({
        user: Type.Object({ email: Type.Optional(Email), ...Writable }, { [NAME]: 'UserChanges' }),
      }),
      response: responses(Empty),
    },
    handle: async ({ viewer }, request) => {
      const { email, isAdmin, isActive, note } = request.body.user
      const fields = given({ email, isAdmin, isActive, note })
      accepted(await registry.users.update(request.params.id, fields, viewer))
      return {}
    },
  })
}

function deleteUser(registry: UserRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/users/:id',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'deleteUser',
      summary: 'Delete a user',
      description: 'Takes memberships and tokens along, and ends sessions and connections at once.',
      params: Parameters,
      response: responses(Empty),
    },
    handle: async ({ viewer }, request) => {
      accepted(await registry.users.remove(request.params.id, viewer))
      return {}
    },
  })
}

function setPassword(registry: UserRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/users/:id/password',
    may: onUser('params.id'),
    schema: {
      operationId: 'setPassword',
      summary: 'Set a password',
      description:
        'A change of one’s own password needs oldPassword, except by the command line of the machine’s operator. Ends the ' +
        'user’s sessions.',
      params: Parameters,
      body: Type.Object({ password: NewPassword, oldPassword: Type.Optional(PasswordInput) }),
      response: responses(Empty),
    },
    handle: async ({ viewer, userId, isOwn }, request) => {
      if (isOwn && viewer.isOperator !== true) {
        await changeOwnPassword(registry, userId, request.body, request.ip)
        return {}
      }
      // The machine’s operator acts for a user that may be no admin.
      if (!viewer.isAdmin) throw objectNotFound()
      accepted(await registry.users.setPassword(userId, request.body.password, viewer))
      return {}
    },
  })
}

function resetSecondFactor(registry: UserRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/users/:id/second-factor',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'resetSecondFactor',
      summary: 'Turn a user’s second factor off',
      description: 'Helps a user who has lost the authenticator and the recovery codes.',
      params: Parameters,
      response: responses(Empty),
    },
    handle: async ({ viewer }, request) => {
      if ((await registry.users.get(request.params.id)) === undefined) throw objectNotFound()
      accepted(await registry.secondFactor.reset(request.params.id, viewer))
      return {}
    },
  })
}

function itemOf(user: User) {
  return { ...membersOf(user), ...timesOf(user) }
}

function membersOf(user: User) {
  return {
    id: user.id,
    username: user.email,
    email: user.email,
    isAdmin: user.isAdmin,
    isActive: user.isActive,
    note: user.note,
  }
}
