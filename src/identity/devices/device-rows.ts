/** Devices as rows of the table, and the rules for their fields. */
import type { Selectable } from 'kysely'
import { applicationIdOf } from '../store/application-ids.ts'
import type { Device, DeviceFields, DeviceHealth, DeviceState } from './device.ts'
import { refuse } from '../store/result.ts'
import type { Refusal } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import { foldText, isLine, isName, isParagraph } from '../store/text-rules.ts'

/** A device as the table holds it. */
export type DeviceRow = Selectable<Schema['devices']>

/**
 * A device as the table holds it, with the UUID of its application, which is part of the
 * application's id.
 */
export interface PlacedDeviceRow extends DeviceRow {
  readonly application_uuid: string | null
}

const MAXIMUM_NAME = 100
const MAXIMUM_DESCRIPTION = 1000
/**
 * The most tags of a device, and the most variables. With these bounds a device takes at most some
 * 40 KB.
 */
export const MAXIMUM_ENTRIES = 32
/** The longest name of a tag or a variable, in characters. */
export const MAXIMUM_ENTRY_KEY = 100
/** The longest value of a tag or a variable, in characters. */
export const MAXIMUM_ENTRY_VALUE = 1000

/** The device that the row holds. */
export function deviceOf(row: PlacedDeviceRow): Device {
  return {
    devEui: row.dev_eui,
    name: row.name,
    applicationId: applicationIdOf({ id: row.application_id, uuid: row.application_uuid }),
    organizationId: String(row.organization_id),
    description: row.description,
    deviceProfileId: row.device_profile_id,
    deviceProfileName: row.device_profile_name,
    tags: JSON.parse(row.tags) as Record<string, string>,
    variables: JSON.parse(row.variables) as Record<string, string>,
    isDisabled: row.is_disabled === 1,
    lastSeenAtMs: row.last_seen_at,
    batteryLevel: row.battery_level,
    margin: row.margin,
    ...healthOf(row),
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

/** The state of the device in the row. */
function healthOf(row: DeviceRow): DeviceHealth {
  return {
    state: row.state as DeviceState,
    stateSinceMs: row.state_since_at,
    lowBattery: row.is_battery_low === 1,
    weakSignal: row.is_signal_weak === 1,
    losingFrames: row.is_losing_frames === 1,
    intervalSeconds: row.interval_seconds,
    lossPercent: row.loss_percent,
    rssi: row.rssi,
    snr: row.snr,
  }
}

/**
 * The key by which lists are sorted, and into which a search looks. The key is unique, because a
 * DevEUI is.
 */
export function orderKeyOf(name: string, devEui: string): string {
  // A line feed sorts before every character that a name can have, and a search can't contain one.
  return `${foldText(name)}\n${devEui}`
}

/** The refusal of wrong fields; undefined if the fields are right. */
export function checkDevice(fields: Omit<DeviceFields, 'applicationId'>): Refusal | undefined {
  if (!isName(fields.name, MAXIMUM_NAME)) {
    const rule = `name must have 1 to ${MAXIMUM_NAME} characters on one line`
    return refuse('invalid_argument', 'invalid_name', rule)
  }
  if (!isParagraph(fields.description, MAXIMUM_DESCRIPTION)) {
    const rule = `description must have at most ${MAXIMUM_DESCRIPTION} characters`
    return refuse('invalid_argument', 'invalid_description', rule)
  }
  if (!isLine(fields.deviceProfileId, 0, MAXIMUM_NAME) || !isLine(fields.deviceProfileName, 0, MAXIMUM_NAME)) {
    const rule = `the device profile's id and name must have at most ${MAXIMUM_NAME} characters on one line`
    return refuse('invalid_argument', 'invalid_device_profile', rule)
  }
  for (const kind of ['tags', 'variables'] as const) {
    if (!areEntries(fields[kind])) {
      const rule = `${kind} must be at most ${MAXIMUM_ENTRIES} texts of at most ${MAXIMUM_ENTRY_VALUE} characters`
      return refuse('invalid_argument', `invalid_${kind}`, rule)
    }
  }
  return undefined
}

/** Whether the value is tags or variables within the bounds. */
export function areEntries(value: Readonly<Record<string, string>>): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  return (
    entries.length <= MAXIMUM_ENTRIES &&
    entries.every(([key, text]) => isLine(key, 1, MAXIMUM_ENTRY_KEY) && isParagraph(text, MAXIMUM_ENTRY_VALUE))
  )
}
