/**
 * How users and tokens stand: active or not, member or not, known or revoked. Verifying a token
 * asks on each call, so the answers are remembered.
 */
import { sql } from 'kysely'
import type { CompiledQuery } from 'kysely'
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
   * Remembers the standing of a token for the next `ofAccess`. The caller has read it in this turn
   * of the event loop: an older one could undo a change.
   */
  noteAccess(tokenId: string, standing: AccessStanding): void
  /**
   * The standing of a token of an API key. Undefined: no such token is known for the key and the
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
    look: createAccessLook(store),
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
    noteAccess(tokenId, standing) {
      accesses.note(tokenId, standing)
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

/**
 * The query is compiled once: each new connection with a token asks. It has no join, because SQLite
 * in Bun takes five times as long for one as for a part of the select.
 */
function createAccessLook(store: Store): (tokenId: string, holder: TokenHolder) => Seen<AccessStanding> {
  const { db } = store
  const compiled = sql<AccessRow>`
    select users.is_active as is_active, users.is_admin as is_admin,
      (select 1 from organizations where organizations.id = ${0} and organizations.removed_at is null)
        as organization_exists,
      (select members.is_read_only from members
        where members.organization_id = ${0} and members.user_id = users.id) as member_is_read_only,
      (select 1 from broker_tokens where broker_tokens.id = ${''} and broker_tokens.user_id = users.id
        and broker_tokens.organization_id = ${0}) as token_is_known,
      (select broker_tokens.scope from broker_tokens where broker_tokens.id = ${''}) as scope
    from users where users.id = ${0}`.compile(db)
  return (tokenId, holder) => {
    const [user, organization] = [parseId(holder.userId) ?? 0, parseId(holder.organizationId) ?? 0]
    const parameters = [organization, organization, tokenId, organization, tokenId, user]
    const query: CompiledQuery<AccessRow> = { ...compiled, parameters }
    const rows = store.readAtOnce(query)
    return rows === undefined ? db.executeQuery(query).then((found) => accessOf(found.rows[0])) : accessOf(rows[0])
  }
}

/** The standing that the row says; without a row, the user does not exist. */
export function accessOf(row: AccessRow | undefined): AccessStanding {
  const isAdmin = row?.is_admin === 1
  const isMember = isAdmin || typeof row?.member_is_read_only === 'number'
  return {
    isUserActive: row?.is_active === 1,
    isMember: isMember && row?.organization_exists === 1,
    isTokenKnown: row?.token_is_known === 1,
    isReadOnly: !isAdmin && row?.member_is_read_only === 1,
    scope: row?.token_is_known === 1 ? readScope(row.scope) : undefined,
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

/** The members of the registry's rows that decide how a token stands. */
export interface AccessRow {
  readonly is_active: number | null
  readonly is_admin: number | null
  readonly organization_exists: number | null
  /** Null: the user is no member. */
  readonly member_is_read_only: number | null
  readonly token_is_known: number | null
  readonly scope: string | null
}

/** A value, or its Promise where it can't be had at once. */
type Seen<Value> = Value | Promise<Value>

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
