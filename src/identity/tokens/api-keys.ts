/**
 * API keys: the credentials of programs that run without a person. A key belongs to an organization
 * or to the deployment, and stands as long as its maker has the roles that its rights need.
 */
import { sql } from 'kysely'
import type { SqlBool } from 'kysely'
import { given } from '../../given.ts'
import type { ApiKeyRight } from '../store/api-key-rights.ts'
import { listPage } from '../store/list-page.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result } from '../store/result.ts'
import type { Store, Unit } from '../store/store.ts'
import { foldText, parseId } from '../store/text-rules.ts'
import { newApiKeyId, newApiKeySecret, writeApiKey } from './api-key-text.ts'
import {
  MAXIMUM_OVERLAP_SECONDS,
  refuseExpiry,
  refuseForeignThings,
  refuseMaker,
  refuseMembers,
  sortedRights,
} from './api-key-rules.ts'
import { readApiKeyRow } from './api-key-rows.ts'
import type { ApiKey, ApiKeyRow } from './api-key-rows.ts'
import { hashOf, makerColumns, makerJoins } from './api-key-standing.ts'
import type { ApiKeyStandings } from './api-key-standing.ts'
import { scopeText } from './scope.ts'
import type { Scope } from './scope.ts'

/** The members of a key that people choose. */
export interface ApiKeyFields {
  /** Unique among the keys of its owner, without regard to case. */
  readonly name: string
  readonly rights: readonly ApiKeyRight[]
  /** A restriction to applications, devices and tags alone. Undefined: no restriction. */
  readonly scope: Scope | undefined
  /** `null`: the key does not expire. */
  readonly expiresAtMs: number | null
}

/** A new key. */
export interface NewApiKey extends ApiKeyFields {
  /** `null` for a key of the whole deployment. */
  readonly organizationId: string | null
  readonly makerUserId: string
}

/** The API keys of a store. */
export interface ApiKeys extends ApiKeyStandings {
  /**
   * Returns the key, which is never told again: only its hash is kept. Refusals: invalid_name,
   * organization_not_found, api_key_exists, too_many_api_keys, api_key_rights_invalid,
   * api_key_not_restrictable, api_key_expiry_invalid, api_key_maker, scope_invalid,
   * object_not_found (a thing of the restriction).
   */
  create(key: NewApiKey, actor: Actor): Promise<Result<{ readonly id: string; readonly key: string }>>
  /** Sorted by name: the keys of the organization, or with `null` those of the deployment. */
  list(organizationId: string | null, page: Page): Promise<Listed<ApiKey>>
  get(id: string): Promise<ApiKey | undefined>
  /** The names of keys by their ids, of 1,000 ids at most; ids without a key are left out. */
  namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /**
   * Changes act at once. A change that narrows the key, or changes its restriction, ends the
   * broker-access tokens that it made. Refusals: api_key_not_found, and those of `create`.
   */
  update(id: string, fields: Partial<ApiKeyFields>, actor: Actor): Promise<Result<void>>
  /**
   * Makes a new secret. The old one is good for another `overlapSeconds`; with 0 it ends at once,
   * together with the key's broker-access tokens. Returns the key with its new secret. Refusals:
   * api_key_not_found, api_key_overlap_invalid.
   */
  rotate(id: string, overlapSeconds: number, actor: Actor): Promise<Result<{ readonly key: string }>>
  /** Gives the key another maker. Refusals: api_key_not_found, api_key_maker. */
  handOver(id: string, makerUserId: string, actor: Actor): Promise<Result<void>>
  /** Ends the key, its broker-access tokens and their connections. Refusal: api_key_not_found. */
  revoke(id: string, actor: Actor): Promise<Result<void>>
}

/** Keys of one organization, and of the deployment, against filling the disk. */
const MAXIMUM_API_KEYS = 100

/** Names that one call looks up: as many as a page has items. */
const MAXIMUM_NAMES = 1000

/** The keys of a store. */
export function createApiKeys(store: Store, standings: ApiKeyStandings): ApiKeys {
  const { db, clock } = store
  return {
    ...standings,
    create: (key, actor) => store.change(actor, (unit) => insertKey(unit, key)),

    async list(organizationId, page) {
      await standings.usesWritten()
      const { totalCount, items } = await listPage(db.selectFrom('api_keys').where(isOwnedBy(organizationId)), page, {
        searched: 'name_key',
        sorted: (rows) => rows.select('id').orderBy('name_key').orderBy('id'),
        itemOf: ({ id }: { readonly id: string }) => id,
      })
      return { totalCount, items: await readKeys(db, items, clock.now()) }
    },

    async get(id) {
      await standings.usesWritten()
      return (await readKeys(db, [id], clock.now()))[0]
    },

    async namesOf(ids) {
      if (ids.length === 0) return new Map()
      const asked = ids.slice(0, MAXIMUM_NAMES)
      const rows = await db.selectFrom('api_keys').select(['id', 'name']).where('id', 'in', asked).execute()
      return new Map(rows.map(({ id, name }) => [id, name]))
    },

    update: (id, fields, actor) => store.change(actor, (unit) => updateKey(unit, id, fields)),
    rotate: (id, overlapSeconds, actor) => store.change(actor, (unit) => rotateKey(unit, id, overlapSeconds)),

    handOver: (id, makerUserId, actor) =>
      store.change(actor, async (unit) => {
        const row = await findRow(unit.trx, id)
        if (row === undefined) return notFound('api_key_not_found')
        const refused = await refuseMaker(unit.trx, makerUserId, ownerOf(row), sortedRights(row.rights))
        if (refused !== undefined) return refused
        const maker = { maker_user_id: parseId(makerUserId) ?? 0 }
        await unit.trx.updateTable('api_keys').set(maker).where('id', '=', id).execute()
        // The tokens go with the key: they must not end with the user who had it before.
        await unit.trx
          .updateTable('broker_tokens')
          .set({ user_id: maker.maker_user_id })
          .where('api_key_id', '=', id)
          .execute()
        await unit.audit('api_key.handed_over', id, ownerOf(row), { name: row.name, makerUserId })
        unit.emit({ kind: 'api_key_changed', apiKeyId: id })
        return done
      }),

    revoke: (id, actor) =>
      store.change(actor, async ({ trx, audit, emit }) => {
        const row = await trx.deleteFrom('api_keys').where('id', '=', id).returningAll().executeTakeFirst()
        if (row === undefined) return notFound('api_key_not_found')
        await trx.deleteFrom('broker_tokens').where('api_key_id', '=', id).execute()
        await audit('api_key.revoked', id, ownerOf(row), { name: row.name })
        emit({ kind: 'api_key_revoked', apiKeyId: id })
        return done
      }),
  }
}

async function insertKey(unit: Unit, key: NewApiKey): Promise<Result<{ readonly id: string; readonly key: string }>> {
  const { trx, nowMs, audit } = unit
  const { name, rights, scope, expiresAtMs, organizationId, makerUserId } = key
  const refused =
    refuseMembers(key, organizationId) ??
    refuseExpiry(expiresAtMs, nowMs) ??
    (await refuseMaker(trx, makerUserId, organizationId, rights)) ??
    (await refuseForeignThings(trx, organizationId, scope)) ??
    (await refuseName(unit, name, organizationId, undefined))
  if (refused !== undefined) return refused
  const keys = trx.selectFrom('api_keys').where(isOwnedBy(organizationId))
  const { count } = await keys.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  if (count >= MAXIMUM_API_KEYS) {
    const rule = `there are ${MAXIMUM_API_KEYS} API keys already: revoke some`
    return refuse('resource_exhausted', 'too_many_api_keys', rule)
  }
  const [id, secret] = [newApiKeyId(), newApiKeySecret()]
  await trx
    .insertInto('api_keys')
    .values({
      id,
      organization_id: organizationId === null ? null : (parseId(organizationId) ?? 0),
      name,
      name_key: foldText(name),
      rights: rightsText(rights),
      scope: scopeText(scope),
      secret_hash: hashOf(secret).toString('hex'),
      old_secret_hash: null,
      old_secret_until: null,
      generation: 1,
      expires_at: expiresAtMs,
      maker_user_id: parseId(makerUserId) ?? 0,
      created_at: nowMs,
      rotated_at: null,
      last_used_at: null,
      last_used_address: null,
    })
    .execute()
  await audit('api_key.created', id, organizationId, { name, rights, ...given({ scope }), expiresAtMs })
  // Somebody may have asked for this id, and heard that there is no such key.
  unit.emit({ kind: 'api_key_changed', apiKeyId: id })
  return granted({ id, key: writeApiKey({ id, secret }) })
}

async function updateKey(unit: Unit, id: string, fields: Partial<ApiKeyFields>): Promise<Result<void>> {
  const { trx, nowMs, audit, emit } = unit
  const row = await findRow(trx, id)
  if (row === undefined) return notFound('api_key_not_found')
  const before = readApiKeyRow(row, nowMs)
  const after: ApiKeyFields = { ...before, ...fields }
  const owner = before.organizationId
  // The tokens that the key made keep their limits, so tokens that are too wide now must end.
  const isNarrower =
    (after.expiresAtMs ?? Infinity) < (before.expiresAtMs ?? Infinity) ||
    scopeText(after.scope) !== scopeText(before.scope) ||
    before.rights.some((right) => !after.rights.includes(right))
  const widens = after.rights.some((right) => !before.rights.includes(right))
  const refused =
    refuseMembers(after, owner) ??
    (fields.expiresAtMs === undefined ? undefined : refuseExpiry(after.expiresAtMs, nowMs)) ??
    (widens ? await refuseMaker(trx, before.makerUserId, owner, after.rights) : undefined) ??
    (fields.scope === undefined ? undefined : await refuseForeignThings(trx, owner, after.scope)) ??
    (await refuseName(unit, after.name, owner, id))
  if (refused !== undefined) return refused
  await trx
    .updateTable('api_keys')
    .set({
      name: after.name,
      name_key: foldText(after.name),
      rights: rightsText(after.rights),
      scope: scopeText(after.scope),
      expires_at: after.expiresAtMs,
      generation: row.generation + Number(isNarrower),
    })
    .where('id', '=', id)
    .execute()
  const { name, rights, scope, expiresAtMs } = after
  await audit('api_key.changed', id, owner, { name, rights, ...given({ scope }), expiresAtMs })
  emit({ kind: 'api_key_changed', apiKeyId: id })
  return done
}

async function rotateKey(unit: Unit, id: string, overlapSeconds: number): Promise<Result<{ readonly key: string }>> {
  const { trx, nowMs, audit, emit } = unit
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > MAXIMUM_OVERLAP_SECONDS) {
    const rule = `the overlap must be a whole number of seconds from 0 to ${MAXIMUM_OVERLAP_SECONDS}`
    return refuse('invalid_argument', 'api_key_overlap_invalid', rule)
  }
  const row = await findRow(trx, id)
  if (row === undefined) return notFound('api_key_not_found')
  const secret = newApiKeySecret()
  await trx
    .updateTable('api_keys')
    .set({
      secret_hash: hashOf(secret).toString('hex'),
      old_secret_hash: overlapSeconds === 0 ? null : row.secret_hash,
      old_secret_until: overlapSeconds === 0 ? null : nowMs + overlapSeconds * 1000,
      generation: row.generation + Number(overlapSeconds === 0),
      rotated_at: nowMs,
    })
    .where('id', '=', id)
    .execute()
  await audit('api_key.rotated', id, ownerOf(row), { name: row.name, overlapSeconds })
  emit({ kind: 'api_key_changed', apiKeyId: id })
  return granted({ key: writeApiKey({ id, secret }) })
}

async function refuseName(
  { trx }: Unit,
  name: string,
  organizationId: string | null,
  ownId: string | undefined,
): Promise<Refusal | undefined> {
  const taken = await trx
    .selectFrom('api_keys')
    .select('id')
    .where(isOwnedBy(organizationId))
    .where('name_key', '=', foldText(name))
    .where('id', '!=', ownId ?? '')
    .executeTakeFirst()
  return taken === undefined ? undefined : alreadyExists('api_key_exists')
}

async function readKeys(db: Store['db'], ids: readonly string[], nowMs: number): Promise<readonly ApiKey[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<ApiKeyRow>`
    select api_keys.*, users.email as maker_email, ${makerColumns} from api_keys ${makerJoins}
    where api_keys.id in (${sql.join(ids)})`.execute(db)
  const byId = new Map(rows.map((row) => [row.id, readApiKeyRow(row, nowMs)]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

async function findRow(trx: Unit['trx'], id: string): Promise<ApiKeyRow | undefined> {
  const { rows } = await sql<ApiKeyRow>`
    select api_keys.*, users.email as maker_email, ${makerColumns} from api_keys ${makerJoins}
    where api_keys.id = ${id}`.execute(trx)
  return rows[0]
}

function isOwnedBy(organizationId: string | null) {
  return organizationId === null
    ? sql<SqlBool>`api_keys.organization_id is null`
    : sql<SqlBool>`api_keys.organization_id = ${parseId(organizationId) ?? 0}`
}

function ownerOf({ organization_id: id }: { readonly organization_id: number | null }): string | null {
  return id === null ? null : String(id)
}

function rightsText(rights: readonly ApiKeyRight[]): string {
  return JSON.stringify(rights)
}
