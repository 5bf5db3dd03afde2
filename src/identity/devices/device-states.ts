/**
 * The states of devices as the registry keeps them. A change of a state takes effect only where the
 * device is as it was when it was judged. So a change is noted once, however many nodes judge. Each
 * change stays noted as untold until somebody has told of it.
 */
import { sql } from 'kysely'
import { rowsAsJson } from '../store/rows-as-json.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import { unsynced, writeNotes } from './notes.ts'
import type { Device, DeviceState } from './device.ts'
import { deviceOf } from './device-rows.ts'

/** A device whose state is to be looked at. */
export interface DueDevice {
  readonly devEui: string
  readonly organizationId: string
  readonly state: DeviceState
  readonly lastSeenAtMs: number
  /** The interval as it was learned; `null` when it is not known. */
  readonly intervalSeconds: number | null
  readonly lossPercent: number | null
}

/** The judgement of a device. */
export interface JudgedDevice {
  /** The device as it was judged. */
  readonly device: DueDevice
  readonly state: DeviceState
  /** When the state is looked at next; undefined: not before the device is heard again. */
  readonly dueAtMs: number | undefined
}

/** A device with changes that nobody was told of. */
export interface UntoldDevice {
  readonly device: Device
  /** The number of changes that this one stands for. */
  readonly changes: number
}

/** The devices of an organization that are in a state. */
export interface StateCount {
  readonly organizationId: string
  readonly state: DeviceState
  /** At least 1. */
  readonly devices: number
}

/** The states of devices. */
export interface DeviceStates {
  /** The devices whose state is to be looked at by now, the longest due first. */
  due(nowMs: number, limit: number): Promise<readonly DueDevice[]>
  /** Notes the judgements of devices that were not heard since. A new state begins at `nowMs`. */
  judge(judged: readonly JudgedDevice[], nowMs: number): Promise<void>
  /** Whether a device of the organization was heard after this time, ms since 1970. */
  wasHeardSince(organizationId: string, sinceMs: number): Promise<boolean>
  /** Counts the devices of all organizations. It reads all devices. */
  counts(): Promise<readonly StateCount[]>
  /** The devices with changes that nobody was told of. */
  untold(limit: number): Promise<readonly UntoldDevice[]>
  /** Somebody was told of the changes. A device that has changed again stays untold. */
  told(states: readonly UntoldDevice[]): Promise<void>
}

/** The states of a store's devices. */
export function createDeviceStates(store: Store): DeviceStates {
  const { db } = store
  return {
    async due(nowMs, limit) {
      const rows = await db
        .selectFrom('devices')
        .select(['dev_eui', 'organization_id', 'state', 'last_seen_at', 'interval_seconds', 'loss_percent'])
        .where('state_due_at', '<=', nowMs)
        .orderBy('state_due_at')
        .limit(limit)
        .execute()
      return rows.map((row) => ({
        devEui: row.dev_eui,
        organizationId: String(row.organization_id),
        state: row.state as DeviceState,
        lastSeenAtMs: row.last_seen_at ?? 0,
        intervalSeconds: row.interval_seconds,
        lossPercent: row.loss_percent,
      }))
    },

    async judge(judged, nowMs) {
      await writeNotes(store, judged, (some) => writeJudged(store, some, nowMs))
    },

    async wasHeardSince(organizationId, sinceMs) {
      const row = await db
        .selectFrom('devices')
        .select('id')
        .where('organization_id', '=', parseId(organizationId) ?? 0)
        .where('last_seen_at', '>', sinceMs)
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },

    counts: () => countStates(db),

    async untold(limit) {
      const rows = await db
        .selectFrom('devices')
        .innerJoin('applications', 'applications.id', 'devices.application_id')
        .selectAll('devices')
        .select('applications.uuid as application_uuid')
        .where('devices.untold_changes', '>', 0)
        .where('applications.removed_at', 'is', null)
        .orderBy('devices.id')
        .limit(limit)
        .execute()
      return rows.map((row) => ({ device: deviceOf(row), changes: row.untold_changes }))
    },

    async told(states) {
      await writeNotes(store, states, async (some) => {
        const rows = some.map(({ device: { devEui }, changes }) => [devEui, changes])
        const update = sql`
          ${unsynced} with told (dev_eui, changes) as (${rowsAsJson(store, ['text', 'integer'], rows)})
          update devices set untold_changes = 0 from told
          where devices.dev_eui = told.dev_eui and devices.untold_changes = told.changes`
        await store.note((database) => update.execute(database))
      })
    },
  }
}

async function countStates(db: Store['db']): Promise<readonly StateCount[]> {
  const rows = await db
    .selectFrom('devices')
    .innerJoin('applications', 'applications.id', 'devices.application_id')
    .select(['devices.organization_id', 'devices.state'])
    .select((select) => select.fn.countAll().as('devices'))
    .where('applications.removed_at', 'is', null)
    .groupBy(['devices.organization_id', 'devices.state'])
    .execute()
  return rows.map((row) => ({
    organizationId: String(row.organization_id),
    state: row.state as DeviceState,
    devices: Number(row.devices),
  }))
}

async function writeJudged(store: Store, batch: readonly JudgedDevice[], nowMs: number): Promise<void> {
  const rows = batch.map(({ device, state, dueAtMs }) => [
    device.devEui,
    device.lastSeenAtMs,
    device.state,
    state,
    dueAtMs ?? null,
  ])
  const update = sql`
    ${unsynced} with judged (dev_eui, seen_at, state_before, state, due_at)
      as (${rowsAsJson(store, ['text', 'bigint', 'text', 'text', 'bigint'], rows)})
    update devices set state = judged.state, state_due_at = judged.due_at,
      state_since_at = case when devices.state = judged.state then devices.state_since_at
        else cast(${nowMs} as bigint) end,
      untold_changes = devices.untold_changes + case when devices.state = judged.state then 0 else 1 end
    from judged
    where devices.dev_eui = judged.dev_eui and devices.last_seen_at = judged.seen_at
      and devices.state = judged.state_before`
  await store.note((db) => update.execute(db))
}
