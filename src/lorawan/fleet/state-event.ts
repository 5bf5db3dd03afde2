/** The event that tells of a change of a device's state. */
import type { HeardState } from './lateness.ts'

/** A device, as far as the event tells of it. */
export interface ChangedDevice {
  readonly devEui: string
  readonly name: string
  readonly applicationId: string
  readonly organizationId: string
  readonly state: HeardState | 'NEVER_HEARD'
  readonly stateSinceMs: number | null
  readonly lowBattery: boolean
  readonly weakSignal: boolean
  readonly losingFrames: boolean
  readonly lastSeenAtMs: number | null
  readonly intervalSeconds: number | null
  readonly lossPercent: number | null
  readonly batteryLevel: number | null
  readonly rssi: number | null
  readonly snr: number | null
}

/** The payload of an event `state`. It is the same for network servers of both families. */
export interface StateEvent {
  readonly time: string
  readonly applicationID: string
  readonly devEUI: string
  readonly deviceName: string
  readonly state: ChangedDevice['state']
  readonly stateSince: string | null
  readonly lowBattery: boolean
  readonly weakSignal: boolean
  readonly losingFrames: boolean
  readonly lastSeenAt: string | null
  readonly intervalSeconds: number | null
  readonly lossPercent: number | null
  readonly batteryLevel: number | null
  readonly rssi: number | null
  readonly snr: number | null
}

/** Writes the event at `nowMs`, ms since 1970. */
export function stateEvent(device: ChangedDevice, nowMs: number): StateEvent {
  return {
    time: new Date(nowMs).toISOString(),
    applicationID: device.applicationId,
    devEUI: device.devEui,
    deviceName: device.name,
    state: device.state,
    stateSince: textOf(device.stateSinceMs),
    lowBattery: device.lowBattery,
    weakSignal: device.weakSignal,
    losingFrames: device.losingFrames,
    lastSeenAt: textOf(device.lastSeenAtMs),
    intervalSeconds: device.intervalSeconds,
    lossPercent: device.lossPercent,
    batteryLevel: device.batteryLevel,
    rssi: device.rssi,
    snr: device.snr,
  }
}

function textOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString()
}
