import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commandTopic } from '../src/lorawan/topics.ts'
import { demonstrationDeployment, deviceRecords } from './demonstration-deployment.ts'
import { CLEAR_AIR, START_MS, createManualClock } from './device.testing.ts'
import type { ManualClock } from './device.testing.ts'
import { createFleet } from './fleet.ts'
import type { Fleet } from './fleet.ts'
import { createGateways } from './gateways.ts'
import { createRandom } from './random.ts'
import { SimulatedDevice } from './simulated-device.ts'
import type { NetworkEvent } from './network-event.ts'

const RECORDS = deviceRecords(demonstrationDeployment(1), () => '5')
const COMMAND = Buffer.from('{"confirmed":true,"fPort":10,"data":"AQ=="}')

describe('a fleet of devices', () => {
  it('sends all seven kinds of event, commands answered, within a quarter of an hour', () => {
    const { fleet, clock, events } = createDemonstration()
    fleet.start()
    clock.advance(60_000)
    for (const record of RECORDS) {
      assert.equal(fleet.receive(commandTopic('5', record.devEUI), COMMAND).outcome, 'queued')
    }
    clock.advance(840_000)
    const counts = Object.groupBy(events, (event) => event.kind)
    assert.equal(counts.join?.length, RECORDS.length)
    assert.equal(counts.ack?.length, RECORDS.length)
    assert.ok((counts.txack?.length ?? 0) >= RECORDS.length)
    assert.ok((counts.up?.length ?? 0) > RECORDS.length * 60)
    for (const kind of ['status', 'location', 'fault'] as const) assert.ok((counts[kind]?.length ?? 0) > 0, kind)
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
      assert.equal(fleet.receive(topicName, COMMAND).outcome, 'ignored', topicName)
    }
  })

  it('keeps commands that come before the start, as a Session brings them', () => {
    const { fleet, clock, events } = createDemonstration()
    const topicName = commandTopic('5', RECORDS[0]?.devEUI ?? '')
    assert.equal(fleet.receive(topicName, COMMAND).outcome, 'queued')
    assert.equal(clock.waiting(), 0)
    fleet.start()
    clock.advance(60_000)
    assert.equal(events.filter(({ kind }) => kind === 'ack').length, 1)
  })

  it('sets one timer, whatever the number of devices', () => {
    const { fleet, clock } = createDemonstration()
    fleet.start()
    for (let count = 0; count < 100; count += 1) {
      assert.equal(clock.waiting(), 1)
      clock.advance(500)
    }
  })

  it('publishes at once why a command is refused', () => {
    const { fleet, clock, events } = createDemonstration()
    fleet.start()
    clock.advance(60_000)
    const topicName = commandTopic('5', RECORDS[0]?.devEUI ?? '')
    const before = events.length
    assert.equal(
      fleet.receive(topicName, Buffer.from('{"confirmed":true,"fPort":1,"object":{"x":{}}}')).outcome,
      'refused',
    )
    assert.deepEqual(
      events.slice(before).map((event) => event.kind),
      ['fault'],
    )
  })

  it('is silent once it has been stopped', () => {
    const { fleet, clock, events } = createDemonstration()
    fleet.start()
    clock.advance(60_000)
    fleet.stop()
    const count = events.length
    clock.advance(60_000)
    assert.equal(fleet.receive(commandTopic('5', RECORDS[0]?.devEUI ?? ''), COMMAND).outcome, 'ignored')
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

interface Demonstration {
  readonly fleet: Fleet
  readonly clock: ManualClock
  readonly events: NetworkEvent[]
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
    const radio = {
      ...CLEAR_AIR,
      uplinkLossRate: 0.02,
      downlinkLossRate: 0.02,
      repeatRate: 0.01,
      codecErrorRate: 0.01,
      downlinkRetries: 2,
    }
    return new SimulatedDevice({
      record,
      radio,
      family: 'A',
      gateways,
      random: own,
      intervalMs: 10_000,
      startMs: START_MS,
      startWindowMs: 5000,
    })
  })
  const events: NetworkEvent[] = []
  const times: number[] = []
  const publish = (event: NetworkEvent): void => {
    events.push(event)
    times.push(clock.nowMs())
  }
  return { fleet: createFleet({ devices, timers: clock, publish }), clock, events, times }
}
