/** The models of device that the simulator knows, by their names in a device file. */
import {
  airQuality,
  co2Sensor,
  doorContact,
  energyMeter,
  gpsTracker,
  parkingSensor,
  streetLight,
  temperatureHumidity,
  wasteBin,
  weatherStation,
} from './cayenne-models.ts'
import type { DeviceModel } from './sensor.ts'
import { pressureTransmitter, soilMoisture, valveActuator, waterLevel, waterMeter } from './vendor-models.ts'

const MODELS = {
  'air-quality': airQuality,
  'co2-sensor': co2Sensor,
  'door-contact': doorContact,
  'energy-meter': energyMeter,
  'gps-tracker': gpsTracker,
  'parking-sensor': parkingSensor,
  'pressure-transmitter': pressureTransmitter,
  'soil-moisture': soilMoisture,
  'street-light': streetLight,
  'temperature-humidity': temperatureHumidity,
  'valve-actuator': valveActuator,
  'waste-bin': wasteBin,
  'water-level': waterLevel,
  'water-meter': waterMeter,
  'weather-station': weatherStation,
} as const satisfies Record<string, DeviceModel>

export type DeviceModelId = keyof typeof MODELS

/** The names of all models, sorted. */
export const DEVICE_MODEL_IDS = Object.keys(MODELS) as DeviceModelId[]

export function deviceModel(id: DeviceModelId): DeviceModel {
  return MODELS[id]
}

/** True for a name that `deviceModel` knows. */
export function isDeviceModelId(text: string): text is DeviceModelId {
  return Object.hasOwn(MODELS, text)
}
