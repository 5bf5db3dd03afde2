/**
 * A model of device, as the simulator sees it: how it measures, which payload it sends, and how a
 * command changes it.
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
 * The measuring part of one device. Its state advances with the times of the calls, which never go
 * back.
 */
export interface Sensor {
  measure(atMs: number): Measurement
  /** The current place of the device; only for models that move. */
  position?(): Coordinates
  /** Executes a downlink; a downlink that it does not understand is ignored, as devices do. */
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

/** A wave over the day (UTC) from -1 at 03:00 to 1 at 15:00, in the way of temperatures. */
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

/** `value` rounded to `decimals` decimals. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals
  return Math.round(value * scale) / scale
}
