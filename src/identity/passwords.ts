import type { Result } from './result.ts'
import type { User } from './users.ts'

/** Logging in by password. */
export interface Passwords {
  /**
   * Whose password that is, and whether a second factor must follow. `address` is the peer's IP address.
   * An unknown user, a wrong password and an inactive user all answer `unauthenticated` / `login_failed` after the same
   * work. Refusals besides: resource_exhausted with `login_throttled` or `login_busy`.
   */
  authenticate(attempt: {
    readonly userName: string
    readonly password: string
    readonly address: string
  }): Promise<Result<{ readonly user: User; readonly secondFactor: boolean }>>
}
