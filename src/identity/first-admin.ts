/** Makes the first user of a deployment. Without it nobody could log in to make another user. */
import { randomBytes } from 'node:crypto'
import type { Registry } from './registry.ts'

/** The user name of the first global admin. */
const firstAdmin = 'admin'

/** 144 random bits, as a password. */
const PASSWORD_BYTES = 18

/**
 * Makes the global admin `admin` if the deployment has no user yet. A made-up password is shown
 * before the admin is made: a crash between the two leaves no admin, and the next start shows
 * another password. The other order would leave an admin whose password nobody has seen. Throws
 * what `show` throws, and an Error for a password that is against the rules.
 */
export async function ensureFirstAdmin(
  registry: Pick<Registry, 'users' | 'alone'>,
  password: string | undefined,
  show: (password: string) => void,
): Promise<void> {
  // Several processes may start at once on one registry.
  await registry.alone(async () => {
    const { totalCount } = await registry.users.list({ limit: 0, offset: 0 })
    if (totalCount > 0) return
    const chosen = password ?? randomBytes(PASSWORD_BYTES).toString('base64url')
    if (password === undefined) show(chosen)
    const admin = {
      email: firstAdmin,
      isAdmin: true,
      isActive: true,
      note: 'made at the first start',
      password: chosen,
    }
    const created = await registry.users.create(admin, { userId: null })
    if (!created.ok) throw new Error(`the first admin can't be made: ${created.message}`)
  })
}
