/**
 * The rights of people. A person's role is always relative to the organization that owns the thing;
 * one table has the least role for each action.
 */
import { objectNotFound, permissionDenied } from './errors.ts'

/** Roles in rising order; each role may do everything that the roles before it may. */
export const ROLES = ['none', 'member', 'deviceAdmin', 'organizationAdmin', 'globalAdmin'] as const

export type Role = (typeof ROLES)[number]

/** The least role that an action on something of one organization asks for. */
const LEAST_ROLE = {
  'organization.read': 'member',
  'organization.update': 'organizationAdmin',
  'organization.govern': 'globalAdmin',
  'member.read': 'member',
  'member.write': 'organizationAdmin',
  'application.read': 'member',
  'application.write': 'organizationAdmin',
  'device.read': 'member',
  'device.write': 'deviceAdmin',
  'command.send': 'member',
  'brokerToken.issue': 'member',
  'brokerToken.manage': 'organizationAdmin',
  'serviceCredential.manage': 'organizationAdmin',
  'audit.read': 'organizationAdmin',
  'connection.manage': 'organizationAdmin',
  'refusal.read': 'organizationAdmin',
} as const satisfies Readonly<Record<string, Role>>

export type Action = keyof typeof LEAST_ROLE

/** The roles of a membership; `undefined` stands for no membership. */
export interface Membership {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
}

/** The role of a person towards an organization. A global admin needs no membership. */
export function roleOf(isGlobalAdmin: boolean, membership: Membership | undefined): Role {
  if (isGlobalAdmin) return 'globalAdmin'
  if (membership === undefined) return 'none'
  if (membership.isAdmin) return 'organizationAdmin'
  return membership.isDeviceAdmin ? 'deviceAdmin' : 'member'
}

/** The least role that the action asks for. */
export function leastRoleOf(action: Action): Exclude<Role, 'none'> {
  return LEAST_ROLE[action]
}

/** True when the role reaches the action's least role. */
export function mayDo(role: Role, action: Action): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(LEAST_ROLE[action])
}

/**
 * Throws unless the role may do the action. A person without any role hears that the object does
 * not exist, word for word as for an unknown id. A member hears which role is needed.
 */
export function demand(role: Role, action: Action): void {
  if (mayDo(role, action)) return
  if (role === 'none') throw objectNotFound()
  throw permissionDenied(`permission denied: this needs the role ${WORDS[LEAST_ROLE[action]]}`)
}

const WORDS: Readonly<Record<Role, string>> = {
  none: 'none',
  member: 'member of the organization',
  deviceAdmin: 'device admin of the organization',
  organizationAdmin: 'admin of the organization',
  globalAdmin: 'global admin',
}
