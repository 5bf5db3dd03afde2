/** The devices of a store: made, changed, listed and removed. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Insertable, Selectable } from 'kysely'
import { applicationIdOf, hasApplicationId } from '../store/application-ids.ts'
import type { Changes } from '../store/changes.ts'
import { createDeviceList } from './device-list.ts'
import { adjustDeviceCounts, deleteDevices } from './device-removal.ts'
import type { DeviceRemoval } from './device-removal.ts'
import { checkDevice, deviceOf, orderKeyOf } from './device-rows.ts'
import type { DeviceRow, PlacedDeviceRow } from './device-rows.ts'
import { deviceSearchOf } from './device-search.ts'
import type { DeviceSearch } from './device-search.ts'
import { batchesOf } from './batches.ts'
import { recordSeen } from './device-signs.ts'
import { parseDevEui } from './eui.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Refusal, Result } from '../store/result.ts'
import type { CreatedTogether, DeviceFields, Devices, NewDevice } from './device.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'

/** The devices of a store. */
export function createDevices(store: Store, changes: Changes, removal: DeviceRemoval): Devices {
  const { db } = store
  const search = deviceSearchOf(store.dialect)
  return {
    async create(device, actor) {
      const { outcomes } = await store.change(actor, (unit) => insertDevices(search, unit, [device], new Map()))
      return outcomes[0] ?? alreadyExists('device_exists')
    },

    async createMany(devices, actor, together = new Map()) {
      const outcomes: Result<{ readonly devEui: string }>[] = []
      for (const batch of batchesOf(devices)) {
        if (outcomes.length > 0) await nextTurn()
        const inserted = await store.change(actor, (unit) => insertDevices(search, unit, batch, together))
        outcomes.push(...inserted.outcomes)
        // Only now: a transaction that failed has left no entry.
        for (const [organizationId, created] of inserted.created) together.set(organizationId, created)
      }
      return outcomes
    },

    async get(devEui) {
      const row = await findRow(db, devEui)
      return row && deviceOf(row)
    },

    update: (devEui, fields, actor) => store.change(actor, (unit) => updateDevice(search, unit, devEui, fields)),

    remove: (devEui, actor) =>
      store.change(actor, async (unit) => {
        const row = await findRow(unit.trx, devEui)
        if (row === undefined) return notFound('device_not_found')
        await deleteDevices(store, unit.trx, [row.id])
        await adjustDeviceCounts(unit.trx, [{ ...row, change: -1 }])
        const { applicationId, organizationId } = deviceOf(row)
        const place = { applicationId, organizationId }
        await unit.audit('device.removed', row.dev_eui, place.organizationId, { name: row.name })
        unit.emit({ kind: 'device_removed', devEui: row.dev_eui, ...place })
        return done
      }),

    list: createDeviceList(store, changes, removal),

    recordSeen: (seen, isUrgent) => recordSeen(store, seen, isUrgent),
  }
}

async function findRow(db: Store['db'], devEuiText: string): Promise<PlacedDeviceRow | undefined> {
  const devEui = parseDevEui(devEuiText)
  if (devEui === undefined) return undefined
  return db
    .selectFrom('devices')
    .innerJoin('applications', 'applications.id', 'devices.application_id')
    .selectAll('devices')
    .select('applications.uuid as application_uuid')
    .where('devices.dev_eui', '=', devEui)
    .where('applications.removed_at', 'is', null)
    .executeTakeFirst()
}

interface Inserted {
  /** The outcome of each device. */
  readonly outcomes: readonly Result<{ readonly devEui: string }>[]
  /** The new counts and entries of the organizations that got devices. */
  readonly created: CreatedTogether
}

/** Adds the devices that can be added. `together` counts the devices of earlier transactions. */
async function insertDevices(
  search: DeviceSearch,
  unit: Unit,
  devices: readonly NewDevice[],
  together: Pick<CreatedTogether, 'get' | 'has'>,
): Promise<Inserted> {
  const { trx, nowMs } = unit
  const applications = await applicationsOf(unit, devices)
  const rows = new Map<string, Insertable<Schema['devices']>>()
  const planned = devices.map((device): string | Refusal => {
    const devEui = parseDevEui(device.devEui)
    if (devEui === undefined)
      return refuse('invalid_argument', 'invalid_dev_eui', 'devEUI must be 16 hexadecimal digits')
    const full = { ...noDetails, ...device }
    const refusal = checkDevice(full)
    if (refusal !== undefined) return refusal
    const application = applications.get(device.applicationId)
    if (application === undefined) return notFound('application_not_found')
    if (rows.has(devEui)) return alreadyExists('device_exists')
    rows.set(devEui, {
      dev_eui: devEui,
      application_id: application.id,
      organization_id: application.organization_id,
      ...columnsOf(full, devEui),
      last_seen_at: null,
      battery_level: null,
      margin: null,
      created_at: nowMs,
      updated_at: nowMs,
    })
    return devEui
  })
  const added = new Map<string, DeviceRow>()
  if (rows.size > 0) {
    const inserted = await trx
      .insertInto('devices')
      .values([...rows.values()])
      .onConflict((conflict) => conflict.column('dev_eui').doNothing())
      .returningAll()
      .execute()
    for (const row of inserted) added.set(row.dev_eui, row)
  }
  let created: CreatedTogether = new Map()
  if (added.size > 0) {
    await search.add(trx, [...added.values()])
    await adjustDeviceCounts(
      trx,
      Array.from(added.values(), (row) => ({ ...row, change: 1 })),
    )
    const idOf = new Map(Array.from(applications.values(), (one) => [one.id, applicationIdOf(one)]))
    created = await tellOfAdded(unit, [...added.values()], together, (row) => idOf.get(row.application_id) ?? '')
  }
  const outcomes = planned.map((devEui) => {
    if (typeof devEui !== 'string') return devEui
    return added.has(devEui) ? granted({ devEui }) : alreadyExists('device_exists')
  })
  return { outcomes, created }
}

const noDetails = {
  description: '',
  deviceProfileId: '',
  deviceProfileName: '',
  tags: {},
  variables: {},
  isDisabled: false,
}

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- columns are the schema's
function columnsOf(fields: DeviceFields, devEui: string) {
  return {
    name: fields.name,
    order_key: orderKeyOf(fields.name, devEui),
    description: fields.description,
    device_profile_id: fields.deviceProfileId,
    device_profile_name: fields.deviceProfileName,
    tags: JSON.stringify(fields.tags),
    variables: JSON.stringify(fields.variables),
    is_disabled: Number(fields.isDisabled),
  }
}

type ApplicationRow = Pick<Selectable<Schema['applications']>, 'id' | 'uuid' | 'organization_id'>

/** The rows of the applications that the devices name, by id, as far as they exist. */
async function applicationsOf(
  { trx }: Unit,
  devices: readonly NewDevice[],
): Promise<ReadonlyMap<string, ApplicationRow>> {
  const ids = new Set(devices.map(({ applicationId }) => applicationId))
  const rows = await trx
    .selectFrom('applications')
    .select(['id', 'uuid', 'organization_id'])
    .where((eb) => eb.or(Array.from(ids, hasApplicationId)))
    .where('removed_at', 'is', null)
    .execute()
  return new Map(rows.map((row) => [applicationIdOf(row), row]))
}

/** Tells of the rows. Returns the new counts and entries of the organizations that got devices. */
async function tellOfAdded(
  { audit, emit }: Unit,
  rows: readonly DeviceRow[],
  together: Pick<CreatedTogether, 'get' | 'has'>,
  applicationIdOfDevice: (row: DeviceRow) => string,
): Promise<CreatedTogether> {
  const [first] = rows
  if (first !== undefined && rows.length === 1) {
    const place = { applicationId: applicationIdOfDevice(first), organizationId: String(first.organization_id) }
    emit({ kind: 'device_created', devEui: first.dev_eui, ...place })
    if (!together.has(place.organizationId)) {
      const entryId = await audit('device.created', first.dev_eui, place.organizationId, { name: first.name, ...place })
      return new Map([[place.organizationId, { count: 1, entryId }]])
    }
  } else {
    emit({ kind: 'devices_changed', devEuis: rows.map((row) => row.dev_eui) })
  }
  const created: CreatedTogether = new Map()
  for (const [id, rowsOfIt] of Map.groupBy(rows, (row) => String(row.organization_id))) {
    const before = together.get(id)
    const count = (before?.count ?? 0) + rowsOfIt.length
    created.set(id, { count, entryId: await audit('devices.created', id, id, { count }, before?.entryId) })
  }
  return created
}

async function updateDevice(
  search: DeviceSearch,
  unit: Unit,
  devEui: string,
  fields: Partial<DeviceFields>,
): Promise<Result<void>> {
  const { trx, nowMs, audit, emit } = unit
  const row = await findRow(trx, devEui)
  if (row === undefined) return notFound('device_not_found')
  const before = deviceOf(row)
  const after = { ...before, ...fields }
  const refusal = checkDevice(after)
  if (refusal !== undefined) return refusal
  const applicationRowId = await findSibling(unit, row, after.applicationId)
  if (applicationRowId === undefined) return notFound('application_not_found')
  const columns = columnsOf(after, row.dev_eui)
  await trx
    .updateTable('devices')
    .set({ ...columns, application_id: applicationRowId, updated_at: nowMs })
    .where('id', '=', row.id)
    .execute()
  if (columns.order_key !== row.order_key) {
    await search.forget(trx, [row.id])
    await search.add(trx, [{ id: row.id, order_key: columns.order_key }])
  }
  const organizationId = before.organizationId
  if (applicationRowId !== row.application_id) {
    await adjustDeviceCounts(trx, [
      { ...row, change: -1 },
      { ...row, application_id: applicationRowId, change: 1 },
    ])
    emit({ kind: 'device_removed', devEui: row.dev_eui, applicationId: before.applicationId, organizationId })
  }
  await audit('device.updated', row.dev_eui, organizationId, {
    name: after.name,
    applicationId: after.applicationId,
    isDisabled: after.isDisabled,
  })
  emit({ kind: 'device_changed', devEui: row.dev_eui, applicationId: after.applicationId, organizationId })
  return done
}

/**
 * The row id of the application if it belongs to the device's organization: a device never changes
 * its owner.
 */
async function findSibling({ trx }: Unit, row: DeviceRow, applicationId: string): Promise<number | undefined> {
  const application = await trx
    .selectFrom('applications')
    .select('id')
    .where(hasApplicationId(applicationId))
    .where('organization_id', '=', row.organization_id)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return application?.id
}
