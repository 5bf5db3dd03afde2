/** The entries of the audit log in words. */
import { moment } from '../shell/moments.ts'

const VERBS: Readonly<Record<string, string>> = {
  password_set: 'got a new password',
  signed_out_everywhere: 'signed out everywhere',
}

const NOUNS: Readonly<Record<string, string>> = {
  api_key: 'API key',
  service_credential: 'Network-server credential',
  second_factor: 'Second factor',
  signing_key: 'Signing key',
}

/**
 * Makes `Device created` of `device.created`. An action that the console does not know stays
 * readable.
 */
export function wordsOf(action: string): string {
  const [noun = '', verb = ''] = action.split('.')
  return `${NOUNS[noun] ?? sentenceCase(noun)} ${VERBS[verb] ?? verb.replaceAll('_', ' ')}`.trim()
}

/** True where the subject of the action is a user's id. */
export function isAboutUser(action: string): boolean {
  return /^(?:user|member|second_factor)\./.test(action)
}

/** The actor of an entry. */
interface Actor {
  readonly actor: 'user' | 'operator' | 'service' | 'apiKey'
  /** The user's id; "" unless the actor is a user. */
  readonly actorUserID: string
  /** The user's name; "" where the user has been deleted. */
  readonly actorName: string
}

/** The actor in words: a user by the name, where the name is known. */
export function actorText({
  actor,
  actorUserID,
  actorName,
}: Pick<Actor, 'actor' | 'actorUserID' | 'actorName'>): string {
  if (actor === 'operator') return 'the operator of this machine'
  if (actor === 'service') return 'the service'
  if (actor === 'apiKey') return actorName === '' ? 'an API key that is gone' : `the API key ${actorName}`
  return actorName || `user ${actorUserID}`
}

/** Searches that are offered to the reader. A search looks into actions and subjects. */
export const SHORTCUTS: readonly { readonly value: string; readonly label: string }[] = [
  { value: 'organization.', label: 'Organizations' },
  { value: 'member.', label: 'Members' },
  { value: 'application.', label: 'Applications' },
  { value: 'device', label: 'Devices' },
  { value: 'token.', label: 'Tokens' },
  { value: 'service_credential.', label: 'Network servers' },
  { value: 'user.', label: 'Users' },
  { value: 'device_profile.', label: 'Device profiles' },
  { value: 'device_library.', label: 'Device library' },
  { value: 'webhook.', label: 'Webhooks' },
]

/**
 * The facts of an entry, such as `name: pump-houses`. Moments are written as people read them, and
 * users by the names that are known.
 */
export function factsOf(
  detail: Readonly<Record<string, unknown>>,
  userNames: ReadonlyMap<string, string>,
): readonly { readonly name: string; readonly value: string }[] {
  return Object.entries(detail).map(([name, value]) => {
    const userName = name === 'userId' && typeof value === 'string' ? userNames.get(value) : undefined
    return userName === undefined
      ? { name: nameOf(name), value: valueOf(name, value) }
      : { name: 'user', value: userName }
  })
}

function nameOf(name: string): string {
  return name
    .replace(/Ms$/, '')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/^is /, '')
}

function valueOf(name: string, value: unknown): string {
  if (name.endsWith('Ms') && typeof value === 'number') return moment(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function sentenceCase(noun: string): string {
  const words = noun.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
