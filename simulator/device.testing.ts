/** One simulated device for tests: a test decides what the air does, and advances the clock. */
import assert from 'node:assert/strict'
import type { DeviceRecord } from './device-file.ts'
import type { DeviceModelId } from './device-models.ts'
import type { Family } from './downlink.ts'
import type { Timers } from './fleet.ts'
import { createGateways } from './gateways.ts'
import type { Gateways } from './gateways.ts'
import type { NetworkEvent } from './network-event.ts'
import type { RadioSettings } from './radio.ts'
import { createRandom } from './random.ts'
import { region } from './region.ts'
import { SimulatedDevice } from './simulated-device.ts'

export const START_MS = Date.UTC(2026, 0, 1, 12)

export const NEAR = { latitude: 46.6, longitude: 7.9, altitude: 800 }

/** Some 22 km from the only gateway. */
export const FAR = { ...NEAR, latitude: NEAR.latitude + 0.2 }

/** An air in which nothing goes wrong. */
export const CLEAR_AIR: RadioSettings = {
  region: region('EU868'),
  uplinkLossRate: 0,
  downlinkLossRate: 0,
  repeatRate: 0,
  confirmedRate: 0,
  codecErrorRate: 0,
  classCShare: 0,
  withoutObjectShare: 0,
  resumedShare: 0,
  rejoinRate: 0,
  powerCutEveryMs: undefined,
  frameCounterBits: 32,
  downlinkRetries: 0,
}

export interface DeviceOptions {
  readonly model?: DeviceModelId
  readonly seed?: number
  readonly radio?: Partial<RadioSettings>
  readonly location?: DeviceRecord['location']
  readonly deviceClass?: 'A' | 'C'
  readonly family?: Family
  readonly intervalMs?: number
  readonly gateways?: Gateways
  readonly applicationId?: string
}

export const DEV_EUI = '00005eef10000001'

function recordOf(options: DeviceOptions): DeviceRecord {
  return {
    applicationID: options.applicationId ?? '5',
    applicationName: 'application',
    deviceName: 'device',
    devEUI: DEV_EUI,
    model: options.model ?? 'temperature-humidity',
    tags: { site: 'here' },
    location: options.location ?? NEAR,
    ...(options.deviceClass === undefined ? {} : { deviceClass: options.deviceClass }),
  }
}

/** A device that begins at `START_MS`. By default, an hour passes between its uplinks. */
export function createDevice(options: DeviceOptions = {}): SimulatedDevice {
  const random = createRandom(options.seed ?? 1)
  return new SimulatedDevice({
    record: recordOf(options),
    radio: { ...CLEAR_AIR, ...options.radio },
    family: options.family ?? 'A',
    gateways: options.gateways ?? createGateways([NEAR], random.fork('gateways')),
    random: random.fork('device'),
    intervalMs: options.intervalMs ?? 3_600_000,
    startMs: START_MS,
    startWindowMs: 0,
  })
}

/** Advances the time to `untilMs` (included), and returns all events up to then. */
export function eventsUntil(device: SimulatedDevice, untilMs: number): NetworkEvent[] {
  const events: NetworkEvent[] = []
  while (device.dueAtMs <= untilMs) events.push(...device.run(device.dueAtMs))
  return events
}

/** Advances the time until the device has sent its first uplink, and returns that time. */
export function joined(options: DeviceOptions = {}): { device: SimulatedDevice; nowMs: number } {
  const device = createDevice(options)
  const first = untilEvent(device, 'up')
  return { device, nowMs: first.atMs }
}

/** Advances the time, by at most a simulated day, until an event of this kind. */
export function untilEvent<Kind extends NetworkEvent['kind']>(device: SimulatedDevice, kind: Kind): EventOf<Kind> {
  const endMs = device.dueAtMs + 86_400_000
  while (device.dueAtMs <= endMs) {
    const found = device.run(device.dueAtMs).find((event) => event.kind === kind)
    if (found !== undefined) return found as EventOf<Kind>
  }
  assert.fail(`no ${kind} in a day`)
}

export type EventOf<Kind extends NetworkEvent['kind']> = Extract<NetworkEvent, { kind: Kind }>

export function ofKind<Kind extends NetworkEvent['kind']>(
  events: readonly NetworkEvent[],
  kind: Kind,
): EventOf<Kind>[] {
  return events.filter((event): event is EventOf<Kind> => event.kind === kind)
}

/** A command's payload. */
export function command(members: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ confirmed: false, fPort: 10, data: 'AA==', ...members }))
}

/** A clock whose timers run when it is advanced. */
export interface ManualClock extends Timers {
  advance(durationMs: number): void
  /** The number of timers that are set. */
  waiting(): number
}

export function createManualClock(): ManualClock {
  let nowMs = START_MS
  const timers = new Set<{ atMs: number; run: () => void }>()
  return {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    advance(durationMs) {
      const endMs = nowMs + durationMs
      for (;;) {
        const [next] = [...timers].toSorted((one, other) => one.atMs - other.atMs)
        if (next === undefined || next.atMs > endMs) break
        timers.delete(next)
        nowMs = Math.max(nowMs, next.atMs)
        next.run()
      }
      nowMs = endMs
    },
    waiting: () => timers.size,
  }
}
