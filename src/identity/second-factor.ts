import type { Actor, Result } from './result.ts'

/** What a user needs to set an authenticator up. Told once. */
export interface SecondFactorConfiguration {
  /** `otpauth://totp/...` */
  readonly url: string
  /** In base32. */
  readonly secret: string
  /** Ten, each `xxxxx-xxxxx`, each good once. */
  readonly recoveryCodes: readonly string[]
  /** A PNG in base64. */
  readonly qrCode: string
}

/**
 * Time-based one-time passwords, RFC 6238: SHA-1, 6 digits, 30 s, one step of tolerance either way, each code good once.
 * Wherever an `otp` is taken, refusals are: second_factor_not_configured, second_factor_not_enabled, otp_wrong,
 * second_factor_locked (too many wrong ones; passes by itself).
 */
export interface SecondFactor {
  status(userId: string): Promise<{ readonly enabled: boolean }>
  /** Makes a new secret, which takes effect by `enable`. Refusals: user_not_found, second_factor_enabled. */
  configure(userId: string, qrCodeSize: number, actor: Actor): Promise<Result<SecondFactorConfiguration>>
  /** Turns it on, given a code of the authenticator. Refusal: second_factor_enabled. */
  enable(userId: string, otp: string, actor: Actor): Promise<Result<void>>
  /** Turns it off, given a code of the authenticator or a recovery code. */
  disable(userId: string, otp: string, actor: Actor): Promise<Result<void>>
  /** Turns it off for a user who lost it. Refusal: second_factor_not_configured. */
  reset(userId: string, actor: Actor): Promise<Result<void>>
  /** Makes ten new recovery codes; the old ones are void. */
  regenerateRecoveryCodes(userId: string, otp: string, actor: Actor): Promise<Result<readonly string[]>>
  /** Whether the code, of the authenticator or a recovery code, is good. It is used up by this. */
  verify(userId: string, otp: string): Promise<Result<void>>
}
