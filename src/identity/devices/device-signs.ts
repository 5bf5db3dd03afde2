/** Notes the signs of life of devices, with all that they tell of a device. */
import { sql } from 'kysely'
import { rowsAsJson } from '../store/rows-as-json.ts'
import type { ColumnType } from '../store/rows-as-json.ts'
import type { Store } from '../store/store.ts'
import type { DeviceSeen } from './device.ts'
import { parseDevEui } from './eui.ts'
import { unsynced, writeNotes } from './notes.ts'

/** The DevEUI, the time, six measurements and three flags of a device. */
const SEEN_TYPES: readonly ColumnType[] = [
  'text',
  'bigint',
  'double precision',
  'double precision',
  'double precision',
  'double precision',
  'double precision',
  'double precision',
  'integer',
  'integer',
  'integer',
]

/** Notes signs of life as `Devices.recordSeen` says. */
export async function recordSeen(store: Store, seen: readonly DeviceSeen[], isUrgent = false): Promise<void> {
  const newest = new Map<string, DeviceSeen>()
  for (const one of seen) {
    const devEui = parseDevEui(one.devEui)
    if (devEui === undefined) continue
    const known = newest.get(devEui)
    newest.set(devEui, known === undefined ? one : mergeSeen(known, one))
  }
  await writeNotes(store, [...newest], (some) => writeSeen(store, some), { isUrgent })
}

function mergeSeen(one: DeviceSeen, other: DeviceSeen): DeviceSeen {
  const [older, newer] = other.lastSeenAtMs >= one.lastSeenAtMs ? [one, other] : [other, one]
  return { ...older, ...newer }
}

async function writeSeen(store: Store, batch: readonly (readonly [string, DeviceSeen])[]): Promise<void> {
  const rows = batch.map(([devEui, seen]) => [
    devEui,
    Math.trunc(seen.lastSeenAtMs),
    seen.batteryLevel ?? null,
    seen.margin ?? null,
    seen.intervalSeconds ?? null,
    seen.lossPercent ?? null,
    seen.rssi ?? null,
    seen.snr ?? null,
    flagOf(seen.lowBattery),
    flagOf(seen.weakSignal),
    flagOf(seen.losingFrames),
  ])
  // Nobody is told that a device was heard for the first time: its event tells it.
  // A device that was on time keeps the time at which its state is looked at next: so its index
  // costs nothing here.
  const update = sql`
    ${unsynced} with seen (dev_eui, at, battery_level, margin, interval_seconds, loss_percent, rssi, snr, is_battery_low,
      is_signal_weak, is_losing_frames) as (${rowsAsJson(store, SEEN_TYPES, rows)})
    update devices set last_seen_at = seen.at,
      battery_level = coalesce(seen.battery_level, devices.battery_level),
      margin = coalesce(seen.margin, devices.margin),
      interval_seconds = coalesce(seen.interval_seconds, devices.interval_seconds),
      loss_percent = coalesce(seen.loss_percent, devices.loss_percent),
      rssi = coalesce(seen.rssi, devices.rssi),
      snr = coalesce(seen.snr, devices.snr),
      is_battery_low = coalesce(seen.is_battery_low, devices.is_battery_low),
      is_signal_weak = coalesce(seen.is_signal_weak, devices.is_signal_weak),
      is_losing_frames = coalesce(seen.is_losing_frames, devices.is_losing_frames),
      state = 'ON_TIME',
      state_since_at = case when devices.state = 'ON_TIME' then devices.state_since_at else seen.at end,
      state_due_at = case when devices.state = 'ON_TIME' then coalesce(devices.state_due_at, seen.at) else seen.at end,
      untold_changes = devices.untold_changes + case when devices.state in ('LATE', 'SILENT')
        or coalesce(seen.is_battery_low, devices.is_battery_low) <> devices.is_battery_low
        or coalesce(seen.is_signal_weak, devices.is_signal_weak) <> devices.is_signal_weak
        or coalesce(seen.is_losing_frames, devices.is_losing_frames) <> devices.is_losing_frames
        then 1 else 0 end
    from seen
    where devices.dev_eui = seen.dev_eui and (devices.last_seen_at is null or devices.last_seen_at <= seen.at)
  `
  await store.note((db) => update.execute(db))
}

function flagOf(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value)
}
