/** Applications: groups of devices that belong to one organization. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findOrganization } from './organizations.ts'
import type { Selectable } from 'kysely'
import { applicationIdOf, hasApplicationId, parseRequestedId } from '../store/application-ids.ts'
import type { DeviceRemoval } from '../devices/device-removal.ts'
import { listPage, organizationsOf } from '../store/list-page.ts'
import { applicationsWithin } from '../store/reach.ts'
import type { Reach } from '../store/reach.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result, Viewer } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { foldText, isLine, isName, isParagraph, parseId } from '../store/text-rules.ts'

/** How an application's payloads are decoded and encoded. */
export type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/** The spelling in which an application's events go out; empty for events as received. */
export type EventShape = (typeof EVENT_SHAPES)[number]

/**
 * The encoder of a command's `object` where the application has no codec: nobody (empty), or its
 * network server.
 */
export type ObjectCommands = (typeof OBJECT_COMMANDS)[number]

const EVENT_SHAPES = ['', 'V3', 'V4', 'NORMALIZED'] as const
const OBJECT_COMMANDS = ['', 'NETWORK_SERVER'] as const

/** The fields of an application that may change. */
export interface ApplicationFields extends RequiredFields, DefaultedFields {}

/** Fields that a new application may leave out: each is then empty, or false. */
interface DefaultedFields {
  readonly eventShape: EventShape
  readonly objectCommands: ObjectCommands
  /** Whether the last uplink and the last state of each device are retained. */
  readonly retainsLastEvents: boolean
}

interface RequiredFields {
  readonly name: string
  readonly description: string
  readonly serviceProfileId: string
  readonly serviceProfileName: string
  readonly payloadCodec: PayloadCodec
  readonly payloadEncoderScript: string
  readonly payloadDecoderScript: string
}

/** An application to be. It stays with its organization for life. */
export interface NewApplication extends RequiredFields, Partial<DefaultedFields> {
  readonly organizationId: string
  /**
   * The id of the new application, for a network server that has ids of its own: a UUID in lower
   * case, or digits up to 999,999,999. Events go by this id, so the caller makes sure that no
   * tenant can choose it.
   */
  readonly id?: string
}

/** A group of devices that belong together. */
export interface Application extends ApplicationFields, Pick<NewApplication, 'organizationId'> {
  readonly id: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** An application as a list has it: without its scripts, which may be a hundred times as long. */
export type ListedApplication = Omit<Application, 'payloadEncoderScript' | 'payloadDecoderScript'>

/** The applications of all organizations. */
export interface Applications {
  /**
   * The name is unique within the organization. Refusals: invalid_name, invalid_description,
   * invalid_service_profile, invalid_payload_codec, invalid_event_shape, invalid_object_commands,
   * invalid_payload_script, invalid_application_id, organization_not_found, application_exists.
   */
  create(application: NewApplication, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<Application | undefined>
  /** Like `get`, but without a Promise where the registry can answer at once. */
  look(id: string): Application | undefined | Promise<Application | undefined>
  /** Changes the fields that are given. Refusals: application_not_found and those of `create`. */
  update(id: string, fields: Partial<ApplicationFields>, actor: Actor): Promise<Result<void>>
  /** Removes it with its devices. Refusal: application_not_found. */
  remove(id: string, actor: Actor): Promise<Result<void>>
  /** Whether a restricted credential reaches the application, or one of its devices. */
  isWithin(id: string, reach: Reach): Promise<boolean>
  /** Sorted by name; `search` looks into name. */
  list(viewer: Viewer, page: Page & { readonly organizationId?: string }): Promise<Listed<ListedApplication>>
}

const MAXIMUM_NAME = 100
const MAXIMUM_DESCRIPTION = 10_000
/** In characters. The longest codecs of device makers have more than half of it. */
const MAXIMUM_SCRIPT = 524_288
/** Applications that one statement reads. */
const READ_BATCH = 50

/** The applications of a store. */
export function createApplications(store: Store, removal: DeviceRemoval): Applications {
  const { db } = store
  return {
    create: (application, actor) => store.change(actor, (unit) => insertApplication(unit, application)),

    async get(id) {
      const row = await findRow(db, id)
      return row && applicationOf(row)
    },

    look(id) {
      const query = rowOf(db, id).compile()
      const rows = store.readAtOnce(query)
      if (rows !== undefined) return rows[0] && applicationOf(rows[0])
      return db.executeQuery(query).then(({ rows: [row] }) => row && applicationOf(row))
    },

    update: (id, fields, actor) => store.change(actor, (unit) => updateApplication(unit, id, fields)),

    async remove(id, actor) {
      const outcome = await store.change(actor, (unit) => removeApplication(unit, id))
      if (outcome.ok) await removal.run()
      return outcome
    },

    async isWithin(id, reach) {
      const within = applicationsWithin(reach)
      if (within === undefined) return true
      const named = db.selectFrom('applications').select('id').where(hasApplicationId(id)).where(within)
      return (await named.executeTakeFirst()) !== undefined
    },

    async list(viewer, page) {
      let scope = db.selectFrom('applications').where('removed_at', 'is', null)
      if (page.organizationId !== undefined) {
        scope = scope.where('organization_id', '=', parseId(page.organizationId) ?? 0)
      }
      if (!viewer.isAdmin) scope = scope.where('organization_id', 'in', organizationsOf(viewer))
      const within = applicationsWithin(viewer.apiKey?.scope ?? {})
      const visible = within === undefined ? scope : scope.where(within)
      const { totalCount, items } = await listPage(visible, page, {
        searched: 'sort_key',
        sorted: (rows) => rows.select('id').orderBy('sort_key').orderBy('id'),
        itemOf: ({ id }: { readonly id: number }) => id,
      })
      return { totalCount, items: await readListed(db, items) }
    },
  }
}

type Row = Selectable<Schema['applications']>

const LISTED_COLUMNS = [
  'id',
  'uuid',
  'organization_id',
  'name',
  'description',
  'service_profile_id',
  'service_profile_name',
  'payload_codec',
  'event_shape',
  'object_commands',
  'retains_last_events',
  'created_at',
  'updated_at',
] as const

function applicationOf(row: Row): Application {
  const { payload_encoder_script: payloadEncoderScript, payload_decoder_script: payloadDecoderScript } = row
  return { ...listedOf(row), payloadEncoderScript, payloadDecoderScript }
}

function listedOf(row: Pick<Row, (typeof LISTED_COLUMNS)[number]>): ListedApplication {
  return {
    id: applicationIdOf(row),
    organizationId: String(row.organization_id),
    name: row.name,
    description: row.description,
    serviceProfileId: row.service_profile_id,
    serviceProfileName: row.service_profile_name,
    payloadCodec: row.payload_codec as PayloadCodec,
    eventShape: row.event_shape as EventShape,
    objectCommands: row.object_commands as ObjectCommands,
    retainsLastEvents: row.retains_last_events === 1,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

/**
 * Reads applications some at a time, with a turn of the event loop between two statements: SQLite
 * steps over the scripts of each, up to 130 KB.
 */
async function readListed(db: Store['db'], ids: readonly number[]): Promise<readonly ListedApplication[]> {
  const listed: ListedApplication[] = []
  for (let start = 0; start < ids.length; start += READ_BATCH) {
    if (start > 0) await nextTurn()
    const batch = ids.slice(start, start + READ_BATCH)
    const rows = await db
      .selectFrom('applications')
      .select(LISTED_COLUMNS)
      .where('id', 'in', batch)
      .where('removed_at', 'is', null)
      .execute()
    const byId = new Map(rows.map((row) => [row.id, row]))
    for (const id of batch) {
      const row = byId.get(id)
      if (row !== undefined) listed.push(listedOf(row))
    }
  }
  return listed
}

async function findRow(db: Store['db'], id: string): Promise<Row | undefined> {
  return rowOf(db, id).executeTakeFirst()
}

function rowOf(db: Store['db'], id: string) {
  return db.selectFrom('applications').selectAll().where(hasApplicationId(id)).where('removed_at', 'is', null)
}

type NewFields = RequiredFields & Partial<DefaultedFields>

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- columns are the schema's
function columnsOf(fields: NewFields) {
  return {
    name: fields.name,
    sort_key: foldText(fields.name),
    description: fields.description,
    service_profile_id: fields.serviceProfileId,
    service_profile_name: fields.serviceProfileName,
    payload_codec: fields.payloadCodec,
    payload_encoder_script: fields.payloadEncoderScript,
    payload_decoder_script: fields.payloadDecoderScript,
    event_shape: fields.eventShape ?? '',
    object_commands: fields.objectCommands ?? '',
    retains_last_events: fields.retainsLastEvents === true ? 1 : 0,
  }
}

async function insertApplication(unit: Unit, fields: NewApplication): Promise<Result<{ readonly id: string }>> {
  const { trx, nowMs, nowOfEventsMs, audit, emit } = unit
  const refusal = refuseFields(fields)
  if (refusal !== undefined) return refusal
  const requested = fields.id === undefined ? {} : parseRequestedId(fields.id)
  if (requested === undefined) {
    const rule = 'id must be a UUID in lower case, or digits up to 999999999'
    return refuse('invalid_argument', 'invalid_application_id', rule)
  }
  const organization = await findOrganization(trx, fields.organizationId)
  if (organization === undefined) return notFound('organization_not_found')
  if (await isNameTaken(unit, organization.id, fields.name)) return alreadyExists('application_exists')
  if (fields.id !== undefined && (await isIdTaken(unit, requested))) return alreadyExists('application_exists')
  const row = await trx
    .insertInto('applications')
    .values({
      ...columnsOf(fields),
      ...(requested.uuid === undefined ? requested : { id: await hiddenNumber(unit) }),
      uuid: requested.uuid ?? null,
      organization_id: organization.id,
      device_count: 0,
      removed_at: null,
      // Earlier events belong to another application, which had the same id.
      created_at: nowOfEventsMs,
      updated_at: nowMs,
    })
    .returning(['id', 'uuid'])
    .executeTakeFirstOrThrow()
  const id = applicationIdOf(row)
  await audit('application.created', id, fields.organizationId, { name: fields.name })
  emit({ kind: 'application_created', applicationId: id, organizationId: fields.organizationId })
  return granted({ id })
}

async function updateApplication(unit: Unit, id: string, fields: Partial<ApplicationFields>): Promise<Result<void>> {
  const { trx, nowMs, audit, emit } = unit
  const row = await findRow(trx, id)
  if (row === undefined) return notFound('application_not_found')
  const after = { ...applicationOf(row), ...fields }
  const refusal = refuseFields(after)
  if (refusal !== undefined) return refusal
  if (after.name !== row.name && (await isNameTaken(unit, row.organization_id, after.name))) {
    return alreadyExists('application_exists')
  }
  await trx
    .updateTable('applications')
    .set({ ...columnsOf(after), updated_at: nowMs })
    .where('id', '=', row.id)
    .execute()
  const organizationId = String(row.organization_id)
  await audit('application.updated', id, organizationId, { name: after.name })
  emit({ kind: 'application_changed', applicationId: id, organizationId })
  if (row.retains_last_events === 1 && !after.retainsLastEvents) {
    emit({ kind: 'last_events_ended', applicationId: id, organizationId })
  }
  return done
}

/**
 * The mark hides the application from everybody at once. Its devices, which may be many, are
 * deleted afterwards.
 */
async function removeApplication({ trx, nowMs, audit, emit }: Unit, id: string): Promise<Result<void>> {
  const row = await findRow(trx, id)
  if (row === undefined) return notFound('application_not_found')
  await trx.updateTable('applications').set({ removed_at: nowMs }).where('id', '=', row.id).execute()
  const rules = await trx.deleteFrom('registration_rules').where('application_id', '=', row.id).executeTakeFirst()
  await trx
    .updateTable('organizations')
    .set((eb) => ({ device_count: eb('device_count', '-', row.device_count) }))
    .where('id', '=', row.organization_id)
    .execute()
  const organizationId = String(row.organization_id)
  await audit('application.removed', id, organizationId, { name: row.name })
  emit({ kind: 'application_removed', applicationId: id, organizationId })
  if (rules.numDeletedRows > 0n) emit({ kind: 'registration_rules_changed', organizationId })
  return done
}

async function isNameTaken({ trx }: Unit, organizationId: number, name: string): Promise<boolean> {
  const row = await trx
    .selectFrom('applications')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The row number of an application with a UUID. Nobody sees the number, so it is below 0: it must
 * not use up an id that may be asked for. The registry's own ids go on above the greatest id so
 * far, so they never meet these numbers.
 */
async function hiddenNumber({ trx }: Unit): Promise<number> {
  const { id } = await trx
    .selectFrom('applications')
    .select((eb) => eb.fn.min<number | null>('id').as('id'))
    .executeTakeFirstOrThrow()
  return Math.min(id ?? 0, 0) - 1
}

/** An id is also taken by a removed application whose devices are still being deleted. */
async function isIdTaken({ trx }: Unit, requested: Partial<Pick<Row, 'id' | 'uuid'>>): Promise<boolean> {
  const { id = 0, uuid = '' } = requested
  const row = await trx
    .selectFrom('applications')
    .select('id')
    .where((eb) => eb.or([eb('id', '=', id), eb('uuid', '=', uuid)]))
    .executeTakeFirst()
  return row !== undefined
}

function refuseFields(fields: NewFields): Refusal | undefined {
  if (!isName(fields.name, MAXIMUM_NAME)) {
    const rule = `name must have 1 to ${MAXIMUM_NAME} characters on one line`
    return refuse('invalid_argument', 'invalid_name', rule)
  }
  if (!isParagraph(fields.description, MAXIMUM_DESCRIPTION)) {
    const rule = `description must have at most ${MAXIMUM_DESCRIPTION} characters`
    return refuse('invalid_argument', 'invalid_description', rule)
  }
  if (!isLine(fields.serviceProfileId, 0, MAXIMUM_NAME) || !isLine(fields.serviceProfileName, 0, MAXIMUM_NAME)) {
    const rule = `the service profile's id and name must have at most ${MAXIMUM_NAME} characters on one line`
    return refuse('invalid_argument', 'invalid_service_profile', rule)
  }
  if (!['', 'CAYENNE_LPP', 'CUSTOM_JS'].includes(fields.payloadCodec)) {
    return refuse('invalid_argument', 'invalid_payload_codec', 'payloadCodec must be "", "CAYENNE_LPP" or "CUSTOM_JS"')
  }
  if (!EVENT_SHAPES.includes(fields.eventShape ?? '')) {
    return refuse('invalid_argument', 'invalid_event_shape', 'eventShape must be "", "V3", "V4" or "NORMALIZED"')
  }
  if (!OBJECT_COMMANDS.includes(fields.objectCommands ?? '')) {
    return refuse('invalid_argument', 'invalid_object_commands', 'objectCommands must be "" or "NETWORK_SERVER"')
  }
  for (const script of [fields.payloadEncoderScript, fields.payloadDecoderScript]) {
    if (!isParagraph(script, MAXIMUM_SCRIPT)) {
      const rule = `a payload script must have at most ${MAXIMUM_SCRIPT} characters and no control characters`
      return refuse('invalid_argument', 'invalid_payload_script', rule)
    }
  }
  return undefined
}
