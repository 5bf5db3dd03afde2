/** The routes by which a signed-in person reads and changes the own account. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { accepted, invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import { Empty, id, responses, timestamp, Timestamp } from '../api/fields.ts'
import { SIGNED_IN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NewPassword, PasswordInput } from './login.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that the own account needs. */
export type AccountRegistry = Pick<Registry, 'passwords' | 'secondFactor' | 'tokens' | 'users' | 'members'>

const Profile = Type.Object(
  {
    user: Type.Object(
      {
        id: id('User id.'),
        username: Type.String(),
        email: Type.String(),
        isAdmin: Type.Boolean(),
        isActive: Type.Boolean(),
        createdAt: Timestamp,
      },
      { [NAME]: 'ProfileUser' },
    ),
    organizations: Type.Array(
      Type.Object(
        {
          organizationID: id('Organization id.'),
          organizationName: Type.String(),
          isAdmin: Type.Boolean(),
          isDeviceAdmin: Type.Boolean(),
          isGatewayAdmin: Type.Boolean(),
          isReadOnly: Type.Boolean(),
        },
        { [NAME]: 'ProfileOrganization' },
      ),
    ),
    is2faEnabled: Type.Boolean(),
  },
  { description: 'The signed-in person.', [NAME]: 'Profile' },
)

/**
 * The most organizations of a profile, for a person in very many of them; the list of organizations
 * is paged.
 */
const MEMBERSHIPS_OF_PROFILE = 1000

/** The routes of the own profile, of the own password, and of the end of all own sessions. */
export function accountRoutes(registry: AccountRegistry): readonly Route[] {
  return resource('Login', [getProfile(registry), changePassword(registry), signOutEverywhere(registry)])
}

function getProfile(registry: AccountRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/internal/profile',
    may: SIGNED_IN,
    schema: {
      operationId: 'getProfile',
      summary: 'Who am I',
      description: 'The signed-in person, with the roles in its organizations (at most 1,000 of them).',
      response: responses(Profile),
    },
    handle: async ({ viewer: { userId } }) => {
      const user = await registry.users.get(userId)
      if (user === undefined) throw objectNotFound()
      const [memberships, { enabled }] = await Promise.all([
        registry.members.listOfUser(userId, { limit: MEMBERSHIPS_OF_PROFILE, offset: 0 }),
        registry.secondFactor.status(userId),
      ])
      return {
        user: {
          id: user.id,
          username: user.email,
          email: user.email,
          isAdmin: user.isAdmin,
          isActive: user.isActive,
          createdAt: timestamp(user.createdAtMs),
        },
        organizations: memberships.items.map((member) => ({
          organizationID: member.organizationId,
          organizationName: member.organizationName,
          isAdmin: member.isAdmin,
          isDeviceAdmin: member.isDeviceAdmin,
          isGatewayAdmin: member.isGatewayAdmin,
          isReadOnly: member.isReadOnly,
        })),
        is2faEnabled: enabled,
      }
    },
  })
}

function changePassword(registry: AccountRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/internal/password',
    may: SIGNED_IN,
    schema: {
      operationId: 'changeOwnPassword',
      summary: 'Change my password',
      description: 'Needs the old password. Ends every session, this one included.',
      body: Type.Object({ oldPassword: PasswordInput, password: NewPassword }),
      response: responses(Empty),
    },
    handle: async ({ viewer: { userId } }, request) => {
      await changeOwnPassword(registry, userId, request.body, request.ip)
      return {}
    },
  })
}

function signOutEverywhere(registry: AccountRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/sign-out-everywhere',
    may: SIGNED_IN,
    schema: {
      operationId: 'signOutEverywhere',
      summary: 'End all my sessions',
      description: 'Voids every session JWT issued until now, this one included. Broker-access tokens stay.',
      response: responses(Empty),
    },
    handle: async ({ viewer: { userId } }) => {
      accepted(await registry.tokens.signOutEverywhere(userId, { userId }))
      return {}
    },
  })
}

/**
 * Sets a person's own password, given the old one. The check goes through the throttle of the
 * login: otherwise a stolen session could guess the password here without end.
 */
export async function changeOwnPassword(
  registry: Pick<Registry, 'passwords' | 'users'>,
  userId: string,
  passwords: { readonly oldPassword?: string | undefined; readonly password: string },
  address: string,
): Promise<void> {
  const { oldPassword, password } = passwords
  if (oldPassword === undefined) throw invalidArgument('oldPassword: is missing')
  const user = await registry.users.get(userId)
  if (user === undefined) throw objectNotFound()
  const check = await registry.passwords.authenticate({ userName: user.email, password: oldPassword, address })
  if (!check.ok && check.code === 'unauthenticated') {
    // 403 and not 401: the session is good, and a client would take 401 for an expired session.
    throw new RequestRefused('permission_denied', 'oldPassword: is wrong', 'old_password_wrong')
  }
  accepted(check)
  accepted(await registry.users.setPassword(userId, password, { userId }))
}
