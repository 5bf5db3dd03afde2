/**
 * The rights of people. A person's role is always relative to the organization that owns the thing;
 * one table has the least role for each action.
 */
import type { ApiKeyRight } from '../../identity/store/api-key-rights.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { objectNotFound, permissionDenied, RequestRefused } from './errors.ts'

/**
 * Roles in rising order; each role may do everything that the roles before it may. A reader is a
 * member who only reads.
 */
export const ROLES = ['none', 'reader', 'member', 'deviceAdmin', 'organizationAdmin', 'globalAdmin'] as const

export type Role = (typeof ROLES)[number]

/** The least role that an action on something of one organization asks for. */
const LEAST_ROLE = {
  'organization.read': 'reader',
  'organization.update': 'organizationAdmin',
  'organization.govern': 'globalAdmin',
  'member.read': 'reader',
  'member.write': 'organizationAdmin',
  'application.read': 'reader',
  'application.write': 'organizationAdmin',
  /** Changing an application: its codec, or everything else, or both. */
  'application.change': 'organizationAdmin',
  'codec.write': 'organizationAdmin',
  'deviceProfile.read': 'reader',
  'deviceProfile.write': 'organizationAdmin',
  'device.read': 'reader',
  'device.write': 'deviceAdmin',
  'event.read': 'reader',
  'command.read': 'reader',
  'command.send': 'member',
  'brokerToken.issue': 'reader',
  'brokerToken.manage': 'organizationAdmin',
  'serviceCredential.manage': 'organizationAdmin',
  /** An import makes applications, device profiles and devices. */
  'inventory.manage': 'organizationAdmin',
  'audit.read': 'organizationAdmin',
  'webhook.manage': 'organizationAdmin',
  'connection.manage': 'organizationAdmin',
  'refusal.list': 'reader',
  'refusal.read': 'organizationAdmin',
  'diagnosis.read': 'reader',
  'apiKey.manage': 'organizationAdmin',
} as const satisfies Readonly<Record<string, Role>>

export type Action = keyof typeof LEAST_ROLE

/** The rights of keys that work on devices, applications, or what stands in them. */
const OF_ORGANIZATIONS = [
  'events.read',
  'commands.send',
  'devices.read',
  'devices.write',
  'applications.write',
  'codecs.write',
] as const satisfies readonly ApiKeyRight[]

/**
 * The rights of an API key that cover an action: a key needs one of them, beside the role of its
 * maker. No right covers what would widen rights, or what is about a person.
 */
const RIGHTS_FOR: Readonly<Record<Action, readonly ApiKeyRight[]>> = {
  'organization.read': [...OF_ORGANIZATIONS, 'members.write'],
  'organization.update': [],
  'organization.govern': [],
  'member.read': ['members.write'],
  'member.write': ['members.write'],
  'application.read': OF_ORGANIZATIONS,
  'application.write': ['applications.write'],
  'application.change': ['applications.write', 'codecs.write'],
  'codec.write': ['codecs.write'],
  'deviceProfile.read': OF_ORGANIZATIONS,
  'deviceProfile.write': ['codecs.write'],
  'device.read': ['devices.read', 'devices.write'],
  'device.write': ['devices.write'],
  'event.read': ['events.read'],
  'command.read': ['commands.send', 'devices.read', 'devices.write'],
  'command.send': ['commands.send'],
  // A client of the broker may always subscribe.
  'brokerToken.issue': ['events.read'],
  'brokerToken.manage': [],
  'serviceCredential.manage': [],
  'inventory.manage': [],
  'audit.read': [],
  'connection.manage': [],
  'refusal.list': [],
  'refusal.read': [],
  'diagnosis.read': [],
  'apiKey.manage': [],
  'webhook.manage': [],
}

/** The roles of a membership; `undefined` stands for no membership. */
export interface Membership {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
  /** Wins over the other roles. */
  readonly isReadOnly: boolean
}

/** The role of a person towards an organization. A global admin needs no membership. */
export function roleOf(isGlobalAdmin: boolean, membership: Membership | undefined): Role {
  if (isGlobalAdmin) return 'globalAdmin'
  if (membership === undefined) return 'none'
  if (membership.isReadOnly) return 'reader'
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

/** The rights of an API key that cover the action; empty where only people may do it. */
export function rightsFor(action: Action): readonly ApiKeyRight[] {
  return RIGHTS_FOR[action]
}

/** Throws unless the viewer is a person, or a key with a right that covers the action. */
export function demandRight({ apiKey }: Viewer, action: Action): void {
  if (apiKey !== undefined) demandOneOf(apiKey.rights, RIGHTS_FOR[action])
}

/** Throws unless the key has one of the rights that are needed. */
export function demandOneOf(rights: readonly ApiKeyRight[], needed: readonly ApiKeyRight[]): void {
  if (needed.length === 0) {
    const message = 'an API key can’t do this: it needs the session of a person'
    throw new RequestRefused('permission_denied', message, 'api_key_not_accepted')
  }
  if (needed.some((right) => rights.includes(right))) return
  const message = `the API key has no right for this: it needs ${needed.join(' or ')}`
  throw new RequestRefused('permission_denied', message, 'api_key_right_missing')
}

const WORDS: Readonly<Record<Role, string>> = {
  none: 'none',
  reader: 'member of the organization',
  member: 'member of the organization who is not read-only',
  deviceAdmin: 'device admin of the organization',
  organizationAdmin: 'admin of the organization',
  globalAdmin: 'global admin',
}
