/**
 * The LoRaWAN devices that the simulator plays, with the keys for joining: from a file, or
 * generated.
 */
import { createHash } from 'node:crypto'
import { CsvError } from 'csv-parse'
import { parse } from 'csv-parse/sync'
import { notJson } from '../../src/json-fault.ts'
import { isDevEui } from '../../src/lorawan/topics.ts'
import { DEVICE_MODEL_IDS, isDeviceModelId } from '../device-models.ts'
import type { DeviceModelId } from '../device-models.ts'
import { generatedDevices } from '../generated-devices.ts'
import { createRandom } from '../random.ts'

export interface LorawanRecord {
  /** 16 lower-case hexadecimal digits, as `joinEui`. */
  readonly devEui: string
  readonly joinEui: string
  /** 32 lower-case hexadecimal digits. */
  readonly appKey: string
  readonly name: string
  readonly model: DeviceModelId
  readonly deviceClass: 'A' | 'C'
}

/** All devices of the file, or its faults: at most ten sentences, each with the device's place. */
export type LorawanDeviceFile =
  | { readonly ok: true; readonly devices: readonly LorawanRecord[] }
  | { readonly ok: false; readonly faults: readonly string[] }

export interface GeneratedSettings {
  readonly count: number
  /** 16 lower-case hexadecimal digits; the other devices have the DevEUIs that follow. */
  readonly firstDevEui: string
  readonly joinEui: string
  /** The share of devices of class C, from 0 to 1; these devices come first. */
  readonly classCShare: number
  readonly seed: number
}

/** The most devices. Each has a session, a sensor and keys: some 10 KB. */
export const MAXIMUM_LORAWAN_DEVICES = 10_000

export const DEFAULT_JOIN_EUI = '0000000000000000'

const MAXIMUM_FAULTS = 10
const COLUMNS = ['devEUI', 'joinEUI', 'appKey', 'name', 'model', 'deviceClass'] as const

/**
 * Reads a JSON array of devices, or CSV with a header line. The members are `devEUI` and `appKey`;
 * optional are `joinEUI`, `name`, `model` and `deviceClass`.
 */
export function parseLorawanDevices(text: string): LorawanDeviceFile {
  const entries = text.trimStart().startsWith('[') ? jsonEntries(text) : csvEntries(text)
  if (typeof entries === 'string') return { ok: false, faults: [entries] }
  if (entries.length === 0) return { ok: false, faults: ['no device in it'] }
  if (entries.length > MAXIMUM_LORAWAN_DEVICES) {
    return { ok: false, faults: [`more than ${MAXIMUM_LORAWAN_DEVICES} devices in it`] }
  }
  const devices = new Map<string, LorawanRecord>()
  const faults: string[] = []
  for (const [index, entry] of entries.entries()) {
    const read = readRecord(entry, index)
    if (typeof read === 'string') faults.push(`device ${index + 1}: ${read}`)
    else if (devices.has(read.devEui)) faults.push(`device ${index + 1}: devEUI ${read.devEui} is there twice`)
    else devices.set(read.devEui, read)
    if (faults.length === MAXIMUM_FAULTS) break
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, devices: [...devices.values()] }
}

/**
 * Generates the devices; the same settings give the same devices and keys, so the keys are no
 * secret.
 */
export function generatedLorawanDevices(settings: GeneratedSettings): LorawanRecord[] {
  const { count, firstDevEui, joinEui, classCShare, seed } = settings
  const random = createRandom(seed).fork('town')
  const devices = generatedDevices({ count, firstDevEui, random, applicationId: '', applicationName: '' })
  return devices.map(({ devEUI, deviceName, model }, index) => ({
    devEui: devEUI,
    joinEui,
    appKey: createHash('sha256').update(`${seed} ${devEUI}`).digest('hex').slice(0, 32),
    name: deviceName,
    model,
    deviceClass: index < Math.round(count * classCShare) ? 'C' : 'A',
  }))
}

/** The devices in the form of a device file: CSV with a header line. */
export function lorawanDeviceRows(devices: readonly LorawanRecord[]): string[] {
  return [
    COLUMNS.join(','),
    ...devices.map(({ devEui, joinEui, appKey, name, model, deviceClass }) =>
      [devEui, joinEui, appKey, name, model, deviceClass].join(','),
    ),
  ]
}

function jsonEntries(text: string): readonly unknown[] | string {
  try {
    return JSON.parse(text) as readonly unknown[]
  } catch {
    return notJson(text)
  }
}

function csvEntries(text: string): readonly unknown[] | string {
  try {
    const rows = parse(text, { bom: true, columns: true, skip_empty_lines: true, trim: true })
    const [first] = rows
    if (first !== undefined && !Object.hasOwn(first as object, 'devEUI')) {
      return `neither a JSON array nor CSV with a header line such as ${COLUMNS.join(',')}`
    }
    return rows
  } catch (error) {
    if (error instanceof CsvError) return `the CSV can't be read: ${error.message}`
    throw error
  }
}

/** The record, or a sentence about its fault. An empty member counts as left out. */
function readRecord(entry: unknown, index: number): LorawanRecord | string {
  if (typeof entry !== 'object' || entry === null) return 'not an object'
  const members = entry as Readonly<Record<string, unknown>>
  const text = (name: (typeof COLUMNS)[number], fallback: string): string => {
    const value = members[name]
    if (value === undefined || value === '') return fallback
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  const devEui = text('devEUI', '').toLowerCase()
  const joinEui = text('joinEUI', DEFAULT_JOIN_EUI).toLowerCase()
  const appKey = text('appKey', '').toLowerCase()
  const model = text('model', DEVICE_MODEL_IDS[index % DEVICE_MODEL_IDS.length] ?? '')
  const deviceClass = text('deviceClass', 'A')
  if (!isDevEui(devEui)) return 'devEUI is not 16 hexadecimal digits'
  if (!isDevEui(joinEui)) return 'joinEUI is not 16 hexadecimal digits'
  if (!/^[\da-f]{32}$/.test(appKey)) return 'appKey is not 32 hexadecimal digits'
  if (!isDeviceModelId(model)) return `model is not one of ${DEVICE_MODEL_IDS.join(', ')}`
  if (deviceClass !== 'A' && deviceClass !== 'C') return 'deviceClass is not A or C'
  return { devEui, joinEui, appKey, name: text('name', devEui), model, deviceClass }
}
