/** Organizations: the tenants of a deployment. */
import type { Selectable } from 'kysely'
import { applicationIdOf } from '../store/application-ids.ts'
import type { DeviceRemoval } from '../devices/device-removal.ts'
import { listPage, organizationsOf } from '../store/list-page.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result, Viewer } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { foldText, isLine, isName, parseId } from '../store/text-rules.ts'

/** A tenant: it owns applications and their devices, and has members. */
export interface Organization {
  readonly id: string
  /** Letters, digits, `_` and `-`; unique in any case. */
  readonly name: string
  readonly displayName: string
  readonly canHaveGateways: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** The fields of an organization that may be set. */
export interface OrganizationFields {
  readonly name: string
  readonly displayName: string
  readonly canHaveGateways: boolean
}

/** An organization to be. */
export interface NewOrganization extends OrganizationFields {
  /**
   * The id at the network server from which the organization is synchronised: up to 200 visible
   * ASCII characters. No tenant may choose it.
   */
  readonly externalId?: string
}

/** The organizations of the deployment. */
export interface Organizations {
  /** Refusals: invalid_name, invalid_display_name, invalid_external_id, organization_exists. */
  create(organization: NewOrganization, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<Organization | undefined>
  /** The organization that was created with this external id. */
  findByExternalId(externalId: string): Promise<Organization | undefined>
  /** The external id with which the organization was created; undefined for none. */
  externalIdOf(id: string): Promise<string | undefined>
  /** The ids of all organizations whose external id begins with the prefix. */
  listExternal(prefix: string): Promise<readonly string[]>
  /** Changes the fields that are given. Refusals: organization_not_found and those of `create`. */
  update(id: string, fields: Partial<OrganizationFields>, actor: Actor): Promise<Result<void>>
  /**
   * Removes it with its applications, devices, tokens and service credentials. Refusal:
   * organization_not_found.
   */
  remove(id: string, actor: Actor): Promise<Result<void>>
  /** Sorted by displayName; `search` looks into name and displayName. */
  list(viewer: Viewer, page: Page): Promise<Listed<Organization>>
}

/** The longest name and the longest displayName, in characters. */
export const MAXIMUM_NAME = 100

/** The pattern of a name, for JSON Schema. */
export const ORGANIZATION_NAME_PATTERN = '^[A-Za-z0-9_-]+$'

const NAME = new RegExp(ORGANIZATION_NAME_PATTERN)

/** The organizations of a store. */
export function createOrganizations(store: Store, removal: DeviceRemoval): Organizations {
  const { db } = store
  return {
    create: (organization, actor) => store.change(actor, (unit) => insertOrganization(unit, organization)),

    async get(id) {
      const row = await findOrganization(db, id)
      return row && organizationOf(row)
    },

    async externalIdOf(id) {
      return (await findOrganization(db, id))?.external_id ?? undefined
    },

    async findByExternalId(externalId) {
      const row = await findExternalRow(db, externalId)
      return row && organizationOf(row)
    },

    async listExternal(prefix) {
      const rows = await db
        .selectFrom('organizations')
        .select('id')
        .where('external_id', '>=', prefix)
        // No visible ASCII character comes after the tilde.
        .where('external_id', '<', `${prefix}~`)
        .where('removed_at', 'is', null)
        .execute()
      return rows.map(({ id }) => String(id))
    },

    update: (id, fields, actor) => store.change(actor, (unit) => updateOrganization(unit, id, fields)),

    async remove(id, actor) {
      const outcome = await store.change(actor, (unit) => removeOrganization(unit, id))
      if (outcome.ok) await removal.run()
      return outcome
    },

    list(viewer, page) {
      const scope = db.selectFrom('organizations').where('removed_at', 'is', null)
      return listPage(viewer.isAdmin ? scope : scope.where('id', 'in', organizationsOf(viewer)), page, {
        searched: 'search_text',
        sorted: (rows) => rows.selectAll().orderBy('sort_key').orderBy('id'),
        itemOf: organizationOf,
      })
    },
  }
}

type Row = Selectable<Schema['organizations']>

function organizationOf(row: Row): Organization {
  return {
    id: String(row.id),
    name: row.name,
    displayName: row.display_name,
    canHaveGateways: row.can_have_gateways === 1,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

/** The row of an organization that was not removed. */
export async function findOrganization(db: Store['db'], id: string): Promise<Row | undefined> {
  return db
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', parseId(id) ?? 0)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
}

function findExternalRow(db: Store['db'], externalId: string): Promise<Row | undefined> {
  return db
    .selectFrom('organizations')
    .selectAll()
    .where('external_id', '=', externalId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
}

function columnsOf(
  fields: OrganizationFields,
): Pick<Row, 'name' | 'name_key' | 'display_name' | 'sort_key' | 'search_text' | 'can_have_gateways'> {
  return {
    name: fields.name,
    name_key: foldText(fields.name),
    display_name: fields.displayName,
    sort_key: foldText(fields.displayName),
    search_text: foldText(`${fields.name}\n${fields.displayName}`),
    can_have_gateways: Number(fields.canHaveGateways),
  }
}

async function insertOrganization(unit: Unit, fields: NewOrganization): Promise<Result<{ readonly id: string }>> {
  const { trx, nowMs, audit } = unit
  const refusal = refuseFields(fields)
  if (refusal !== undefined) return refusal
  const { externalId } = fields
  if (externalId !== undefined && !/^[!-~]{1,200}$/.test(externalId)) {
    const rule = 'externalId must have 1 to 200 visible ASCII characters'
    return refuse('invalid_argument', 'invalid_external_id', rule)
  }
  if (await isNameTaken(unit, fields.name)) return alreadyExists('organization_exists')
  if (externalId !== undefined && (await findExternalRow(trx, externalId)) !== undefined) {
    return alreadyExists('organization_exists')
  }
  const row = await trx
    .insertInto('organizations')
    .values({
      ...columnsOf(fields),
      external_id: externalId ?? null,
      device_count: 0,
      removed_at: null,
      created_at: nowMs,
      updated_at: nowMs,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const id = String(row.id)
  await audit('organization.created', id, id, { name: fields.name })
  return granted({ id })
}

async function updateOrganization(unit: Unit, id: string, fields: Partial<OrganizationFields>): Promise<Result<void>> {
  const { trx, nowMs, audit } = unit
  const row = await findOrganization(trx, id)
  if (row === undefined) return notFound('organization_not_found')
  const after = { ...organizationOf(row), ...fields }
  const refusal = refuseFields(after)
  if (refusal !== undefined) return refusal
  const columns = columnsOf(after)
  if (columns.name_key !== row.name_key && (await isNameTaken(unit, after.name))) {
    return alreadyExists('organization_exists')
  }
  await trx
    .updateTable('organizations')
    .set({ ...columns, updated_at: nowMs })
    .where('id', '=', row.id)
    .execute()
  await audit('organization.updated', id, id, { name: after.name })
  return done
}

/**
 * Everything that gives access is deleted at once. The devices, which may be many, are deleted
 * after the mark.
 */
async function removeOrganization(unit: Unit, id: string): Promise<Result<void>> {
  const { trx, nowMs, audit, emit } = unit
  const row = await findOrganization(trx, id)
  if (row === undefined) return notFound('organization_not_found')
  const applications = await trx
    .updateTable('applications')
    .set({ removed_at: nowMs })
    .where('organization_id', '=', row.id)
    .where('removed_at', 'is', null)
    .returning(['id', 'uuid'])
    .execute()
  await trx.updateTable('organizations').set({ removed_at: nowMs }).where('id', '=', row.id).execute()
  await trx.deleteFrom('broker_tokens').where('organization_id', '=', row.id).execute()
  await trx.deleteFrom('organization_bounds').where('organization_id', '=', row.id).execute()
  await trx.deleteFrom('device_profile_versions').where('organization_id', '=', row.id).execute()
  await trx.deleteFrom('device_profiles').where('organization_id', '=', row.id).execute()
  const rules = await trx.deleteFrom('registration_rules').where('organization_id', '=', row.id).executeTakeFirst()
  await trx.deleteFrom('inventory_steps').where('organization_id', '=', row.id).execute()
  const webhooks = await trx.deleteFrom('webhooks').where('organization_id', '=', row.id).returning('id').execute()
  const credentials = await trx
    .deleteFrom('service_credentials')
    .where('organization_id', '=', row.id)
    .returning('id')
    .execute()
  const keys = await trx.deleteFrom('api_keys').where('organization_id', '=', row.id).returning('id').execute()
  const members = await trx.deleteFrom('members').where('organization_id', '=', row.id).returning('user_id').execute()
  await audit('organization.removed', id, id, { name: row.name })
  emit({ kind: 'organization_removed', organizationId: id })
  if (rules.numDeletedRows > 0n) emit({ kind: 'registration_rules_changed', organizationId: id })
  for (const webhook of webhooks) emit({ kind: 'webhook_changed', webhookId: webhook.id, organizationId: id })
  for (const credential of credentials) emit({ kind: 'service_credential_revoked', id: credential.id })
  for (const key of keys) emit({ kind: 'api_key_revoked', apiKeyId: key.id })
  for (const application of applications) {
    emit({ kind: 'application_removed', applicationId: applicationIdOf(application), organizationId: id })
  }
  for (const { user_id } of members) emit({ kind: 'member_removed', organizationId: id, userId: String(user_id) })
  return done
}

async function isNameTaken({ trx }: Unit, name: string): Promise<boolean> {
  const row = await trx
    .selectFrom('organizations')
    .select('id')
    .where('name_key', '=', foldText(name))
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

function refuseFields(fields: OrganizationFields): Refusal | undefined {
  if (!isLine(fields.name, 1, MAXIMUM_NAME) || !NAME.test(fields.name)) {
    const rule = `name must have 1 to ${MAXIMUM_NAME} letters (a to z), digits, "_" or "-"`
    return refuse('invalid_argument', 'invalid_name', rule)
  }
  if (!isName(fields.displayName, MAXIMUM_NAME)) {
    const rule = `displayName must have 1 to ${MAXIMUM_NAME} characters on one line`
    return refuse('invalid_argument', 'invalid_display_name', rule)
  }
  return undefined
}
