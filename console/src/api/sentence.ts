import { ApiFailure } from './request.ts'

/** Codes whose sentence for programs is said better to a person. */
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
  device_exists: 'A device has this DevEUI already. If it is none of yours, it is one of another organization.',
  invalid_dev_eui: 'A DevEUI has 16 hexadecimal digits, like 00005eef10a00001.',
  last_admin: 'This is the last global admin. Make somebody else one first.',
  import_busy: 'Other imports are running. Wait a moment, then try again.',
  internal: 'Something failed inside the service. Its log has the cause; try again.',
  shutting_down: 'The service is restarting. Try again in a moment.',
}

/** What a stable code says to a person, or else the sentence that came with it. */
export function sentenceFor(reason: string, message: string): string {
  return IN_WORDS[reason] ?? asSentence(PATHED.has(reason) ? withoutPath(message) : message)
}

/** Codes whose sentence begins with the path of a member. */
const PATHED: ReadonlySet<string> = new Set(['invalid_argument', 'script_not_parsed', 'script_not_checked'])

/** Members of requests as the fields of forms are called. */
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

/** `device.devEUI: must be 16 hexadecimal digits` as `the DevEUI must be 16 hexadecimal digits`. */
function withoutPath(message: string): string {
  const [, member = '', rule = ''] = /^(?:\w+\.)*(\w+): (.+)$/.exec(message) ?? []
  const field = FIELDS[member]
  return field === undefined ? message : `${field} ${rule}`
}

/** What went wrong, as a sentence for a person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiFailure) return sentenceFor(error.reason, error.message)
  return error instanceof Error ? asSentence(error.message) : 'Something went wrong.'
}

/**
 * With a capital in front and a full stop behind. A name of code in front, as `decodeUplink`, stays
 * as it is.
 */
export function asSentence(text: string): string {
  const isWord = /^[a-z]+(?:[\s,:;’'-]|$)/.test(text)
  const begun = isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`
}
