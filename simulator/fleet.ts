/** All simulated devices on one clock: runs each when it is due, and hands commands to the one they are for. */
import { parseTopic } from '../src/lorawan/topics.ts'
import type { DeviceEvent, SimulatedDevice } from './simulated-device.ts'

/** Time as the simulator sees it; a parameter, so that hours can pass in a test at once. */
export interface Timers {
  /** Milliseconds since 1970. */
  nowMs(): number
  /** Runs once after a delay in milliseconds; returns the way to call it off. */
  after(delayMs: number, run: () => void): () => void
}

export interface FleetSettings {
  readonly devices: readonly SimulatedDevice[]
  readonly timers: Timers
  /** Gets each event in order. */
  readonly publish: (event: DeviceEvent) => void
}

export interface Fleet {
  start(): void
  /** Nothing is published after this. */
  stop(): void
  /** Takes a message from the broker; false where it is no command for a device of this fleet. */
  receive(topicName: string, payload: Buffer): boolean
}

/** How many devices run before the event loop has its turn, so that sockets are served at any rate of events. */
const DEVICES_PER_TURN = 200

/** A device and the time that it was put into the order with; out of date when the device is due at another time. */
interface Entry {
  readonly atMs: number
  readonly device: SimulatedDevice
}

/** Creates the fleet; nothing happens before `start`. */
export function createFleet(settings: FleetSettings): Fleet {
  const { devices, timers, publish } = settings
  const byDevEui = new Map(devices.map((device) => [device.record.devEUI, device]))
  /** A binary heap: the earliest entry is the first. At most one entry for each device is not out of date. */
  const heap: Entry[] = []
  let callOff: (() => void) | undefined
  let isRunning = false

  const schedule = (): void => {
    callOff?.()
    const next = heap[0]
    callOff = next === undefined || !isRunning ? undefined : timers.after(Math.max(0, next.atMs - timers.nowMs()), turn)
  }

  const turn = (): void => {
    const nowMs = timers.nowMs()
    for (let count = 0; count < DEVICES_PER_TURN; count += 1) {
      const entry = heap[0]
      if (entry === undefined || entry.atMs > nowMs) break
      takeFirst(heap)
      if (entry.atMs !== entry.device.dueAtMs) continue
      for (const event of entry.device.run(nowMs)) publish(event)
      put(heap, { atMs: entry.device.dueAtMs, device: entry.device })
    }
    schedule()
  }

  return {
    start() {
      isRunning = true
      for (const device of devices) put(heap, { atMs: device.dueAtMs, device })
      schedule()
    },
    stop() {
      isRunning = false
      heap.length = 0
      schedule()
    },
    receive(topicName, payload) {
      const topic = parseTopic(topicName)
      const device = topic?.kind === 'command' ? byDevEui.get(topic.devEui) : undefined
      if (!isRunning || device === undefined || device.record.applicationID !== topic?.applicationId) return false
      const dueAtMs = device.dueAtMs
      for (const event of device.receive(payload, timers.nowMs())) publish(event)
      if (device.dueAtMs !== dueAtMs) {
        put(heap, { atMs: device.dueAtMs, device })
        schedule()
      }
      return true
    },
  }
}

function put(heap: Entry[], entry: Entry): void {
  let index = heap.length
  heap.push(entry)
  while (index > 0) {
    const above = (index - 1) >> 1
    const parent = heap[above]
    if (parent === undefined || parent.atMs <= entry.atMs) break
    heap[index] = parent
    heap[above] = entry
    index = above
  }
}

function takeFirst(heap: Entry[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  heap[0] = last
  let index = 0
  for (;;) {
    const left = heap[2 * index + 1]
    const right = heap[2 * index + 2]
    const isRight = right !== undefined && left !== undefined && right.atMs < left.atMs
    const smaller = isRight ? right : left
    if (smaller === undefined || smaller.atMs >= last.atMs) return
    const below = 2 * index + (isRight ? 2 : 1)
    heap[index] = smaller
    heap[below] = last
    index = below
  }
}
