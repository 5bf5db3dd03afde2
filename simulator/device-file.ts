/** The device file: the list of the devices that the simulator plays. */
import { given } from '../src/given.ts'
import { notJson } from '../src/json-fault.ts'
import { objectOf } from '../src/json.ts'
import { isApplicationId, isDevEui } from '../src/lorawan/topics.ts'
import { DEVICE_MODEL_IDS, isDeviceModelId } from './device-models.ts'
import type { DeviceModelId } from './device-models.ts'
import type { Coordinates } from './sensor.ts'

/** One device of the file; events spell the members in the same way. */
export interface DeviceRecord {
  readonly applicationID: string
  readonly applicationName: string
  readonly deviceName: string
  /** 16 lower-case hexadecimal digits. */
  readonly devEUI: string
  readonly model: DeviceModelId
  /** The profile's name; default: the name of the model's profile. */
  readonly deviceProfileName?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly location: Coordinates
  /** LoRaWAN's class; without it, the simulator chooses. */
  readonly deviceClass?: 'A' | 'C'
}

/** All devices of the file, or its faults: at most ten sentences, each with the device's place. */
export type DeviceFile =
  | { readonly ok: true; readonly devices: readonly DeviceRecord[] }
  | { readonly ok: false; readonly faults: readonly string[] }

/**
 * The most faults of a file that are reported; a file of the wrong kind has one fault for each
 * entry.
 */
const MAXIMUM_FAULTS = 10

/**
 * Reads the text of a device file: a JSON array of devices. DevEUIs may be written in upper or
 * lower case; each may appear only once.
 */
export function parseDeviceFile(text: string): DeviceFile {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    return { ok: false, faults: [notJson(text)] }
  }
  if (!Array.isArray(entries)) return { ok: false, faults: ['not a JSON array of devices'] }
  if (entries.length === 0) return { ok: false, faults: ['no device in it'] }
  const devices: DeviceRecord[] = []
  const faults: string[] = []
  const seen = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    const read = parseRecord(entry)
    if (typeof read === 'string') faults.push(`device ${index + 1}: ${read}`)
    else if (seen.has(read.devEUI)) faults.push(`device ${index + 1}: devEUI ${read.devEUI} is there twice`)
    else {
      seen.add(read.devEUI)
      devices.push(read)
    }
    if (faults.length === MAXIMUM_FAULTS) break
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, devices }
}

/** The record, or a sentence about its fault. */
function parseRecord(entry: unknown): DeviceRecord | string {
  const record = objectOf(entry)
  if (record === undefined) return 'not an object'
  const { applicationID, applicationName, deviceName, devEUI, model, deviceProfileName, tags, location, deviceClass } =
    record
  if (typeof applicationID !== 'string' || !isApplicationId(applicationID)) {
    return 'applicationID is not 1 to 64 letters, digits and hyphens'
  }
  if (typeof applicationName !== 'string') return 'applicationName is not a string'
  if (typeof deviceName !== 'string') return 'deviceName is not a string'
  const devEui = typeof devEUI === 'string' ? devEUI.toLowerCase() : ''
  if (!isDevEui(devEui)) return 'devEUI is not 16 hexadecimal digits'
  if (typeof model !== 'string' || !isDeviceModelId(model)) return `model is not one of ${DEVICE_MODEL_IDS.join(', ')}`
  if (deviceProfileName !== undefined && typeof deviceProfileName !== 'string')
    return 'deviceProfileName is not a string'
  if (tags !== undefined && !isTags(tags)) return 'tags is not an object of strings'
  if (deviceClass !== undefined && deviceClass !== 'A' && deviceClass !== 'C') return 'deviceClass is not "A" or "C"'
  if (!isCoordinates(location)) return 'location is not {latitude, longitude, altitude} in numbers'
  return {
    applicationID,
    applicationName,
    deviceName,
    devEUI: devEui,
    model,
    ...given({ deviceProfileName, tags, deviceClass } as const),
    location: { latitude: location.latitude, longitude: location.longitude, altitude: location.altitude },
  }
}

function isTags(value: unknown): value is Record<string, string> {
  const tags = objectOf(value)
  return tags !== undefined && Object.values(tags).every((tag) => typeof tag === 'string')
}

function isCoordinates(value: unknown): value is Coordinates {
  const location = objectOf(value)
  if (location === undefined) return false
  const { latitude, longitude, altitude } = location
  return (
    typeof latitude === 'number' &&
    Math.abs(latitude) <= 90 &&
    typeof longitude === 'number' &&
    Math.abs(longitude) <= 180 &&
    typeof altitude === 'number'
  )
}
