import { ApiFailure } from './request.ts'

/** Sentences for people, in the place of the service's sentences for programs, by code. */
const IN_WORDS: Readonly<Record<string, string>> = {
  login_failed: 'The user name or the password is wrong.',
  login_throttled: 'Too many wrong passwords. Wait half a minute, then try again.',
  login_busy: 'The service is busy checking other passwords. Try again in a moment.',
  otp_wrong: 'This code is wrong, or was used already. Wait for the next one.',
  otp_missing: 'Type the code of your authenticator.',
  second_factor_locked: 'Too many wrong codes. Wait a minute, then try again.',
  old_password_wrong: 'The current password is wrong.',
  object_not_found: 'This does not exist, or you have no role in its organization.',
  role_too_small: 'Your role does not allow this. Ask an admin of the organization.',
  organization_exists: 'Another organization has this short name. Choose a different one.',
  user_exists: 'There is a user of this name already.',
  member_exists: 'This user is a member already.',
  application_exists: 'The organization has an application of this name already.',
  device_exists: 'A device has this DevEUI already. If it is none of your devices, it belongs to another organization.',
  invalid_dev_eui: 'A DevEUI has 16 hexadecimal digits, like 00005eef10a00001.',
  last_admin: 'This is the last global admin. Make another user a global admin first.',
  import_busy: 'Other imports are running. Wait a moment, then try again.',
  internal: 'Something failed inside the service. Its log has the cause; try again.',
  shutting_down: 'The service is restarting. Try again in a moment.',
}

/** The sentence for a code, or else the given message. */
export function sentenceFor(reason: string, message: string): string {
  return IN_WORDS[reason] ?? asSentence(PATHED.has(reason) ? withoutPath(message) : message)
}

/** Codes whose messages begin with the path of a member. */
const PATHED: ReadonlySet<string> = new Set(['invalid_argument', 'script_not_parsed', 'script_not_checked'])

/** The names of form fields, by the members of requests. */
const FIELDS: Readonly<Record<string, string>> = {
  applicationID: 'the application',
  description: 'the description',
  devEUI: 'the DevEUI',
  displayName: 'the name for people',
  email: 'the user name',
  fPort: 'the port',
  name: 'the name',
  note: 'the note',
  payloadDecoderScript: 'the decoder script',
  payloadEncoderScript: 'the encoder script',
  password: 'the password',
  tags: 'tags',
  variables: 'variables',
}

/**
 * Makes `the DevEUI must be 16 hexadecimal digits` of `device.devEUI: must be 16 hexadecimal
 * digits`.
 */
function withoutPath(message: string): string {
  const [, member = '', rule = ''] = /^(?:\w+\.)*(\w+): (.+)$/.exec(message) ?? []
  const field = FIELDS[member]
  return field === undefined ? message : `${field} ${rule}`
}

/** A sentence for a person about any error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiFailure) return sentenceFor(error.reason, error.message)
  return error instanceof Error ? asSentence(error.message) : 'Something went wrong.'
}

/**
 * Makes a sentence: a capital at the beginning and a full stop at the end. A name of code at the
 * beginning, such as `decodeUplink`, stays as it is.
 */
export function asSentence(text: string): string {
  const isWord = /^[a-z]+(?:[\s,:;’'-]|$)/.test(text)
  const begun = isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`
}
