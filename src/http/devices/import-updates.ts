/**
 * The rows of an import that may change devices: a row whose DevEUI a device of the same
 * organization has changes this device, and other rows create theirs.
 */
import { changedMembers } from '../../changed-members.ts'
import type { Device, DeviceFields, NewDevice } from '../../identity/devices/device.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { reachesDevice } from '../../identity/tokens/scope.ts'
import { ACCEPTED, refusalOf } from './import-outcomes.ts'
import type { ImportOutcome, ImportWriter } from './import-outcomes.ts'
import { demandReachedAfter } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'

/** A row that was checked. */
export interface GoodRow {
  readonly device: NewDevice
  /** The members that the row gives by itself. */
  readonly changes: Partial<DeviceFields>
  /** The organization of the row's application. */
  readonly organizationId: string
}

/** The outcome of a row. */
export interface RowOutcome extends ImportOutcome {
  readonly did: 'created' | 'updated' | 'unchanged'
}

/** Takes rows whose DevEUIs differ, and returns the outcome of each, in order. */
export type RowWriter = (rows: readonly GoodRow[], worded: number) => Promise<readonly RowOutcome[]>

/** The rows create devices, and change none. */
export function creatingRows(write: ImportWriter): RowWriter {
  return async (rows, worded) => {
    const outcomes = await write(
      rows.map(({ device }) => device),
      worded,
    )
    return outcomes.map(({ ok, message, reason }) => ({ ok, message, reason, did: 'created' }))
  }
}

/** The rows change devices that exist, and `write` creates the others. */
export function updatingRows(
  registry: OwnershipRegistry,
  viewer: Viewer,
  write: ImportWriter,
  isDryRun: boolean,
): RowWriter {
  const create = creatingRows(write)
  return async (rows, worded) => {
    const outcomes = new Map<GoodRow, RowOutcome>()
    for (const row of rows) {
      const device = await deviceOf(registry, viewer, row)
      if (device === undefined) continue
      outcomes.set(row, await update(registry, viewer, { row, device, isDryRun }))
    }
    const others = rows.filter((row) => !outcomes.has(row))
    const created = await create(others, worded)
    for (const [index, row] of others.entries()) outcomes.set(row, created[index] ?? { ...ACCEPTED, did: 'created' })
    return rows.flatMap((row) => outcomes.get(row) ?? [])
  }
}

/** The device that a row means; a device of another organization is none. */
async function deviceOf(registry: OwnershipRegistry, viewer: Viewer, row: GoodRow): Promise<Device | undefined> {
  const device = await registry.devices.get(row.device.devEui)
  if (device === undefined || device.organizationId !== row.organizationId) return undefined
  return reachesDevice(viewer.apiKey?.scope, device) ? device : undefined
}

interface Update {
  readonly row: GoodRow
  readonly device: Device
  readonly isDryRun: boolean
}

async function update(
  registry: OwnershipRegistry,
  viewer: Viewer,
  { row, device, isDryRun }: Update,
): Promise<RowOutcome> {
  const { devEui } = device
  const changes = changedMembers(row.changes, device)
  if (Object.keys(changes).length === 0) return { ...ACCEPTED, did: 'unchanged' }
  try {
    const { applicationId, tags } = { ...device, ...changes }
    demandReachedAfter(viewer, { applicationId, devEui, tags })
  } catch (error) {
    return { ...refusalOf(error), did: 'updated' }
  }
  if (isDryRun) return { ...ACCEPTED, did: 'updated' }
  const result = await registry.devices.update(devEui, changes, viewer)
  return result.ok ? { ...ACCEPTED, did: 'updated' } : { ...result, did: 'updated' }
}
