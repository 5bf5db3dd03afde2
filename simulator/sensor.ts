/**
 * What a model of device is to the simulator: how it measures, what it sends and what a command
 * does to it.
 */
import type { Random } from './random.ts'

/** WGS 84, degrees; altitude in metres. */
export interface Coordinates {
  readonly latitude: number
  readonly longitude: number
  readonly altitude: number
}

/** Decoded content of a payload, as a network server's codec would give it. */
type PayloadObject = Readonly<Record<string, unknown>>

/** One uplink's content: the bytes and what they mean. */
export interface Measurement {
  readonly fPort: number
  readonly bytes: Buffer
  readonly object: PayloadObject
}

/**
 * The part of one device that measures. Its state moves on with the times it is asked about, which
 * never go back.
 */
export interface Sensor {
  measure(atMs: number): Measurement
  /** Where the device is; for models that move. */
  position?(): Coordinates
  /** Does what a downlink asks for; what it doesn't understand is ignored, as devices do. */
  command?(fPort: number, bytes: Buffer): void
}

export interface DeviceModel {
  readonly deviceProfileName: string
  /** A UUID, constant for the model. */
  readonly deviceProfileId: string
  /** True for mains power: its status carries no battery level. */
  readonly externalPowerSource: boolean
  /** Creates the sensor of one device; all its randomness comes from `random`. */
  createSensor(random: Random, location: Coordinates): Sensor
}

const DAY_MS = 86_400_000

/** A wave over the day (UTC) from -1 at 03:00 to 1 at 15:00, the way temperatures go. */
export function dailyWave(atMs: number): number {
  return -Math.cos((2 * Math.PI * ((atMs % DAY_MS) - DAY_MS / 8)) / DAY_MS)
}

/** A value that wanders with each step and stays between its bounds. */
export function createWalk(random: Random, start: number, step: number, low: number, high: number): () => number {
  let value = start
  return () => {
    value = Math.min(high, Math.max(low, value + random.normal(0, step)))
    return value
  }
}

/** `value` to the number of decimals given. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals
  return Math.round(value * scale) / scale
}
