/** The roles that a member can have, as one choice. */

/** What a membership says. */
export interface Roles {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
}

/** From the one that may least. */
export type Role = 'member' | 'deviceAdmin' | 'admin'

/** For selections. */
export const ROLES: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'member', label: 'Member' },
  { value: 'deviceAdmin', label: 'Device admin' },
  { value: 'admin', label: 'Admin' },
]

/** What each may, in a sentence. */
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
