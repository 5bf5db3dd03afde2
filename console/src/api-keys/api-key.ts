/** API keys as the HTTP interface has them, and their rights in words. */

/** The limits of a key; a member that is missing is no limit. */
export interface KeyScope {
  readonly applicationIds?: readonly string[]
  readonly devEuis?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
}

/** A key without its secret. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly rights: readonly string[]
  readonly scope: KeyScope | null
  readonly expiresAt: string | null
  readonly state: 'in_force' | 'expired' | 'without_maker' | 'maker_role_too_small'
  readonly makerUserID: string
  readonly makerName: string
  readonly createdAt: string
  readonly oldSecretUntil: string | null
  readonly lastUsedAt: string | null
  readonly lastUsedAddress: string
}

/** A key that was just made, or got a new secret. */
export interface IssuedKey {
  readonly id: string
  readonly key: string
}

interface RightChoice {
  readonly value: string
  readonly label: string
  readonly description: string
  /** The narrowest restriction that a key with the right may have. */
  readonly narrowest: 'none' | 'applications' | 'devices'
}

/** The rights that are offered, in rising weight. */
export const RIGHTS: readonly RightChoice[] = [
  { value: 'events.read', label: 'Read events', description: 'By the broker, and stored ones.', narrowest: 'devices' },
  { value: 'commands.send', label: 'Send commands', description: 'To devices.', narrowest: 'devices' },
  { value: 'devices.read', label: 'Read devices', description: 'Their names, tags and state.', narrowest: 'devices' },
  { value: 'devices.write', label: 'Change devices', description: 'Create and delete them too.', narrowest: 'devices' },
  {
    value: 'applications.write',
    label: 'Administer applications',
    description: 'Create, change and delete them, with their devices.',
    narrowest: 'applications',
  },
  { value: 'codecs.write', label: 'Write codecs', description: 'And try them.', narrowest: 'applications' },
  {
    value: 'members.write',
    label: 'Administer members',
    description: 'Who may do no more than the key.',
    narrowest: 'none',
  },
  {
    value: 'metrics.read',
    label: 'Read the metrics',
    description: 'Of the whole deployment.',
    narrowest: 'none',
  },
]

/** The rights in words: `Read events, send commands`. */
export function rightsText(rights: readonly string[]): string {
  const words = RIGHTS.filter(({ value }) => rights.includes(value)).map(({ label }, index) =>
    index === 0 ? label : label.toLowerCase(),
  )
  return words.join(', ')
}

/** The restriction in words: `2 applications, tag site=north`. "" for none. */
export function scopeText(scope: KeyScope | null): string {
  const { applicationIds = [], devEuis = [], tags = {} } = scope ?? {}
  return [
    ...(applicationIds.length === 0 ? [] : [counted(applicationIds.length, 'application')]),
    ...(devEuis.length === 0 ? [] : [counted(devEuis.length, 'device')]),
    ...Object.entries(tags).map(([name, value]) => `tag ${name}=${value}`),
  ].join(', ')
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** The first of the rights that can't go together with the restriction; undefined where all can. */
export function unrestrictable(
  rights: readonly string[],
  { applications, devices }: { readonly applications: boolean; readonly devices: boolean },
): string | undefined {
  const found = RIGHTS.filter(({ value }) => rights.includes(value)).find(
    ({ narrowest }) => (narrowest === 'none' && (applications || devices)) || (narrowest === 'applications' && devices),
  )
  return found?.label
}

/** The tags of a text with one `name=value` per line. Undefined: a line has another form. */
export function tagsOf(text: string): Readonly<Record<string, string>> | undefined {
  const tags: Record<string, string> = {}
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue
    const [, name, value] = /^([^=]+)=(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    tags[name.trim()] = value.trim()
  }
  return tags
}

/** The DevEUIs of a text, separated by blanks, commas or lines. */
export function devEuisOf(text: string): readonly string[] {
  return text.split(/[\s,;]+/).filter((one) => one !== '')
}

/** Why a key is not in force, for people. */
export const WHY_ENDED: Readonly<Record<Exclude<ApiKey['state'], 'in_force'>, string>> = {
  expired: 'It has expired.',
  without_maker: 'Its maker was removed, or is no member any more. Take it over to put it in force again.',
  maker_role_too_small: 'The role of its maker no longer covers its rights. Take it over to put it in force again.',
}
