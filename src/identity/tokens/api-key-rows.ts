/** API keys on record, as people see them: never with their secrets. */
import type { ApiKeyRight } from '../store/api-key-rights.ts'
import { coversRight } from '../store/api-key-rights.ts'
import type { Selectable } from 'kysely'
import type { Schema } from '../store/schema.ts'
import { makerRolesOf, readRights } from './api-key-standing.ts'
import type { MakerRow } from './api-key-standing.ts'
import { readScope } from './scope.ts'
import type { Scope } from './scope.ts'

/**
 * Whether a key is in force: `without_maker` when its maker was removed, is inactive or no member
 * any more; `maker_role_too_small` when the roles of the maker don't cover the rights of the key.
 */
export type ApiKeyState = 'in_force' | 'expired' | 'without_maker' | 'maker_role_too_small'

/** An API key on record. */
export interface ApiKey {
  readonly id: string
  /** `null` for a key of the whole deployment. */
  readonly organizationId: string | null
  readonly name: string
  readonly rights: readonly ApiKeyRight[]
  /** Undefined: no restriction. */
  readonly scope: Scope | undefined
  /** `null` for a key that does not expire. */
  readonly expiresAtMs: number | null
  readonly state: ApiKeyState
  /** `null` when the user was removed. */
  readonly makerUserId: string | null
  /** `""` when the user was removed. */
  readonly makerEmail: string
  readonly createdAtMs: number
  /** `null` for a key that has its first secret. */
  readonly rotatedAtMs: number | null
  /** The end of the overlap after a rotation, while it lasts. */
  readonly oldSecretUntilMs: number | null
  /** Exact to a minute; `null` for never. */
  readonly lastUsedAtMs: number | null
  /** The address of the client that used it last. */
  readonly lastUsedAddress: string | null
}

/** The row of a key, with the columns of its maker. */
export type ApiKeyRow = Selectable<Schema['api_keys']> & MakerRow & { readonly maker_email: string | null }

/** The key that the row holds. */
export function readApiKeyRow(row: ApiKeyRow, nowMs: number): ApiKey {
  const rights = readRights(row.rights)
  const isOverlapping = row.old_secret_until !== null && nowMs < row.old_secret_until
  return {
    id: row.id,
    organizationId: row.organization_id === null ? null : String(row.organization_id),
    name: row.name,
    rights,
    scope: readScope(row.scope),
    expiresAtMs: row.expires_at,
    state: stateOf(row, rights, nowMs),
    makerUserId: row.maker_user_id === null ? null : String(row.maker_user_id),
    makerEmail: row.maker_email ?? '',
    createdAtMs: row.created_at,
    rotatedAtMs: row.rotated_at,
    oldSecretUntilMs: isOverlapping ? row.old_secret_until : null,
    lastUsedAtMs: row.last_used_at,
    lastUsedAddress: row.last_used_address,
  }
}

function stateOf(row: ApiKeyRow, rights: readonly ApiKeyRight[], nowMs: number): ApiKeyState {
  if (row.expires_at !== null && nowMs >= row.expires_at) return 'expired'
  const roles = makerRolesOf(row)
  if (roles === undefined) return 'without_maker'
  return rights.every((right) => coversRight(roles, right)) ? 'in_force' : 'maker_role_too_small'
}
