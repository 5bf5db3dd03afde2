/** The facts of events that plots show, for both families of network servers. */
import { memberOf, numberAt, objectAt, objectsAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { deviceStateOf, membersOf } from '../events.ts'

/** The facts of an uplink. A member that the event does not have is undefined. */
export interface UplinkFacts {
  readonly fCnt: number | undefined
  /** `''` where the event has none. */
  readonly devAddr: string
  /** dBm, and dB, of the gateway that received the uplink with the highest RSSI. */
  readonly rssi: number | undefined
  readonly snr: number | undefined
  /** From 5 to 12. */
  readonly spreadingFactor: number | undefined
  /** The index of the region, from 0 to 15. */
  readonly dataRate: number | undefined
  /** The payload as the codec has decoded it. */
  readonly object: unknown
}

/**
 * A longer event is not read: its JSON would hold up all other requests. Real ones have some 2,000
 * bytes.
 */
const MAXIMUM_EVENT_BYTES = 262_144

const MAXIMUM_DEPTH = 16
/** The most leaves of an object that are looked at. */
const MAXIMUM_LEAVES = 1_000
/** A value with a longer path is passed over. */
export const MAXIMUM_PATH_UNITS = 128

/** The facts of an uplink; undefined for a payload that is no JSON object, or is too long. */
export function uplinkFacts(payload: Buffer): UplinkFacts | undefined {
  if (payload.length > MAXIMUM_EVENT_BYTES) return undefined
  const event = membersOf(payload)
  if (event === undefined) return undefined
  const sent = objectAt(event, 'txInfo')
  const dataRate = wholeWithin(numberAt(event, 'dr') ?? numberAt(sent, 'dr'), 0, 15)
  return {
    fCnt: wholeWithin(numberAt(event, 'fCnt'), 0, 0xffff_ffff),
    devAddr: textAt(event, 'devAddr') ?? '',
    ...bestReception(objectsAt(event, 'rxInfo')),
    spreadingFactor: spreadingFactorOf(sent, dataRate),
    dataRate,
    object: memberOf(event, 'object'),
  }
}

/** Battery in percent and margin in dB, of a status event. */
export function statusFacts(payload: Buffer): {
  readonly battery: number | undefined
  readonly margin: number | undefined
} {
  const state = deviceStateOf('status', payload, 0)
  return { battery: state?.batteryLevel, margin: state?.margin }
}

/**
 * The numbers in a decoded object with their paths: the names of the members, and the places in
 * lists, with dots between them (`temperatureSensor.1`).
 */
export function numbersOf(object: unknown, take: (path: string, value: number) => void): void {
  let leaves = 0
  const visit = (value: unknown, path: string, depth: number): void => {
    if (typeof value !== 'object' || value === null) {
      leaves += 1
      const isTaken = typeof value === 'number' && Number.isFinite(value) && path !== ''
      if (isTaken && path.length <= MAXIMUM_PATH_UNITS) take(path, value)
      return
    }
    if (depth === MAXIMUM_DEPTH) return
    for (const name in value) {
      if (leaves >= MAXIMUM_LEAVES) return
      visit((value as JsonObject)[name], path === '' ? name : `${path}.${name}`, depth + 1)
    }
  }
  visit(object, '', 0)
}

function bestReception(receptions: readonly JsonObject[]): Pick<UplinkFacts, 'rssi' | 'snr'> {
  let best: Pick<UplinkFacts, 'rssi' | 'snr'> = { rssi: undefined, snr: undefined }
  for (const reception of receptions) {
    const rssi = numberAt(reception, 'rssi')
    if (rssi === undefined || (best.rssi !== undefined && rssi <= best.rssi)) continue
    best = { rssi, snr: numberAt(reception, 'loRaSNR') ?? numberAt(reception, 'snr') }
  }
  return best
}

/** ChirpStack v4 writes `modulation.lora`, v3 `loRaModulationInfo` or the data rate alone. */
function spreadingFactorOf(sent: JsonObject | undefined, dataRate: number | undefined): number | undefined {
  const lora = objectAt(sent, 'modulation', 'lora') ?? objectAt(sent, 'loRaModulationInfo')
  const told = wholeWithin(numberAt(lora, 'spreadingFactor'), 5, 12)
  if (told !== undefined || dataRate === undefined) return told
  return spreadingFactorOfRate(dataRate, numberAt(sent, 'frequency') ?? 0)
}

/**
 * The spreading factor of a data rate in the uplink channels of the frequency, in Hz. US915 alone
 * has uplinks from 902 to 915 MHz (LoRaWAN Regional Parameters RP002-1.0.4, §2.5 and §2.8).
 */
function spreadingFactorOfRate(dataRate: number, frequency: number): number | undefined {
  if (frequency >= 902_000_000 && frequency < 915_000_000) {
    return dataRate <= 3 ? 10 - dataRate : dataRate === 4 ? 8 : undefined
  }
  if (dataRate <= 5) return 12 - dataRate
  if (dataRate !== 6) return undefined
  // 250 kHz in Europe, 500 kHz in AU915.
  return frequency >= 915_000_000 && frequency < 928_000_000 ? 8 : 7
}

function wholeWithin(value: number | undefined, low: number, high: number): number | undefined {
  return value !== undefined && Number.isInteger(value) && value >= low && value <= high ? value : undefined
}
