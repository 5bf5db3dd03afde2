/** The roles of members. The service has two booleans; the console offers one choice. */

/** The rights of a membership. */
export interface Roles {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
}

/** The roles, from the least rights to the most. */
export type Role = 'member' | 'deviceAdmin' | 'admin'

/** The roles, for selections. */
export const ROLES: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'member', label: 'Member' },
  { value: 'deviceAdmin', label: 'Device admin' },
  { value: 'admin', label: 'Admin' },
]

/** The rights of each role, in a sentence. */
export const MEANING_OF: Readonly<Record<Role, string>> = {
  member: 'Sees devices and events, and sends commands.',
  deviceAdmin: 'Also creates, changes, imports and deletes devices.',
  admin: 'Also manages applications, members, tokens and network servers.',
}

/** The role of a membership. */
export function roleOf({ isAdmin, isDeviceAdmin }: Roles): Role {
  if (isAdmin) return 'admin'
  return isDeviceAdmin ? 'deviceAdmin' : 'member'
}

/** The membership of a role. */
export function rolesOf(role: Role): Roles {
  return { isAdmin: role === 'admin', isDeviceAdmin: role === 'deviceAdmin' }
}
