/** The first user of a deployment, without whom nobody could log in to make another. */
import { randomBytes } from 'node:crypto'
import type { Registry } from './registry.ts'

/** The user name of the first global admin. */
const firstAdmin = 'admin'

/** 144 random bits, as a password. */
const passwordBytes = 18

/**
 * Makes the global admin `admin` if the deployment has no user yet. Answers the password when it had to be made up, so that
 * it can be shown once; undefined when there are users, or `password` was taken. Throws an Error for a password that is
 * against the rules.
 */
export async function ensureFirstAdmin(
  registry: Pick<Registry, 'users'>,
  password: string | undefined,
): Promise<string | undefined> {
  const { totalCount } = await registry.users.list({ limit: 0, offset: 0 })
  if (totalCount > 0) return undefined
  const chosen = password ?? randomBytes(passwordBytes).toString('base64url')
  const admin = { email: firstAdmin, isAdmin: true, isActive: true, note: 'made at the first start', password: chosen }
  const created = await registry.users.create(admin, { userId: null })
  if (!created.ok) throw new Error(`the first admin can't be made: ${created.message}`)
  return password === undefined ? chosen : undefined
}
