/** The device profiles of a store: made, changed, listed and removed. */
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import { listPage } from '../store/list-page.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { foldText, parseId } from '../store/text-rules.ts'
import type {
  DeviceProfile,
  DeviceProfileFields,
  DeviceProfiles,
  ListedDeviceProfile,
  ListedProfileFields,
  PayloadCodec,
} from './device-profile.ts'
import { checkProfile, PROFILE_BOUNDS } from './profile-rules.ts'
import { addVersion, codecOfVersion, removeVersions, versionsOf } from './profile-versions.ts'

/** Devices that one transaction detaches. */
const DETACH_BATCH = 100

/** The device profiles of a store. */
export function createDeviceProfiles(store: Store): DeviceProfiles {
  const { db } = store
  return {
    create: (organizationId, fields, actor) =>
      store.change(actor, (unit) => insertProfile(unit, organizationId, fields, actor)),

    async get(id) {
      const row = await findRow(db, id)
      return row && profileOf(row)
    },

    update: (id, fields, actor) => store.change(actor, (unit) => updateProfile(unit, id, fields, actor)),

    async remove(id, { detach }, actor) {
      for (;;) {
        const outcome = await store.change(actor, async (unit): Promise<Result<'removed' | 'more'>> => {
          const row = await findRow(unit.trx, id)
          if (row === undefined) return notFound('device_profile_not_found')
          return detach ? detachSome(unit, row) : removeUnused(unit, row)
        })
        if (!outcome.ok) return outcome
        if (outcome.value === 'removed') return done
        await nextTurn()
      }
    },

    list(organizationId, page) {
      const scope = db.selectFrom('device_profiles').where('organization_id', '=', parseId(organizationId) ?? 0)
      return listPage(scope, page, {
        searched: 'search_text',
        sorted: (rows) => rows.select(LISTED_COLUMNS).orderBy('sort_key').orderBy('id'),
        itemOf: listedOf,
      })
    },

    async deviceCount(id) {
      const row = await findRow(db, id)
      return row === undefined ? 0 : countDevices(db, row)
    },

    versions: (id) => versionsOf(db, id),
    version: (id, version) => codecOfVersion(db, id, version),
  }
}

type Row = Selectable<Schema['device_profiles']>

const CODEC_COLUMNS = ['payload_codec', 'payload_decoder_script', 'payload_encoder_script'] as const

const LISTED_COLUMNS = [
  'id',
  'organization_id',
  'name',
  'settings',
  'payload_codec',
  'codec_version',
  'created_at',
  'updated_at',
] as const

function findRow(db: Store['db'], id: string): Promise<Row | undefined> {
  return db.selectFrom('device_profiles').selectAll().where('id', '=', id).executeTakeFirst()
}

function findOrganization({ trx }: Unit, organizationId: string): Promise<{ readonly id: number } | undefined> {
  return trx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', parseId(organizationId) ?? 0)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
}

type Settings = Omit<ListedProfileFields, 'name' | 'payloadCodec'>

function settingsOf(text: string): Settings {
  const settings = JSON.parse(text) as Omit<Settings, 'library'> & Partial<Pick<Settings, 'library'>>
  // Rows of older versions have no such member.
  return { ...settings, library: settings.library ?? null }
}

function listedOf(row: Pick<Row, (typeof LISTED_COLUMNS)[number]>): ListedDeviceProfile {
  return {
    ...settingsOf(row.settings),
    id: row.id,
    organizationId: String(row.organization_id),
    name: row.name,
    payloadCodec: row.payload_codec as PayloadCodec,
    codecVersion: row.codec_version,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

function profileOf(row: Row): DeviceProfile {
  return {
    ...listedOf(row),
    payloadDecoderScript: row.payload_decoder_script,
    payloadEncoderScript: row.payload_encoder_script,
    testVectors: JSON.parse(row.test_vectors) as DeviceProfile['testVectors'],
  }
}

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- columns are the schema's
function columnsOf(fields: DeviceProfileFields) {
  const { name, description, vendor, model, firmwareVersion, region, deviceClass, tags, variables } = fields
  const { expectedIntervalSeconds, batteryLimitPercent, marginLimitDb, fPortRules, source, library } = fields
  const texts = { description, vendor, model, firmwareVersion, region, deviceClass, tags, variables }
  const settings = JSON.stringify({
    ...texts,
    expectedIntervalSeconds,
    batteryLimitPercent,
    marginLimitDb,
    fPortRules,
    source,
    library,
  })
  const columns = {
    name,
    sort_key: foldText(name),
    search_text: foldText(`${name}\n${vendor}\n${model}`),
    settings,
    payload_codec: fields.payloadCodec,
    payload_decoder_script: fields.payloadDecoderScript,
    payload_encoder_script: fields.payloadEncoderScript,
    test_vectors: JSON.stringify(fields.testVectors),
  }
  const { payload_decoder_script: decoder, payload_encoder_script: encoder, test_vectors: vectors } = columns
  return { ...columns, size: settings.length + decoder.length + encoder.length + vectors.length }
}

async function insertProfile(
  unit: Unit,
  organizationId: string,
  fields: DeviceProfileFields,
  actor: Actor,
): Promise<Result<{ readonly id: string }>> {
  const id = randomUUID()
  const refusal = checkProfile(fields)
  if (refusal !== undefined) return refusal
  const organization = await findOrganization(unit, organizationId)
  if (organization === undefined) return notFound('organization_not_found')
  const row = { id, organization_id: organization.id, codec_version: 1, ...columnsOf(fields) }
  const unfit = await refuseBeside(unit, row)
  if (unfit !== undefined) return unfit
  const times = { created_at: unit.nowMs, updated_at: unit.nowMs }
  await unit.trx
    .insertInto('device_profiles')
    .values({ ...row, ...times })
    .execute()
  await addVersion(unit, row, fields, actor)
  await unit.audit('device_profile.created', id, organizationId, { name: fields.name })
  unit.emit({ kind: 'device_profile_changed', profileId: id, organizationId })
  return granted({ id })
}

async function updateProfile(
  unit: Unit,
  id: string,
  fields: Partial<DeviceProfileFields>,
  actor: Actor,
): Promise<Result<void>> {
  const before = await findRow(unit.trx, id)
  if (before === undefined) return notFound('device_profile_not_found')
  const after = { ...profileOf(before), ...fields }
  const refusal = checkProfile(after)
  if (refusal !== undefined) return refusal
  const columns = columnsOf(after)
  const isOtherCodec = CODEC_COLUMNS.some((name) => columns[name] !== before[name])
  const codecVersion = before.codec_version + Number(isOtherCodec)
  const row = { id, organization_id: before.organization_id, codec_version: codecVersion, ...columns }
  const unfit = await refuseBeside(unit, row)
  if (unfit !== undefined) return unfit
  await unit.trx
    .updateTable('device_profiles')
    .set({ ...columns, codec_version: codecVersion, updated_at: unit.nowMs })
    .where('id', '=', id)
    .execute()
  if (isOtherCodec) await addVersion(unit, row, after, actor)
  const organizationId = String(before.organization_id)
  await unit.audit('device_profile.updated', id, organizationId, { name: after.name, codecVersion })
  unit.emit({ kind: 'device_profile_changed', profileId: id, organizationId })
  return done
}

/** The refusal of a profile that can't stand beside the others of its organization. */
async function refuseBeside(
  { trx }: Unit,
  { id, organization_id: organizationId, name, size }: Pick<Row, 'id' | 'organization_id' | 'name' | 'size'>,
): Promise<Refusal | undefined> {
  const others = trx.selectFrom('device_profiles').where('organization_id', '=', organizationId).where('id', '!=', id)
  const sameName = await others.select('id').where('name', '=', name).executeTakeFirst()
  if (sameName !== undefined) return alreadyExists('device_profile_exists')
  const { count, sum } = await others
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.sum<number | null>('size').as('sum')])
    .executeTakeFirstOrThrow()
  const { perOrganization, charactersPerOrganization } = PROFILE_BOUNDS
  if (count >= perOrganization) {
    const message = `there are ${perOrganization} device profiles already`
    return refuse('resource_exhausted', 'too_many_device_profiles', message)
  }
  if ((sum ?? 0) + size <= charactersPerOrganization) return undefined
  const message = `the device profiles of the organization would have more than ${charactersPerOrganization} characters`
  return refuse('resource_exhausted', 'device_profiles_too_large', message)
}

async function countDevices(db: Store['db'], row: Row): Promise<number> {
  const { count } = await db
    .selectFrom('devices')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('device_profile_id', '=', row.id)
    .where('organization_id', '=', row.organization_id)
    .executeTakeFirstOrThrow()
  return count
}

async function removeUnused(unit: Unit, row: Row): Promise<Result<'removed'>> {
  const count = await countDevices(unit.trx, row)
  if (count > 0) {
    const devices = count === 1 ? '1 device has' : `${count} devices have`
    const message = `${devices} the device profile: give them another one, or remove it with detach`
    return refuse('failed_precondition', 'device_profile_in_use', message)
  }
  await unit.trx.deleteFrom('device_profiles').where('id', '=', row.id).execute()
  await removeVersions(unit.trx, row.id)
  const organizationId = String(row.organization_id)
  await unit.audit('device_profile.removed', row.id, organizationId, { name: row.name })
  unit.emit({ kind: 'device_profile_changed', profileId: row.id, organizationId })
  return granted('removed')
}

/** Takes the profile from some devices; removes it when no device has it any more. */
async function detachSome(unit: Unit, row: Row): Promise<Result<'removed' | 'more'>> {
  const { trx, nowMs, emit } = unit
  const found = await trx
    .selectFrom('devices')
    .select(['id', 'dev_eui'])
    .where('device_profile_id', '=', row.id)
    .where('organization_id', '=', row.organization_id)
    .limit(DETACH_BATCH)
    .execute()
  if (found.length > 0) {
    const ids = found.map(({ id }) => id)
    const none = { device_profile_id: '', device_profile_name: '', updated_at: nowMs }
    await trx.updateTable('devices').set(none).where('id', 'in', ids).execute()
    emit({ kind: 'devices_changed', devEuis: found.map(({ dev_eui: devEui }) => devEui) })
  }
  return found.length === DETACH_BATCH ? granted('more') : removeUnused(unit, row)
}
