/** Learns from the events of all devices. Most uplinks are only counted, not read. */
import { membersOf } from '../events.ts'
import type { DeviceState } from '../events.ts'
import type { PublishedEventKind } from '../topics.ts'
import { DeviceLearner } from './device-learner.ts'
import type { Learned } from './device-learner.ts'
import { radioOf } from './uplink-radio.ts'

/** The facts that an event teaches of its device. */
export interface LearnedOfEvent extends Learned {
  readonly lowBattery?: boolean
}

/**
 * Devices of which numbers are kept, some 400 bytes each. At the bound the device that was heard
 * least lately is forgotten, and learned anew: what was learned before stays in the registry. So no
 * number of devices can fill the memory.
 */
const MAXIMUM_DEVICES = 200_000
/** The largest uplink that is read, in bytes; real ones have some 2,000. */
const MAXIMUM_READ_BYTES = 65_536
/**
 * Percent. Below, a battery is low, until it has `BATTERY_REST_PERCENT` more. A device profile may
 * have another limit.
 */
const LOW_BATTERY_PERCENT = 20
const BATTERY_REST_PERCENT = 5

export class FleetLearner {
  /** In the order in which the devices were heard last. */
  readonly #devices = new Map<string, DeviceLearner>()
  readonly #maximumDevices: number

  constructor(maximumDevices = MAXIMUM_DEVICES) {
    this.#maximumDevices = maximumDevices
  }

  /** Uplinks of the device have arrived that are not read. */
  passed(devEui: string, uplinks: number): void {
    if (uplinks > 0) this.#devices.get(devEui)?.passed(uplinks)
  }

  /**
   * Reads an event that the device has sent. `state` is what the event tells of the device by
   * itself.
   */
  learn(devEui: string, kind: PublishedEventKind, payload: Buffer, state: DeviceState): LearnedOfEvent {
    if (kind === 'status') return batteryOf(state)
    if (kind === 'join') this.#devices.get(devEui)?.joined()
    if (kind !== 'up' || payload.length > MAXIMUM_READ_BYTES) return {}
    const uplink = membersOf(payload)
    return uplink === undefined ? {} : this.#of(devEui).uplink(state.lastSeenAtMs, radioOf(uplink))
  }

  /** The device is gone, or belongs to another application: nothing of it is remembered. */
  forget(devEui: string): void {
    this.#devices.delete(devEui)
  }

  #of(devEui: string): DeviceLearner {
    const device = this.#devices.get(devEui) ?? new DeviceLearner()
    this.#devices.delete(devEui)
    this.#devices.set(devEui, device)
    if (this.#devices.size > this.#maximumDevices) {
      for (const oldest of this.#devices.keys()) {
        this.#devices.delete(oldest)
        break
      }
    }
    return device
  }
}

/**
 * Whether a battery with this level is low by the limit, both in percent. A little above the limit
 * the flag stays as it is; a full battery is never low.
 */
export function batteryFlagOf(batteryLevel: number, limitPercent: number): Pick<LearnedOfEvent, 'lowBattery'> {
  if (batteryLevel < limitPercent) return { lowBattery: true }
  return batteryLevel >= Math.min(limitPercent + BATTERY_REST_PERCENT, 100) ? { lowBattery: false } : {}
}

function batteryOf({ batteryLevel, externalPowerSource }: DeviceState): LearnedOfEvent {
  if (externalPowerSource === true) return { lowBattery: false }
  return batteryLevel === undefined ? {} : batteryFlagOf(batteryLevel, LOW_BATTERY_PERCENT)
}
