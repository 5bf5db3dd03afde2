/**
 * Recognizes broker-access tokens by the digests of their texts, which the registry keeps from the
 * moment when they are issued. Only the text that was issued has this digest, so a token that is
 * recognized needs no look at its signature. The look takes 60 to 90 µs of processor time, and
 * after a restart all clients come back at once.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { CompiledQuery } from 'kysely'
import type { Store } from '../store/store.ts'
import { accessOf } from './standing.ts'
import type { AccessRow, AccessStanding, Standings } from './standing.ts'

/** Recognizes broker-access tokens. */
export interface TokenDigests {
  /**
   * True: the registry issued exactly this text as the token with this id. False: it did not, or
   * nobody can tell at once, and the signature decides. The standing of a user's token that is
   * recognized, and has not expired, is remembered.
   */
  recognizes(tokenId: string, jwt: string): boolean
}

/** The number of characters of an id that the registry gives. No other text is looked up. */
const ID_CHARACTERS = 36

interface IssuedRow extends AccessRow {
  readonly digest: string | null
  /** Null: the token is a user's own. */
  readonly api_key_id: string | null
  readonly expires_at: number
}

/** The digest of a token's text: SHA-256 in base64url. */
export function digestOfToken(jwt: string): string {
  return createHash('sha256').update(jwt).digest('base64url')
}

/**
 * The digests of a store. Where the database is another process, it is not asked: texts that
 * somebody has made up would become queries.
 *
 * One select reads the digest and the standing: each new connection with a token needs both, and
 * SQLite takes twice as long for two.
 */
export function createTokenDigests(
  store: Pick<Store, 'db' | 'readAtOnce' | 'clock'>,
  standings: Pick<Standings, 'noteAccess'>,
): TokenDigests {
  const compiled = sql<IssuedRow>`
    select digest, api_key_id, expires_at, scope, 1 as token_is_known,
      (select users.is_active from users where users.id = broker_tokens.user_id) as is_active,
      (select users.is_admin from users where users.id = broker_tokens.user_id) as is_admin,
      (select 1 from organizations
        where organizations.id = broker_tokens.organization_id and organizations.removed_at is null)
        as organization_exists,
      (select members.is_read_only from members
        where members.organization_id = broker_tokens.organization_id and members.user_id = broker_tokens.user_id)
        as member_is_read_only
    from broker_tokens where broker_tokens.id = ${''}`.compile(store.db)
  return {
    recognizes(tokenId, jwt) {
      if (tokenId.length !== ID_CHARACTERS) return false
      const query: CompiledQuery<IssuedRow> = { ...compiled, parameters: [tokenId] }
      const row = store.readAtOnce(query)?.[0]
      if (typeof row?.digest !== 'string' || row.digest !== digestOfToken(jwt)) return false
      const standing = row.api_key_id === null && store.clock.now() < row.expires_at ? standingOf(row) : undefined
      if (standing !== undefined) standings.noteAccess(tokenId, standing)
      return true
    },
  }
}

/** Undefined: the scope can't be read. The next look at the standing tells the error. */
function standingOf(row: IssuedRow): AccessStanding | undefined {
  try {
    return accessOf(row)
  } catch {
    return undefined
  }
}
