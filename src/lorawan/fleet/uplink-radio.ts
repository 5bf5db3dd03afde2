/** The facts that an uplink tells of its way: its frame counter, and how it was received. */
import { numberAt, objectAt, objectsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'

/** A member that is left out is not told by the network server. */
export interface UplinkRadio {
  readonly fCnt?: number
  /** dBm, at the gateway that heard the uplink best. */
  readonly rssi?: number
  /** dB, at the same gateway. */
  readonly snr?: number
  /** How far the SNR is above the one that the spreading factor needs, dB. */
  readonly marginDb?: number
}

/**
 * The SNR that a receiver needs for each spreading factor, dB. Source: Semtech SX1276 datasheet,
 * table 13.
 */
const NEEDED_SNR: ReadonlyMap<number, number> = new Map([
  [5, -2.5],
  [6, -5],
  [7, -7.5],
  [8, -10],
  [9, -12.5],
  [10, -15],
  [11, -17.5],
  [12, -20],
])

/** Gateways of one uplink that are looked at; real ones are some 10. */
const MAXIMUM_GATEWAYS = 100

/**
 * Reads an uplink of family A or B. Never throws: members that are missing or of another type are
 * left out. The spreading factor is told by family B, and by versions of family A that write
 * `loRaModulationInfo`. An index of the data rate alone does not tell it: its meaning is the
 * region's.
 */
export function radioOf(uplink: JsonObject): UplinkRadio {
  const fCnt = numberAt(uplink, 'fCnt')
  const best = bestReception(objectsAt(uplink, 'rxInfo'))
  const needed = NEEDED_SNR.get(spreadingFactorOf(objectAt(uplink, 'txInfo')) ?? 0)
  const { snr } = best
  return {
    ...(fCnt !== undefined && Number.isInteger(fCnt) && fCnt >= 0 ? { fCnt } : {}),
    ...best,
    ...(snr !== undefined && needed !== undefined ? { marginDb: snr - needed } : {}),
  }
}

/** The reception with the best SNR, for its gateway decides whether the uplink arrives. */
function bestReception(receptions: readonly JsonObject[]): Pick<UplinkRadio, 'rssi' | 'snr'> {
  let best: Pick<UplinkRadio, 'rssi' | 'snr'> = {}
  for (const reception of receptions.slice(0, MAXIMUM_GATEWAYS)) {
    const rssi = numberAt(reception, 'rssi')
    const snr = numberAt(reception, 'snr') ?? numberAt(reception, 'loRaSNR')
    const isBetter = (snr ?? -Infinity) > (best.snr ?? -Infinity)
    if (isBetter || best.rssi === undefined) {
      best = { ...(rssi === undefined ? {} : { rssi }), ...(snr === undefined ? {} : { snr }) }
    }
  }
  return best
}

function spreadingFactorOf(txInfo: JsonObject | undefined): number | undefined {
  const lora = objectAt(txInfo, 'modulation', 'lora') ?? objectAt(txInfo, 'loRaModulationInfo')
  return numberAt(lora, 'spreadingFactor')
}
