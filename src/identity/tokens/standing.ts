/**
 * How users and tokens stand: active or not, member or not, known or revoked. Verifying a token
 * asks on each call, so the answers are remembered.
 */
import { sql } from 'kysely'
import { Remembered } from '../../remembered.ts'
import type { Changes } from '../store/changes.ts'
import { refuse } from '../store/result.ts'
import type { Refusal } from '../store/result.ts'
import { forgetOnChange } from '../store/remembered-facts.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import { readScope } from './scope.ts'
import type { Scope } from './scope.ts'

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
  /** The user is a member who only reads. A global admin never is. */
  readonly isReadOnly: boolean
  /** The scope that the token was made with. Undefined: no limit. */
  readonly scope: Scope | undefined
}

/** How a token of an API key stands. The key and its maker are asked for apart. */
export interface KeyTokenStanding {
  /** The generation of the key in which it made the token. */
  readonly generation: number
  /** The scope that the token was made with. Undefined: no limit. */
  readonly scope: Scope | undefined
}

/** The API key and the organization that a token was issued for. */
interface TokenOfKey {
  readonly apiKeyId: string
  readonly organizationId: string
}

/** The user and the organization that a token was issued for. */
interface TokenHolder {
  readonly userId: string
  readonly organizationId: string
}

/** The standings as the verification of tokens asks for them. */
export interface Standings {
  ofUser(userId: string): Promise<UserStanding | undefined>
  /** The three ids come from one token: its signature has been verified. */
  ofAccess(userId: string, organizationId: string, tokenId: string): Promise<AccessStanding>
  /**
   * The same for a token of an API key. Undefined: no such token is known for the key and the
   * organization, or the organization was removed.
   */
  ofKeyToken(apiKeyId: string, organizationId: string, tokenId: string): Promise<KeyTokenStanding | undefined>
}

/** Users, some 100 bytes each. */
const MAXIMUM_USERS = 10_000
/**
 * Tokens, some 200 bytes each, and up to 20 KB with a large scope: as many as a large deployment
 * has connections.
 */
const MAXIMUM_ACCESSES = 50_000

/** Standings that are remembered until a change touches them. */
export function createStandings(store: Store, changes: Changes): Standings {
  const { db } = store
  const users = new Remembered<UserStanding | undefined>({
    look: (userId) => findUser(db, userId),
    maximum: MAXIMUM_USERS,
  })
  const accesses = new Remembered<AccessStanding, TokenHolder>({
    look: (tokenId, { userId, organizationId }) =>
      findAccess(db, parseId(userId) ?? 0, parseId(organizationId) ?? 0, tokenId),
    maximum: MAXIMUM_ACCESSES,
  })
  const ofKeys = new Remembered<KeyTokenStanding | undefined, TokenOfKey>({
    look: (tokenId, holder) => findKeyToken(db, holder, tokenId),
    maximum: MAXIMUM_ACCESSES,
  })
  forgetOnChange(changes, { user: users, access: accesses })
  forgetOnChange(changes, { access: ofKeys })
  return {
    async ofUser(userId) {
      const touching = store.beInTouch()
      if (touching !== undefined) await touching
      return users.of(userId)
    },
    async ofAccess(userId, organizationId, tokenId) {
      const touching = store.beInTouch()
      if (touching !== undefined) await touching
      return accesses.of(tokenId, { userId, organizationId })
    },
    async ofKeyToken(apiKeyId, organizationId, tokenId) {
      const touching = store.beInTouch()
      if (touching !== undefined) await touching
      return ofKeys.of(tokenId, { apiKeyId, organizationId })
    },
  }
}

async function findUser(db: Store['db'], userId: string): Promise<UserStanding | undefined> {
  const rowId = parseId(userId)
  if (rowId === undefined) return undefined
  const row = await db
    .selectFrom('users')
    .select(['is_active', 'is_admin', 'session_epoch'])
    .where('id', '=', rowId)
    .executeTakeFirst()
  return row && { isActive: row.is_active === 1, isAdmin: row.is_admin === 1, sessionEpoch: row.session_epoch }
}

async function findAccess(
  db: Store['db'],
  userId: number,
  organizationId: number,
  tokenId: string,
): Promise<AccessStanding> {
  const { rows } = await sql<AccessRow>`
    select users.is_active as is_active,
      case when organizations.id is not null and (users.is_admin = 1 or members.user_id is not null)
        then 1 else 0 end as is_member,
      case when broker_tokens.id is not null then 1 else 0 end as is_known,
      case when users.is_admin = 0 and members.is_read_only = 1 then 1 else 0 end as is_read_only,
      broker_tokens.scope as scope
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
    isReadOnly: row?.is_read_only === 1,
    scope: readScope(row?.scope ?? null),
  }
}

async function findKeyToken(
  db: Store['db'],
  { apiKeyId, organizationId }: TokenOfKey,
  tokenId: string,
): Promise<KeyTokenStanding | undefined> {
  const row = await db
    .selectFrom('broker_tokens')
    .innerJoin('organizations', 'organizations.id', 'broker_tokens.organization_id')
    .select(['broker_tokens.scope', 'broker_tokens.api_key_generation'])
    .where('broker_tokens.id', '=', tokenId)
    .where('broker_tokens.api_key_id', '=', apiKeyId)
    .where('broker_tokens.organization_id', '=', parseId(organizationId) ?? 0)
    .where('organizations.removed_at', 'is', null)
    .executeTakeFirst()
  return row && { generation: row.api_key_generation ?? 0, scope: readScope(row.scope) }
}

interface AccessRow {
  readonly is_active: number
  readonly is_member: number
  readonly is_known: number
  readonly is_read_only: number
  readonly scope: string | null
}

/** The refusal of a user that is inactive or was removed. */
export function userInactive(): Refusal {
  return refuse('unauthenticated', 'user_inactive', 'the user is inactive or was removed')
}

/** The refusal of a token whose API key is no longer in force. */
export function apiKeyEnded(): Refusal {
  const message = 'the API key of the token was revoked, has expired, or its maker has lost the rights for it'
  return refuse('unauthenticated', 'api_key_ended', message)
}

/** The refusal of a user that is no member of the organization. */
export function notMember(): Refusal {
  return refuse('permission_denied', 'not_a_member', 'the user is no member of the organization')
}
