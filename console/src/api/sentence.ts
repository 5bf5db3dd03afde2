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
  internal: 'Something failed inside the service. Its log has the cause; try again.',
  shutting_down: 'The service is restarting. Try again in a moment.',
}

/** What went wrong, as a sentence for a person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiFailure) return IN_WORDS[error.reason] ?? asSentence(error.message)
  return error instanceof Error ? asSentence(error.message) : 'Something went wrong.'
}

function asSentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
