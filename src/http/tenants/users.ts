/**
 * The administration of users, for global admins; everybody may read the own entry and change the
 * own password.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { MAXIMUM_EMAIL } from '../../identity/people/users.ts'
import type { User } from '../../identity/people/users.ts'
import { changeOwnPassword } from '../account/account.ts'
import { viewerOf } from '../api/authenticate.ts'
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
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { NewPassword, PasswordInput } from '../account/login.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { demandGlobalAdmin } from '../api/ownership.ts'
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
const Times = { createdAt: Timestamp, updatedAt: Timestamp }
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
  },
  { [NAME]: 'NewMembership' },
)

const Parameters = Type.Object({ id: id('User id.') })

/** Registers the routes of users. */
export function addUserRoutes(app: HttpApp, registry: UserRegistry): void {
  listUsers(app, registry)
  createUser(app, registry)
  getUser(app, registry)
  changeUser(app, registry)
  deleteUser(app, registry)
  setPassword(app, registry)
  resetSecondFactor(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Users'], security: SESSION_SECURITY }

function listUsers(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/users',
    config,
    schema: {
      ...common,
      operationId: 'listUsers',
      summary: 'List users',
      description: 'For global admins. Sorted by user name.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(UserItem, 'UserList')),
    },
    handler: async (request) => {
      demandGlobalAdmin(viewerOf(request))
      return written(await registry.users.list(pageOf(request.query)), itemOf)
    },
  })
}

function createUser(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/users',
    config,
    schema: {
      ...common,
      operationId: 'createUser',
      summary: 'Create a user',
      description: 'For global admins.',
      body: Type.Object({
        user: Type.Object({ email: Email, ...Writable }, { [NAME]: 'NewUser' }),
        password: NewPassword,
        organizations: Type.Optional(Type.Array(Membership, { maxItems: 1000 })),
      }),
      response: responses(Created),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      const { user, password, organizations } = request.body
      const created = {
        email: user.email,
        isAdmin: user.isAdmin ?? false,
        isActive: user.isActive ?? true,
        note: user.note ?? '',
        password,
        organizations: (organizations ?? []).map((membership) => ({
          organizationId: idText(membership.organizationID),
          isAdmin: membership.isAdmin ?? false,
          isDeviceAdmin: membership.isDeviceAdmin ?? false,
          isGatewayAdmin: membership.isGatewayAdmin ?? false,
        })),
      }
      return accepted(await registry.users.create(created, viewer))
    },
  })
}

function getUser(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/users/:id',
    config,
    schema: {
      ...common,
      operationId: 'getUser',
      summary: 'Get a user',
      description: 'For global admins, and for the user itself.',
      params: Parameters,
      response: responses(UserDetails),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const isOwn = viewer.userId === request.params.id
      const user = viewer.isAdmin || isOwn ? await registry.users.get(request.params.id) : undefined
      if (user === undefined) throw objectNotFound()
      const { createdAt, updatedAt, ...members } = itemOf(user)
      const { enabled } = await registry.secondFactor.status(user.id)
      return {
        user: viewer.isAdmin ? members : { ...members, note: '' },
        is2faEnabled: enabled,
        createdAt,
        updatedAt,
      }
    },
  })
}

function changeUser(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'PUT',
    url: '/api/users/:id',
    config,
    schema: {
      ...common,
      operationId: 'updateUser',
      summary: 'Change a user',
      description:
        'For global admins. Members that are left out stay. Deactivating ends sessions and connections at once. The last ' +
        'active global admin can’t be deactivated or demoted.',
      params: Parameters,
      body: Type.Object({
        user: Type.Object({ email: Type.Optional(Email), ...Writable }, { [NAME]: 'UserChanges' }),
      }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      const { email, isAdmin, isActive, note } = request.body.user
      const fields = {
        ...(email === undefined ? {} : { email }),
        ...(isAdmin === undefined ? {} : { isAdmin }),
        ...(isActive === undefined ? {} : { isActive }),
        ...(note === undefined ? {} : { note }),
      }
      accepted(await registry.users.update(request.params.id, fields, viewer))
      return {}
    },
  })
}

function deleteUser(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/users/:id',
    config,
    schema: {
      ...common,
      operationId: 'deleteUser',
      summary: 'Delete a user',
      description: 'For global admins. Takes memberships and tokens along, and ends sessions and connections at once.',
      params: Parameters,
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      accepted(await registry.users.remove(request.params.id, viewer))
      return {}
    },
  })
}

function setPassword(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'PUT',
    url: '/api/users/:id/password',
    config,
    schema: {
      ...common,
      operationId: 'setPassword',
      summary: 'Set a password',
      description:
        'A global admin sets anybody’s; for the own one everybody needs oldPassword, but for the machine’s operator by ' +
        'the command line. Ends the user’s sessions.',
      params: Parameters,
      body: Type.Object({ password: NewPassword, oldPassword: Type.Optional(PasswordInput) }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const { id: userId } = request.params
      if (userId === viewer.userId && viewer.isOperator !== true) {
        await changeOwnPassword(registry, userId, request.body, request.ip)
        return {}
      }
      if (!viewer.isAdmin) throw objectNotFound()
      accepted(await registry.users.setPassword(userId, request.body.password, viewer))
      return {}
    },
  })
}

function resetSecondFactor(app: HttpApp, registry: UserRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/users/:id/second-factor',
    config,
    schema: {
      ...common,
      operationId: 'resetSecondFactor',
      summary: 'Turn a user’s second factor off',
      description: 'For global admins, when somebody lost authenticator and recovery codes.',
      params: Parameters,
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      if ((await registry.users.get(request.params.id)) === undefined) throw objectNotFound()
      accepted(await registry.secondFactor.reset(request.params.id, viewer))
      return {}
    },
  })
}

function itemOf(user: User) {
  return {
    id: user.id,
    username: user.email,
    email: user.email,
    isAdmin: user.isAdmin,
    isActive: user.isActive,
    note: user.note,
    createdAt: timestamp(user.createdAtMs),
    updatedAt: timestamp(user.updatedAtMs),
  }
}
