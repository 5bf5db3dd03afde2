import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commandTopic } from '../src/lorawan/topics.ts'
import { demonstrationDeployment, deviceRecords } from './demonstration-deployment.ts'
import { createFleet } from './fleet.ts'
import type { Fleet, Timers } from './fleet.ts'
import { createGateways } from './gateways.ts'
import { createRandom } from './random.ts'
import { SimulatedDevice } from './simulated-device.ts'
import type { DeviceEvent } from './simulated-device.ts'

const START_MS = Date.UTC(2026, 0, 1)
const RECORDS = deviceRecords(demonstrationDeployment(1), () => '5')
const COMMAND = Buffer.from('{"confirmed":true,"fPort":10,"data":"AQ=="}')

describe('a fleet of devices', () => {
  it('sends all seven kinds of event, commands answered, within a quarter of an hour', () => {
    const { fleet, clock, events } = createDemonstration()
    fleet.start()
    clock.advance(60_000)
    for (const record of RECORDS) assert.ok(fleet.receive(commandTopic('5', record.devEUI), COMMAND))
    clock.advance(840_000)
    const counts = Object.groupBy(events, (event) => event.kind)
    assert.equal(counts.join?.length, RECORDS.length)
    assert.equal(counts.txack?.length, RECORDS.length)
    assert.equal(counts.ack?.length, RECORDS.length)
    assert.ok((counts.up?.length ?? 0) > RECORDS.length * 60)
    for (const kind of ['status', 'location', 'error'] as const) assert.ok((counts[kind]?.length ?? 0) > 0, kind)
  })

  it('runs its devices in the order of time, whatever the number', () => {
    const { fleet, clock, times } = createDemonstration()
    fleet.start()
    clock.advance(300_000)
    assert.deepEqual(
      times,
      times.toSorted((one, other) => one - other),
    )
  })

  it('repeats from its seed', () => {
    assert.equal(fiveMinutes(), fiveMinutes())
  })

  it('takes no message that is not a command for one of its devices', () => {
    const { fleet } = createDemonstration()
    fleet.start()
    for (const topicName of [
      commandTopic('6', RECORDS[0]?.devEUI ?? ''),
      commandTopic('5', '00005eef100000ff'),
      `application/5/device/${RECORDS[0]?.devEUI}/event/up`,
      'nothing',
    ]) {
      assert.ok(!fleet.receive(topicName, COMMAND), topicName)
    }
  })

  it('is silent once it has been stopped', () => {
    const { fleet, clock, events } = createDemonstration()
    fleet.start()
    clock.advance(60_000)
    fleet.stop()
    const count = events.length
    clock.advance(60_000)
    assert.ok(!fleet.receive(commandTopic('5', RECORDS[0]?.devEUI ?? ''), COMMAND))
    assert.equal(events.length, count)
    assert.equal(clock.waiting(), 0)
  })
})

function fiveMinutes(): string {
  const { fleet, clock, events } = createDemonstration()
  fleet.start()
  clock.advance(300_000)
  return JSON.stringify(events)
}

interface ManualClock extends Timers {
  advance(durationMs: number): void
  /** How many timers are set. */
  waiting(): number
}

interface Demonstration {
  readonly fleet: Fleet
  readonly clock: ManualClock
  readonly events: DeviceEvent[]
  readonly times: number[]
}

function createDemonstration(): Demonstration {
  const clock = createManualClock()
  const random = createRandom(1)
  const gateways = createGateways(
    RECORDS.map((record) => record.location),
    random.fork('gateways'),
  )
  const devices = RECORDS.map((record) => {
    const own = random.fork(record.devEUI)
    const joinAtMs = START_MS + own.between(0, 5000)
    return new SimulatedDevice({ record, gateways, random: own, intervalMs: 10_000, joinAtMs })
  })
  const events: DeviceEvent[] = []
  const times: number[] = []
  const publish = (event: DeviceEvent): void => {
    events.push(event)
    times.push(clock.nowMs())
  }
  return { fleet: createFleet({ devices, timers: clock, publish }), clock, events, times }
}

function createManualClock(): ManualClock {
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
