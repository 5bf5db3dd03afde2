/** The roles of members. The service has three booleans; the console offers one choice. */

/** The rights of a membership. */
export interface Roles {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
  readonly isReadOnly: boolean
}

/** The roles, from the least rights to the most. */
export type Role = 'reader' | 'member' | 'deviceAdmin' | 'admin'

/** The roles, for selections. */
export const ROLES: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'reader', label: 'Read-only' },
  { value: 'member', label: 'Member' },
  { value: 'deviceAdmin', label: 'Device admin' },
  { value: 'admin', label: 'Admin' },
]

/** The rights of each role, in a sentence. */
export const MEANING_OF: Readonly<Record<Role, string>> = {
  reader: 'Sees devices and events, and sends no commands.',
  member: 'Sees devices and events, and sends commands.',
  deviceAdmin: 'Also creates, changes, imports and deletes devices.',
  admin: 'Also manages applications, members, tokens and network servers.',
}

/** The role of a membership. */
export function roleOf({ isAdmin, isDeviceAdmin, isReadOnly }: Roles): Role {
  if (isReadOnly) return 'reader'
  if (isAdmin) return 'admin'
  return isDeviceAdmin ? 'deviceAdmin' : 'member'
}

/** The membership of a role. */
export function rolesOf(role: Role): Roles {
  return { isAdmin: role === 'admin', isDeviceAdmin: role === 'deviceAdmin', isReadOnly: role === 'reader' }
}
