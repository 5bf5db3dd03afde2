/** The rights that an API key may have, and the roles whose holders may give them. */

/** The rights of API keys. */
export const API_KEY_RIGHTS = [
  'events.read',
  'commands.send',
  'devices.read',
  'devices.write',
  'applications.write',
  'members.write',
  'codecs.write',
  'metrics.read',
] as const

export type ApiKeyRight = (typeof API_KEY_RIGHTS)[number]

/** True for the name of a right. */
export function isApiKeyRight(text: string): text is ApiKeyRight {
  return (API_KEY_RIGHTS as readonly string[]).includes(text)
}

/** How the maker of a key stands towards the owner of the key. */
export interface MakerRoles {
  readonly isGlobalAdmin: boolean
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
  /** Wins over the other roles of a membership. */
  readonly isReadOnly: boolean
}

/**
 * Whether a person with these roles has the right, and so whether a key that the person made may
 * use it now.
 */
export function coversRight(roles: MakerRoles, right: ApiKeyRight): boolean {
  if (roles.isGlobalAdmin) return true
  const isReader = roles.isReadOnly
  switch (right) {
    case 'events.read':
    case 'devices.read':
      return true
    case 'commands.send':
      return !isReader
    case 'devices.write':
      return !isReader && (roles.isAdmin || roles.isDeviceAdmin)
    case 'applications.write':
    case 'members.write':
    case 'codecs.write':
      return !isReader && roles.isAdmin
    case 'metrics.read':
      return false
  }
}

/** The rights that work within some applications, but not within some of their devices. */
const OF_WHOLE_APPLICATIONS: ReadonlySet<ApiKeyRight> = new Set(['applications.write', 'codecs.write'])
/** The rights that can't be restricted: a member sees the whole organization. */
const OF_WHOLE_ORGANIZATIONS: ReadonlySet<ApiKeyRight> = new Set(['members.write', 'metrics.read'])

/** The first of the rights that can't go together with the restriction; undefined where all can. */
export function unrestrictable(
  rights: readonly ApiKeyRight[],
  { applications, devices }: { readonly applications: boolean; readonly devices: boolean },
): ApiKeyRight | undefined {
  return rights.find(
    (right) =>
      ((applications || devices) && OF_WHOLE_ORGANIZATIONS.has(right)) || (devices && OF_WHOLE_APPLICATIONS.has(right)),
  )
}
