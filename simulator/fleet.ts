/**
 * All simulated devices on one clock: runs each device when it is due, and hands each command to
 * its device.
 */
import { parseTopic } from '../src/lorawan/topics.ts'
import type { NetworkEvent } from './network-event.ts'
import type { CommandFate } from './network-side.ts'
import type { SimulatedDevice } from './simulated-device.ts'
import { TimerWheel } from './timer-wheel.ts'

/** The simulator's time; a parameter, so that hours can pass in a test at once. */
export interface Timers {
  /** Milliseconds since 1970. */
  nowMs(): number
  /** Runs `run` once after a delay in milliseconds; returns the function that cancels it. */
  after(delayMs: number, run: () => void): () => void
}

export interface FleetSettings {
  readonly devices: readonly SimulatedDevice[]
  readonly timers: Timers
  /** Gets each event in order. */
  readonly publish: (event: NetworkEvent) => void
}

export interface Fleet {
  start(): void
  /** Stops all devices. Nothing is published after this. */
  stop(): void
  /**
   * Takes a message from the broker. Returns its fate. A message that comes before the start is
   * kept for the device.
   */
  receive(topicName: string, payload: Buffer): CommandFate
}

/**
 * The number of devices that run before the event loop gets its turn, so that sockets are served at
 * any rate of events.
 */
const DEVICES_PER_TURN = 200

/** Creates the fleet; nothing happens before `start`. */
export function createFleet(settings: FleetSettings): Fleet {
  const { devices, timers, publish } = settings
  const byDevEui = new Map(devices.map((device) => [device.record.devEUI, device]))
  let wheel = new TimerWheel<SimulatedDevice>(timers.nowMs())
  /** The one timer that is set, and the time at which it runs. */
  let alarm: { readonly atMs: number; readonly callOff: () => void } | undefined
  let state: 'waiting' | 'running' | 'stopped' = 'waiting'

  const schedule = (): void => {
    const nextMs = state === 'running' ? wheel.nextMs() : undefined
    if (nextMs === alarm?.atMs) return
    alarm?.callOff()
    alarm = undefined
    if (nextMs === undefined) return
    alarm = { atMs: nextMs, callOff: timers.after(Math.max(0, nextMs - timers.nowMs()), turn) }
  }

  const turn = (): void => {
    alarm = undefined
    const nowMs = timers.nowMs()
    wheel.takeDue(nowMs, DEVICES_PER_TURN, (device) => {
      for (const event of device.run(nowMs)) publish(event)
      wheel.set(device, device.dueAtMs)
    })
    schedule()
  }

  return {
    start() {
      state = 'running'
      wheel = new TimerWheel(timers.nowMs())
      for (const device of devices) wheel.set(device, device.dueAtMs)
      schedule()
    },
    stop() {
      state = 'stopped'
      wheel.clear()
      schedule()
    },
    receive(topicName, payload) {
      if (state === 'stopped') return { outcome: 'ignored', reason: 'the network server has stopped' }
      const topic = parseTopic(topicName)
      if (topic?.kind !== 'command') return { outcome: 'ignored', reason: 'not the command topic of a device' }
      const device = byDevEui.get(topic.devEui)
      if (device === undefined || device.record.applicationID !== topic.applicationId) {
        return { outcome: 'ignored', reason: 'no such device here' }
      }
      const fate = device.receive(payload, timers.nowMs())
      if (fate.outcome === 'refused') publish(fate.event)
      if (state === 'running') {
        wheel.set(device, device.dueAtMs)
        schedule()
      }
      return fate
    },
  }
}
