/** Logging in by password. */
import { randomBytes } from 'node:crypto'
import { networkOf } from '../../client-network.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { granted, refuse } from '../store/result.ts'
import type { Result } from '../store/result.ts'
import type { Store } from '../store/store.ts'
import { foldText, isLine } from '../store/text-rules.ts'
import { userOf } from './users.ts'
import type { User } from './users.ts'

/** Logging in by password. */
export interface Passwords {
  /**
   * The user with this name and password, and whether a second factor must follow. `address` is the
   * peer's IP address. An unknown user, a wrong password and an inactive user all answer
   * `unauthenticated` / `login_failed` after the same work. Other refusals: resource_exhausted with
   * `login_throttled` or `login_busy`.
   */
  authenticate(attempt: {
    readonly userName: string
    readonly password: string
    readonly address: string
  }): Promise<Result<{ readonly user: User; readonly secondFactor: boolean }>>
}

const MAXIMUM_USER_NAME = 100
const MAXIMUM_PASSWORD = 128

/** Logging in to the users of a store. */
export function createPasswords({ db }: Store, hasher: PasswordHasher, throttle: LoginThrottle): Passwords {
  // The hash of no password: a comparison with it takes as long as a comparison with a user's hash.
  const nobodysHash = `$argon2id$v=19$m=19456,t=2,p=1$${base64(16)}$${base64(32)}`

  return {
    async authenticate({ userName, password, address }) {
      const isPossible = isLine(userName, 1, MAXIMUM_USER_NAME) && isLine(password, 1, MAXIMUM_PASSWORD)
      const account = isPossible ? foldText(userName) : ''
      const network = networkOf(address)
      const attempt = await throttle.begin(account, network)
      if (attempt === undefined) {
        return refuse('resource_exhausted', 'login_throttled', 'too many failed logins, try again later')
      }
      const row = isPossible
        ? await db.selectFrom('users').selectAll().where('email_key', '=', account).executeTakeFirst()
        : undefined
      const guess = isPossible ? password : 'impossible'
      const isRight = await hasher.verify(row?.password_hash ?? nobodysHash, guess, { network, account })
      if (isRight === undefined) {
        attempt.forget()
        return refuse('resource_exhausted', 'login_busy', 'too many passwords are being checked, try again')
      }
      // The row is read again: the user may have been changed or removed while the hash was
      // computed.
      const current = row && (await db.selectFrom('users').selectAll().where('id', '=', row.id).executeTakeFirst())
      if (
        !isRight ||
        current === undefined ||
        current.is_active !== 1 ||
        current.password_hash !== row?.password_hash
      ) {
        await attempt.fail()
        return refuse('unauthenticated', 'login_failed', 'wrong user name or password')
      }
      await attempt.succeed()
      const factor = await db
        .selectFrom('second_factors')
        .select('is_enabled')
        .where('user_id', '=', current.id)
        .executeTakeFirst()
      return granted({ user: userOf(current), secondFactor: factor?.is_enabled === 1 })
    },
  }
}

function base64(bytes: number): string {
  return randomBytes(bytes).toString('base64').replaceAll('=', '')
}
