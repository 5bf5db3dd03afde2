/**
 * Any number of devices without a device file, for load: a town of sensors of all models around one
 * place.
 */
import { isDevEui } from '../src/lorawan/topics.ts'
import type { DeviceRecord } from './device-file.ts'
import { DEVICE_MODEL_IDS, deviceModel } from './device-models.ts'
import type { DeviceModelId } from './device-models.ts'
import type { Random } from './random.ts'
import { rounded } from './sensor.ts'

/** The most devices of one simulator; each takes some 5 KB. */
export const MAXIMUM_GENERATED = 100_000

/**
 * Bit 2 of the first byte marks a block that nobody bought: it is free for use within a network
 * (IEEE EUI-64 guidelines).
 */
export const DEFAULT_FIRST_DEV_EUI = '0200000000000001'

/** The models that are generated in turn. */
const MODELS: readonly [DeviceModelId, ...DeviceModelId[]] = [
  'temperature-humidity',
  'door-contact',
  'energy-meter',
  'water-meter',
  'gps-tracker',
  ...DEVICE_MODEL_IDS.filter(
    (id) => !['temperature-humidity', 'door-contact', 'energy-meter', 'water-meter', 'gps-tracker'].includes(id),
  ),
]

const CENTRE = { latitude: 47.3769, longitude: 8.5417, altitude: 410 }

/** The largest distance of a device from the centre, in degrees (0.06 is about 6 km). */
const SPREAD_DEGREES = 0.06

export interface GeneratedDevicesSettings {
  readonly count: number
  readonly applicationId: string
  readonly applicationName: string
  /** 16 lower-case hexadecimal digits; the other devices have the DevEUIs that follow. */
  readonly firstDevEui: string
  readonly random: Random
}

/** Generates the devices; the same settings and seed give the same devices. */
export function generatedDevices(settings: GeneratedDevicesSettings): DeviceRecord[] {
  const { count, applicationId, applicationName, firstDevEui, random } = settings
  const first = BigInt(`0x${firstDevEui}`)
  return Array.from({ length: count }, (_device, index) => {
    const model = MODELS[index % MODELS.length] ?? MODELS[0]
    return {
      applicationID: applicationId,
      applicationName,
      deviceName: `${model}-${index + 1}`,
      devEUI: devEuiAt(first, index),
      model,
      deviceProfileName: deviceModel(model).deviceProfileName,
      location: {
        latitude: rounded(CENTRE.latitude + random.between(-SPREAD_DEGREES, SPREAD_DEGREES), 5),
        longitude: rounded(CENTRE.longitude + random.between(-SPREAD_DEGREES, SPREAD_DEGREES), 5),
        altitude: Math.round(CENTRE.altitude + random.between(0, 60)),
      },
    }
  })
}

/** True if `count` DevEUIs in a row begin with this one. */
export function isDevEuiRange(firstDevEui: string, count: number): boolean {
  return isDevEui(firstDevEui) && BigInt(`0x${firstDevEui}`) + BigInt(count) <= 2n ** 64n
}

/** A line for each device, as `fieldgate import` reads it. */
export function importRows(devices: readonly DeviceRecord[]): string[] {
  return devices.map(({ devEUI, deviceName, applicationID, deviceProfileName }) =>
    JSON.stringify({ devEUI, name: deviceName, applicationID, deviceProfileName }),
  )
}

function devEuiAt(first: bigint, index: number): string {
  return (first + BigInt(index)).toString(16).padStart(16, '0')
}
