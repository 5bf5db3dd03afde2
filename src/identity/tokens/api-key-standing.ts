/**
 * How API keys stand: the secret, the expiry, and the roles of the maker. Each request with a key
 * asks, so the answers are remembered until a change touches the key.
 */
import assert from 'node:assert/strict'
import { createHash, timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { Remembered } from '../../remembered.ts'
import { coversRight, isApiKeyRight } from '../store/api-key-rights.ts'
import type { ApiKeyRight, MakerRoles } from '../store/api-key-rights.ts'
import type { Changes } from '../store/changes.ts'
import { granted } from '../store/result.ts'
import type { Result } from '../store/result.ts'
import { forgetOnChange } from '../store/remembered-facts.ts'
import type { Store } from '../store/store.ts'
import { readApiKey } from './api-key-text.ts'
import { intersectScopes, readOnlyScope, readScope } from './scope.ts'
import type { Scope } from './scope.ts'

/** An API key that is in force. */
export interface ApiKeyInForce {
  readonly id: string
  readonly name: string
  /** `null` for a key of the whole deployment. */
  readonly organizationId: string | null
  readonly rights: readonly ApiKeyRight[]
  /** Undefined: no restriction. */
  readonly scope: Scope | undefined
  /** `null` for a key that does not expire. */
  readonly expiresAtMs: number | null
  /** The user who made the key, or took it over. */
  readonly makerUserId: string
  readonly makerRoles: MakerRoles
  /** Broker-access tokens of other generations have ended. */
  readonly generation: number
  /** For the old secret after a rotation: the end of its life. `null` for the newest secret. */
  readonly secretUntilMs: number | null
}

/** A key as it is remembered: beside its standing, the hashes of its secrets. */
interface Remembrance {
  readonly key: ApiKeyInForce
  readonly secretHash: Buffer
  readonly oldSecretHash: Buffer | undefined
  readonly oldSecretUntilMs: number
  /** The last use that was written. */
  lastUsedAtMs: number
}

/** The keys as requests ask for them. */
export interface ApiKeyStandings {
  /**
   * The key that the text is, if it is in force now. Also notes the use, with the address of the
   * client. Undefined for every other text: the reason is not told.
   */
  authenticate(text: string, address: string): Promise<ApiKeyInForce | undefined>
  /** The key with this id, if it is in force now. */
  inForce(id: string): Promise<ApiKeyInForce | undefined>
  /** Resolves when the noted uses are written. */
  usesWritten(): Promise<void>
}

/** Keys, at most some 20 KB each with the largest scope. */
const MAXIMUM_KEYS = 10_000
/** The sum of their sizes, in characters of their scopes and names. */
const MAXIMUM_CHARACTERS = 16 * 1024 * 1024
/** Ids without a key: programs that go on with a key that was revoked. */
const MAXIMUM_ABSENT = 10_000
/** A use is written when the last written use is older than this. */
const USE_STEP_MS = 60_000
/** The longest address of IPv6, with a zone. */
const MAXIMUM_ADDRESS = 64

/** The standings of a store's keys. Uses that could not be written go to `onWriteError`. */
export function createApiKeyStandings(
  store: Store,
  changes: Changes,
  onWriteError: (error: unknown) => void,
): ApiKeyStandings {
  const { clock } = store
  const keys = new Remembered<Remembrance | undefined>({
    look: (id) => findKey(store.db, id),
    maximum: MAXIMUM_KEYS,
    size: {
      maximum: MAXIMUM_CHARACTERS,
      sizeOf: ({ key }) => key.name.length + JSON.stringify(key.scope ?? null).length,
    },
    maximumAbsent: MAXIMUM_ABSENT,
  })
  forgetOnChange(changes, { apiKey: keys })

  /** Everything that is being written; at most one use of each key in a minute. */
  let writing: Promise<unknown> = Promise.resolve()

  async function remembranceOf(id: string): Promise<Remembrance | undefined> {
    const touching = store.beInTouch()
    if (touching !== undefined) await touching
    const found = await keys.of(id)
    if (found === undefined) return undefined
    const { expiresAtMs } = found.key
    return expiresAtMs === null || clock.now() < expiresAtMs ? found : undefined
  }

  function noteUse(found: Remembrance, address: string): void {
    const nowMs = clock.now()
    if (Math.abs(nowMs - found.lastUsedAtMs) < USE_STEP_MS) return
    found.lastUsedAtMs = nowMs
    const used = { last_used_at: nowMs, last_used_address: address.slice(0, MAXIMUM_ADDRESS) }
    const written = store.note((db) => db.updateTable('api_keys').set(used).where('id', '=', found.key.id).execute())
    writing = Promise.all([writing, written.catch(onWriteError)])
  }

  return {
    async authenticate(text, address) {
      const read = readApiKey(text)
      if (read === undefined) return undefined
      const found = await remembranceOf(read.id)
      // The hash is made in any case, so that the time does not tell which ids exist.
      const hash = hashOf(read.secret)
      if (found === undefined) return undefined
      if (timingSafeEqual(hash, found.secretHash)) {
        noteUse(found, address)
        return found.key
      }
      const { oldSecretHash, oldSecretUntilMs } = found
      if (oldSecretHash === undefined || !timingSafeEqual(hash, oldSecretHash)) return undefined
      if (clock.now() >= oldSecretUntilMs) return undefined
      noteUse(found, address)
      return { ...found.key, secretUntilMs: oldSecretUntilMs }
    },

    async usesWritten() {
      await writing
    },

    inForce: async (id) => (await remembranceOf(id))?.key,
  }
}

/** SHA-256 is enough: 256 random bits can't be guessed, however quick the hash is. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** The rights as the registry keeps them, in the order of the list of rights. */
export function readRights(text: string): readonly ApiKeyRight[] {
  const read = JSON.parse(text) as readonly string[]
  // A right that this version does not know gives nothing.
  return read.filter(isApiKeyRight)
}

interface KeyRow {
  readonly id: string
  readonly name: string
  readonly organization_id: number | null
  readonly rights: string
  readonly scope: string | null
  readonly secret_hash: string
  readonly old_secret_hash: string | null
  readonly old_secret_until: number | null
  readonly generation: number
  readonly expires_at: number | null
  readonly maker_user_id: number | null
  readonly last_used_at: number | null
  readonly has_organization: number
  readonly is_active: number | null
  readonly is_global_admin: number | null
  readonly is_member: number
  readonly is_admin: number | null
  readonly is_device_admin: number | null
  readonly is_read_only: number | null
}

/** The columns of `MakerRow`, of `api_keys` joined by `makerJoins`. */
export const makerColumns = sql`
  case when api_keys.organization_id is null or organizations.id is not null then 1 else 0 end as has_organization,
  users.is_active as is_active, users.is_admin as is_global_admin,
  case when members.user_id is not null then 1 else 0 end as is_member,
  members.is_admin as is_admin, members.is_device_admin as is_device_admin, members.is_read_only as is_read_only`

/** The owner and the maker of each key. */
export const makerJoins = sql`
  left join organizations on organizations.id = api_keys.organization_id and organizations.removed_at is null
  left join users on users.id = api_keys.maker_user_id
  left join members on members.organization_id = api_keys.organization_id and members.user_id = api_keys.maker_user_id`

/** The columns that tell how the maker of a key stands. */
export type MakerRow = Pick<
  KeyRow,
  | 'organization_id'
  | 'has_organization'
  | 'is_active'
  | 'is_global_admin'
  | 'is_member'
  | 'is_admin'
  | 'is_device_admin'
  | 'is_read_only'
>

/**
 * The roles of the maker towards the owner of the key. Undefined: the maker was removed or is
 * inactive, or is no member.
 */
export function makerRolesOf(row: MakerRow): MakerRoles | undefined {
  if (row.has_organization !== 1 || row.is_active !== 1) return undefined
  const isGlobalAdmin = row.is_global_admin === 1
  if (!isGlobalAdmin && (row.organization_id === null || row.is_member !== 1)) return undefined
  const [isAdmin, isDeviceAdmin] = [row.is_admin === 1, row.is_device_admin === 1]
  return { isGlobalAdmin, isAdmin, isDeviceAdmin, isReadOnly: row.is_read_only === 1 }
}

/** The key by its id, if its maker stands. Its expiry is not looked at. */
async function findKey(db: Store['db'], id: string): Promise<Remembrance | undefined> {
  const { rows } = await sql<KeyRow>`
    select api_keys.*, ${makerColumns} from api_keys ${makerJoins} where api_keys.id = ${id}`.execute(db)
  const [row] = rows
  const makerRoles = row && makerRolesOf(row)
  if (row === undefined || row.maker_user_id === null || makerRoles === undefined) return undefined
  const rights = readRights(row.rights)
  if (!rights.every((right) => coversRight(makerRoles, right))) return undefined
  return {
    key: {
      id: row.id,
      name: row.name,
      organizationId: row.organization_id === null ? null : String(row.organization_id),
      rights,
      scope: readScope(row.scope),
      expiresAtMs: row.expires_at,
      makerUserId: String(row.maker_user_id),
      makerRoles,
      generation: row.generation,
      secretUntilMs: null,
    },
    secretHash: Buffer.from(row.secret_hash, 'hex'),
    oldSecretHash: row.old_secret_hash === null ? undefined : Buffer.from(row.old_secret_hash, 'hex'),
    oldSecretUntilMs: row.old_secret_until ?? 0,
    lastUsedAtMs: row.last_used_at ?? -Infinity,
  }
}

/**
 * The limits of a broker-access token that the key makes, or has made with `asked`: never wider
 * than the key, which must have `events.read`. Refuses like `intersectScopes`.
 */
export function tokenScopeOf(
  { rights, scope }: Pick<ApiKeyInForce, 'rights' | 'scope'>,
  asked: Scope | undefined,
): Result<Scope | undefined> {
  // A client of the broker may always subscribe.
  assert(rights.includes('events.read'), 'only keys that read events make tokens')
  const common = intersectScopes(scope, asked)
  if (!common.ok || rights.includes('commands.send')) return common
  return granted(readOnlyScope(common.value))
}
