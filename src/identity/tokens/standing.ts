import { sql } from 'kysely'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Changes } from '../store/changes.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

/** How a user stands. */
export interface UserStanding {
  readonly isActive: boolean
  readonly isAdmin: boolean
  readonly sessionEpoch: number
}

/** How a user stands towards an organization, and a token towards both. */
export interface AccessStanding {
  readonly isUserActive: boolean
  /** The organization exists, and the user is a member or a global admin. */
  readonly isMember: boolean
  /** The token is known for this user and organization, and not revoked. */
  readonly isTokenKnown: boolean
}

/** What verifying tokens asks on each call. */
export interface Standings {
  ofUser(userId: string): Promise<UserStanding | undefined>
  ofAccess(userId: string, organizationId: string, tokenId: string): Promise<AccessStanding>
}

/** Users, some 100 bytes each. */
const MAXIMUM_USERS = 10_000
/** Tokens, some 200 bytes each: those of all connections of a large deployment. */
const MAXIMUM_ACCESSES = 50_000
/**
 * Another look when a change came in between; a change at each of them would be an attack, and gets
 * the last look.
 */
const MAXIMUM_LOOKS = 5

/** Standings that are remembered until a change touches them. */
export function createStandings({ db }: Store, changes: Changes): Standings {
  const users = new BoundedCache<UserStanding>(MAXIMUM_USERS)
  const accesses = new BoundedCache<AccessStanding>(MAXIMUM_ACCESSES)
  let generation = 0
  changes.subscribe((change) => {
    switch (change.kind) {
      case 'user_changed':
        users.delete(change.userId)
        accesses.clear()
        break
      case 'member_added':
      case 'member_removed':
      case 'organization_removed':
        accesses.clear()
        break
      case 'token_revoked':
        accesses.delete(change.tokenId)
        break
      case 'application_created':
      case 'application_changed':
      case 'application_removed':
      case 'device_created':
      case 'device_changed':
      case 'device_removed':
      case 'devices_changed':
      case 'service_credential_revoked':
        return
    }
    generation += 1
  })

  /** Looks, and remembers what was seen unless a change came in between. */
  async function look<T>(query: () => Promise<T>, remember: (seen: T) => void): Promise<T> {
    for (let looks = 1; ; looks += 1) {
      const begun = generation
      const seen = await query()
      if (begun === generation) remember(seen)
      else if (looks < MAXIMUM_LOOKS) continue
      return seen
    }
  }

  return {
    async ofUser(userId) {
      const known = users.get(userId)
      if (known !== undefined) return known
      const rowId = parseId(userId)
      if (rowId === undefined) return undefined
      return look(
        async () => {
          const row = await db
            .selectFrom('users')
            .select(['is_active', 'is_admin', 'session_epoch'])
            .where('id', '=', rowId)
            .executeTakeFirst()
          return row && { isActive: row.is_active === 1, isAdmin: row.is_admin === 1, sessionEpoch: row.session_epoch }
        },
        (seen) => {
          if (seen !== undefined) users.set(userId, seen)
        },
      )
    },

    async ofAccess(userId, organizationId, tokenId) {
      const known = accesses.get(tokenId)
      if (known !== undefined) return known
      return look(
        () => findAccess(db, parseId(userId) ?? 0, parseId(organizationId) ?? 0, tokenId),
        (seen) => accesses.set(tokenId, seen),
      )
    },
  }
}

async function findAccess(
  db: Store['db'],
  userId: number,
  organizationId: number,
  tokenId: string,
): Promise<AccessStanding> {
  const { rows } = await sql<{ readonly is_active: number; readonly is_member: number; readonly is_known: number }>`
    select users.is_active as is_active,
      case when organizations.id is not null and (users.is_admin = 1 or members.user_id is not null)
        then 1 else 0 end as is_member,
      case when broker_tokens.id is not null then 1 else 0 end as is_known
    from users
      left join organizations on organizations.id = ${organizationId} and organizations.removed_at is null
      left join members on members.organization_id = ${organizationId} and members.user_id = users.id
      left join broker_tokens on broker_tokens.id = ${tokenId} and broker_tokens.user_id = users.id
        and broker_tokens.organization_id = ${organizationId}
    where users.id = ${userId}`.execute(db)
  const [row] = rows
  return {
    isUserActive: row?.is_active === 1,
    isMember: row?.is_member === 1,
    isTokenKnown: row?.is_known === 1,
  }
}
