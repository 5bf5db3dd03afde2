/**
 * The regional parameters that the simulated radio follows (RP002-1.0.4): channels, data rates,
 * receive windows, sizes.
 */
import type { Random } from './random.ts'

/** A LoRa data rate of a region, in one direction. */
export interface DataRate {
  /** The index in frames and events. */
  readonly dr: number
  readonly spreadingFactor: number
  /** Hz. */
  readonly bandwidth: number
  /** The most application data in one frame, in bytes. */
  readonly maximumPayloadBytes: number
}

/** A channel, with the data rate that is used on it. */
export interface Carrier {
  /** Hz. */
  readonly frequency: number
  readonly dataRate: DataRate
}

export interface Region {
  readonly id: RegionId
  /** Uplink channels, Hz. */
  readonly channels: readonly [number, ...number[]]
  /** The data rates of uplinks, the slowest first. */
  readonly dataRates: readonly [DataRate, ...DataRate[]]
  /** The carrier of a class A device's first receive window after an uplink. */
  firstWindow(uplink: Carrier): Carrier
  /**
   * The carrier of the second receive window; a class C device listens to it whenever it does not
   * send.
   */
  readonly secondWindow: Carrier
  /** The power of a gateway, dBm. */
  readonly downlinkPower: number
}

export type RegionId = (typeof REGION_IDS)[number]

export const REGION_IDS = ['EU868', 'US915', 'AS923'] as const

/** The time from an uplink to the first receive window. The second opens this much later. */
export const RECEIVE_DELAY_MS = 1000

/** The time from a join request to the first receive window. */
export const JOIN_ACCEPT_DELAY_MS = 5000

/** The margin that adaptive data rate keeps above the required Signal to Noise Ratio, in dB. */
const INSTALLATION_MARGIN = 10

/**
 * The difference of the required Signal to Noise Ratio between neighbouring data rates, in dB, as
 * adaptive data rate counts it.
 */
const DATA_RATE_STEP = 3

/**
 * Preamble, header, address, counters, port and integrity code around the application data, in
 * bytes.
 */
const FRAME_OVERHEAD_BYTES = 13

const KHZ_125 = 125_000
const KHZ_500 = 500_000

const EU868_RATES = rates(0, 12, KHZ_125, [51, 51, 51, 115, 242, 242])
const US915_UPLINK = rates(0, 10, KHZ_125, [11, 53, 125, 242])
/** In US 902-928, downlinks have data rates of their own: DR10 answers DR0, and so on. */
const US915_DOWNLINK = rates(10, 10, KHZ_500, [242, 242, 242, 242])
/**
 * The data rates under the 400 ms dwell time of both directions, where DR0 and DR1 carry nothing.
 */
const AS923_RATES = rates(2, 10, KHZ_125, [11, 53, 125, 242])

const REGIONS: Readonly<Record<RegionId, Region>> = {
  EU868: {
    id: 'EU868',
    channels: [868_100_000, 868_300_000, 868_500_000, 867_100_000, 867_300_000, 867_500_000, 867_700_000, 867_900_000],
    dataRates: EU868_RATES,
    firstWindow: (uplink) => uplink,
    secondWindow: { frequency: 869_525_000, dataRate: EU868_RATES[0] },
    downlinkPower: 16,
  },
  US915: {
    id: 'US915',
    channels: [903_900_000, 904_100_000, 904_300_000, 904_500_000, 904_700_000, 904_900_000, 905_100_000, 905_300_000],
    dataRates: US915_UPLINK,
    firstWindow({ frequency, dataRate }) {
      const channel = (frequency - 903_900_000) / 200_000
      return {
        frequency: 923_300_000 + channel * 600_000,
        dataRate: US915_DOWNLINK[dataRate.dr] ?? US915_DOWNLINK[0],
      }
    },
    secondWindow: {
      frequency: 923_300_000,
      dataRate: { dr: 8, spreadingFactor: 12, bandwidth: KHZ_500, maximumPayloadBytes: 53 },
    },
    downlinkPower: 26,
  },
  AS923: {
    id: 'AS923',
    channels: [923_200_000, 923_400_000, 923_600_000, 923_800_000, 924_000_000, 924_200_000, 924_400_000, 924_600_000],
    dataRates: AS923_RATES,
    firstWindow: (uplink) => uplink,
    secondWindow: { frequency: 923_200_000, dataRate: AS923_RATES[0] },
    downlinkPower: 16,
  },
}

export function region(id: RegionId): Region {
  return REGIONS[id]
}

export function pickChannel(of: Region, random: Random): number {
  return random.pick(of.channels)
}

/**
 * The least Signal to Noise Ratio that a spreading factor needs, in dB: -20 at SF12, 2.5 more for
 * each step below.
 */
export function requiredSnr({ spreadingFactor }: DataRate): number {
  return -20 + 2.5 * (12 - spreadingFactor)
}

/**
 * The distance of a signal from the Signal to Noise Ratio that its data rate needs, in whole dB
 * from -32 to 31: the margin of a status.
 */
export function marginOf(snr: number, dataRate: DataRate): number {
  return Math.max(-32, Math.min(31, Math.round(snr - requiredSnr(dataRate))))
}

/**
 * The data rate that a Signal to Noise Ratio allows with the installation margin; never slower than
 * the current one.
 */
export function fasterDataRate(of: Region, current: DataRate, snr: number): DataRate {
  const steps = Math.floor((snr - requiredSnr(current) - INSTALLATION_MARGIN) / DATA_RATE_STEP)
  const place = of.dataRates.indexOf(current) + Math.max(0, steps)
  return of.dataRates[Math.min(place, of.dataRates.length - 1)] ?? current
}

/** The next slower data rate, which reaches further; for the slowest, the same. */
export function slowerDataRate(of: Region, current: DataRate): DataRate {
  return of.dataRates[Math.max(0, of.dataRates.indexOf(current) - 1)] ?? current
}

/** The current data rate, or the slowest that carries `bytes` if the current one does not. */
export function dataRateThatCarries(of: Region, current: DataRate, bytes: number): DataRate {
  if (bytes <= current.maximumPayloadBytes) return current
  return of.dataRates.find((each) => bytes <= each.maximumPayloadBytes) ?? current
}

/**
 * The time that a frame with this much application data is on the air, in milliseconds (Semtech
 * AN1200.13).
 */
export function airtimeMs({ spreadingFactor, bandwidth }: DataRate, payloadBytes: number): number {
  const symbolMs = (2 ** spreadingFactor * 1000) / bandwidth
  const isOptimized = spreadingFactor >= 11 && bandwidth === KHZ_125
  const bits = 8 * (payloadBytes + FRAME_OVERHEAD_BYTES) - 4 * spreadingFactor + 44
  const blocks = Math.ceil(bits / (4 * (spreadingFactor - (isOptimized ? 2 : 0))))
  return symbolMs * (12.25 + 8 + Math.max(0, blocks * 5))
}

/** Data rates of one bandwidth; each has half of the airtime of the one before. */
function rates(
  dr: number,
  spreadingFactor: number,
  bandwidth: number,
  [slowest, ...others]: readonly [number, ...number[]],
): readonly [DataRate, ...DataRate[]] {
  return [
    { dr, spreadingFactor, bandwidth, maximumPayloadBytes: slowest },
    ...others.map((maximumPayloadBytes, index) => ({
      dr: dr + index + 1,
      spreadingFactor: spreadingFactor - index - 1,
      bandwidth,
      maximumPayloadBytes,
    })),
  ]
}
