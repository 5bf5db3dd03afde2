/**
 * The webhooks of organizations: their settings, their secrets, and whether they are paused. The
 * place in the log that a webhook has reached is not kept here.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { given } from '../../given.ts'
import { headersFault, settingsFault, urlFault, WEBHOOK_BOUNDS } from '../../webhook-settings.ts'
import type { Webhook, WebhookPause, WebhookPauseCode, WebhookSecret, WebhookSettings } from '../../webhook-settings.ts'
import { parseDevEui } from '../devices/eui.ts'
import { hasApplicationId } from '../store/application-ids.ts'
import { listPage } from '../store/list-page.ts'
import { done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { foldText, isName, parseId } from '../store/text-rules.ts'
import { findOrganization } from './organizations.ts'

/** The fields of a webhook that a person sets. */
export interface WebhookFields {
  readonly settings: WebhookSettings
  /** Header fields by name. On an update undefined: they stay as they are. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** The webhooks of organizations. A webhook of another organization is answered like no webhook. */
export interface Webhooks {
  /**
   * The answer is the first one with the secret. Refusals: organization_not_found, invalid_name,
   * invalid_webhook_url, invalid_webhook_header, invalid_webhook, application_not_found,
   * too_many_webhooks, too_many_webhook_requests.
   */
  create(
    organizationId: string,
    fields: WebhookFields,
    actor: Actor,
  ): Promise<Result<{ readonly id: string; readonly secret: string }>>
  /** Sets all settings. Refusals: webhook_not_found and those of `create`. */
  update(organizationId: string, id: string, fields: WebhookFields, actor: Actor): Promise<Result<void>>
  /** Refusal: webhook_not_found. */
  remove(organizationId: string, id: string, actor: Actor): Promise<Result<void>>
  get(organizationId: string, id: string): Promise<Webhook | undefined>
  /** Sorted by name. */
  list(organizationId: string, page: Page): Promise<Listed<Webhook>>
  /** The webhook with this id, whoever owns it: for the part that runs webhooks. */
  find(id: string): Promise<Webhook | undefined>
  /** All webhooks of the deployment: for the part that runs webhooks. */
  all(): Promise<readonly Webhook[]>
  /**
   * Makes a new secret. The secret that was current goes on signing for the overlap; older secrets
   * end. Refusal: webhook_not_found.
   */
  rotateSecret(
    organizationId: string,
    id: string,
    overlapSeconds: number,
    actor: Actor,
  ): Promise<Result<{ readonly secret: string }>>
  /**
   * Pauses the webhook. A webhook that is paused stays as it is. Refusal: webhook_not_found.
   */
  pause(
    organizationId: string,
    id: string,
    pause: { readonly code: WebhookPauseCode; readonly reason: string },
    actor: Actor,
  ): Promise<Result<void>>
  /**
   * Lets the webhook go on. `fromMs`: it sends the events from this time on, again where it has
   * sent them. Refusal: webhook_not_found.
   */
  resume(organizationId: string, id: string, fromMs: number | undefined, actor: Actor): Promise<Result<void>>
}

/** The webhooks of a store. */
export function createWebhooks(store: Store): Webhooks {
  const { db } = store
  return {
    create: (organizationId, fields, actor) => store.change(actor, (unit) => insert(unit, organizationId, fields)),
    update: (organizationId, id, fields, actor) =>
      store.change(actor, (unit) => update(unit, { organizationId, id }, fields)),

    remove: (organizationId, id, actor) =>
      changeOne(store, { organizationId, id }, actor, async ({ trx, audit }, { name }) => {
        await trx.deleteFrom('webhooks').where('id', '=', id).execute()
        await audit('webhook.removed', id, organizationId, { name })
        return done
      }),

    async get(organizationId, id) {
      const row = await findRow(db, { organizationId, id })
      return row && webhookOf(row)
    },

    list(organizationId, page) {
      const scope = db.selectFrom('webhooks').where('organization_id', '=', parseId(organizationId) ?? 0)
      return listPage(scope, page, {
        searched: 'sort_key',
        sorted: (rows) => rows.selectAll().orderBy('sort_key').orderBy('id'),
        itemOf: webhookOf,
      })
    },

    async find(id) {
      const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
      return row && webhookOf(row)
    },

    async all() {
      const rows = await db.selectFrom('webhooks').selectAll().orderBy('created_at').orderBy('id').execute()
      return rows.map(webhookOf)
    },

    rotateSecret: (organizationId, id, overlapSeconds, actor) =>
      changeOne(store, { organizationId, id }, actor, async ({ trx, nowMs, audit }, webhook) => {
        const secret = newSecret()
        const [current] = webhook.secrets
        const secrets: WebhookSecret[] = [{ secret }]
        if (current !== undefined && overlapSeconds > 0) {
          secrets.push({ secret: current.secret, retiresAtMs: nowMs + overlapSeconds * 1_000 })
        }
        const columns = { secrets: JSON.stringify(secrets), updated_at: nowMs }
        await trx.updateTable('webhooks').set(columns).where('id', '=', id).execute()
        await audit('webhook.secret_rotated', id, organizationId, { name: webhook.name, overlapSeconds })
        return granted({ secret })
      }),

    pause: (organizationId, id, { code, reason }, actor) =>
      changeOne(store, { organizationId, id }, actor, async ({ trx, nowMs, audit }, webhook) => {
        if (webhook.pause !== undefined) return done
        const columns = { paused_at: nowMs, pause_code: code, pause_reason: reason, updated_at: nowMs }
        await trx.updateTable('webhooks').set(columns).where('id', '=', id).execute()
        await audit('webhook.paused', id, organizationId, { name: webhook.name, code, reason })
        return done
      }),

    resume: (organizationId, id, fromMs, actor) =>
      changeOne(store, { organizationId, id }, actor, async ({ trx, nowMs, audit }, webhook) => {
        const replay =
          fromMs === undefined ? {} : { generation: webhook.generation + 1, start_at: fromMs, reach_at: fromMs }
        const columns = { paused_at: null, pause_code: '', pause_reason: '', updated_at: nowMs, ...replay }
        await trx.updateTable('webhooks').set(columns).where('id', '=', id).execute()
        const from = fromMs === undefined ? undefined : new Date(fromMs).toISOString()
        await audit('webhook.resumed', id, organizationId, { name: webhook.name, ...given({ from }) })
        return done
      }),
  }
}

interface WebhookKey {
  readonly organizationId: string
  readonly id: string
}

type Row = Selectable<Schema['webhooks']>

async function insert(
  unit: Unit,
  organizationId: string,
  fields: WebhookFields,
): Promise<Result<{ readonly id: string; readonly secret: string }>> {
  const { trx, nowMs, audit, emit } = unit
  const organization = await findOrganization(trx, organizationId)
  if (organization === undefined) return notFound('organization_not_found')
  const refusal = await refuseFields(unit, { organizationId, id: '' }, fields)
  if (refusal !== undefined) return refusal
  const id = randomUUID()
  const secret = newSecret()
  const row = {
    id,
    organization_id: organization.id,
    headers: JSON.stringify(lowerNames(fields.headers ?? {})),
    secrets: JSON.stringify([{ secret }]),
    generation: 0,
    start_at: nowMs,
    reach_at: nowMs,
    paused_at: null,
    pause_code: '',
    pause_reason: '',
    created_at: nowMs,
    updated_at: nowMs,
    ...columnsOf(fields.settings),
  }
  await trx.insertInto('webhooks').values(row).execute()
  const { name, url } = fields.settings
  await audit('webhook.created', id, organizationId, { name, host: new URL(url).host })
  emit({ kind: 'webhook_changed', webhookId: id, organizationId })
  return granted({ id, secret })
}

async function update(unit: Unit, key: WebhookKey, fields: WebhookFields): Promise<Result<void>> {
  const { trx, nowMs, audit, emit } = unit
  const row = await findRow(trx, key)
  if (row === undefined) return notFound('webhook_not_found')
  const refusal = await refuseFields(unit, key, fields)
  if (refusal !== undefined) return refusal
  const isOtherReach = !isSameReach(webhookOf(row).applicationIds, fields.settings.applicationIds)
  const headers = fields.headers === undefined ? {} : { headers: JSON.stringify(lowerNames(fields.headers)) }
  const columns = { ...columnsOf(fields.settings), ...headers, ...(isOtherReach ? { reach_at: nowMs } : {}) }
  await trx
    .updateTable('webhooks')
    .set({ ...columns, updated_at: nowMs })
    .where('id', '=', key.id)
    .execute()
  const { name, url } = fields.settings
  await audit('webhook.updated', key.id, key.organizationId, { name, host: new URL(url).host })
  emit({ kind: 'webhook_changed', webhookId: key.id, organizationId: key.organizationId })
  return done
}

/** Changes a webhook that must exist, and tells of the change. */
function changeOne<T>(
  store: Store,
  key: WebhookKey,
  actor: Actor,
  work: (unit: Unit, webhook: Webhook) => Promise<Result<T>>,
): Promise<Result<T>> {
  return store.change(actor, async (unit) => {
    const row = await findRow(unit.trx, key)
    if (row === undefined) return notFound('webhook_not_found')
    const outcome = await work(unit, webhookOf(row))
    unit.emit({ kind: 'webhook_changed', webhookId: key.id, organizationId: key.organizationId })
    return outcome
  })
}

function findRow(db: Store['db'], { organizationId, id }: WebhookKey): Promise<Row | undefined> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', parseId(organizationId) ?? 0)
    .executeTakeFirst()
}

async function refuseFields(
  { trx }: Unit,
  { organizationId, id }: WebhookKey,
  { settings, headers }: WebhookFields,
): Promise<Refusal | undefined> {
  if (!isName(settings.name, WEBHOOK_BOUNDS.nameLength)) {
    const rule = `name must have 1 to ${WEBHOOK_BOUNDS.nameLength} characters on one line`
    return refuse('invalid_argument', 'invalid_name', rule)
  }
  const ofUrl = urlFault(settings.url)
  if (ofUrl !== undefined) return refuse('invalid_argument', 'invalid_webhook_url', ofUrl)
  const ofHeaders = headersFault(headers ?? {})
  if (ofHeaders !== undefined) return refuse('invalid_argument', 'invalid_webhook_header', ofHeaders)
  const fault = settingsFault(settings)
  if (fault !== undefined) return refuse('invalid_argument', 'invalid_webhook', fault)
  for (const applicationId of settings.applicationIds ?? []) {
    const found = await trx
      .selectFrom('applications')
      .select('organization_id')
      .where(hasApplicationId(applicationId))
      .where('removed_at', 'is', null)
      .executeTakeFirst()
    if (String(found?.organization_id) !== organizationId) return notFound('application_not_found')
  }
  const rows = await trx
    .selectFrom('webhooks')
    .select(['id', 'settings'])
    .where('organization_id', '=', parseId(organizationId) ?? 0)
    .where('id', '!=', id)
    .execute()
  if (rows.length >= WEBHOOK_BOUNDS.perOrganization) {
    const message = `there are ${WEBHOOK_BOUNDS.perOrganization} webhooks already`
    return refuse('resource_exhausted', 'too_many_webhooks', message)
  }
  const requests = rows.reduce((sum, row) => sum + settingsOf(row.settings).concurrency, settings.concurrency)
  if (requests <= WEBHOOK_BOUNDS.concurrencyPerOrganization) return undefined
  const most = WEBHOOK_BOUNDS.concurrencyPerOrganization
  const message = `concurrency: the webhooks of the organization would send ${requests} requests at the same time, more than ${most}`
  return refuse('resource_exhausted', 'too_many_webhook_requests', message)
}

function columnsOf(settings: WebhookSettings): Pick<Row, 'name' | 'sort_key' | 'settings'> {
  const { name, ...others } = settings
  const devEuis = settings.devEuis?.map((devEui) => parseDevEui(devEui) ?? devEui)
  return { name, sort_key: foldText(name), settings: JSON.stringify({ ...others, ...given({ devEuis }) }) }
}

function settingsOf(text: string): Omit<WebhookSettings, 'name'> {
  return JSON.parse(text) as Omit<WebhookSettings, 'name'>
}

function webhookOf(row: Row): Webhook {
  return {
    ...settingsOf(row.settings),
    id: row.id,
    organizationId: String(row.organization_id),
    name: row.name,
    headers: JSON.parse(row.headers) as Record<string, string>,
    secrets: JSON.parse(row.secrets) as WebhookSecret[],
    pause: pauseOf(row),
    generation: row.generation,
    startMs: row.start_at,
    reachMs: row.reach_at,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

function pauseOf({ paused_at: atMs, pause_code: code, pause_reason: reason }: Row): WebhookPause | undefined {
  return atMs === null ? undefined : { atMs, code: code as WebhookPauseCode, reason }
}

function isSameReach(before: readonly string[] | undefined, after: readonly string[] | undefined): boolean {
  if (before === undefined || after === undefined) return before === after
  return before.length === after.length && before.every((id) => after.includes(id))
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** 32 random bytes, written as the Standard Webhooks specification has it. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
