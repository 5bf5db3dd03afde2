import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StateChange, StateEntry } from '../../broker/ports/engine.ts'
import type { OwnMessage } from '../../broker/ports/consumer.ts'
import type { DevicePlace } from '../commands/command-ports.ts'
import { UnknownDevices } from './unknown-devices.ts'
import type { EventSource } from './kept-event.ts'

const A = '0102030405060708'
const B = '0102030405060709'
const OF_7: EventSource = { networkServer: 'credential:one', organizationId: '7' }
const OF_ALL: EventSource = { networkServer: 'credential:all', organizationId: null }

/** The durable state, which outlives the unknown devices of a test. */
class FakeState {
  readonly entries = new Map<string, Buffer>()
  isFull = false

  async write(changes: readonly StateChange[]): Promise<void> {
    if (this.isFull) throw new Error('the disk is full')
    for (const { key, value } of changes) {
      if (value === undefined) this.entries.delete(key)
      else this.entries.set(key, value)
    }
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    const entries = [...this.entries].toSorted(([one], [other]) => (one < other ? -1 : 1))
    for (const [key, value] of entries) if (key.startsWith(prefix)) yield { key, value }
  }
}

function setUp(
  limits: Partial<{ keptMs: number; events: number; bytes: number }> = {},
  state = new FakeState(),
  process = 'one',
) {
  const places = new Map<string, DevicePlace>()
  const published: OwnMessage[] = []
  const clock = { at: 1_000, now: () => clock.at }
  const gate: { wait: Promise<void> | undefined } = { wait: undefined }
  const unknown = new UnknownDevices({
    state,
    process,
    publisher: {
      async publish(message) {
        await gate.wait
        published.push(message)
      },
    },
    places: { device: (devEui) => places.get(devEui) },
    limits: { keptMs: 60_000, events: 100, bytes: 1_000_000, ...limits },
    clock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const register = (devEui: string, organizationId = '7'): void => {
    places.set(devEui, { applicationId: '5', organizationId, isDisabled: false })
    unknown.release(devEui)
  }
  return { unknown, state, places, published, clock, gate, register }
}

function event(devEui: string, text: string) {
  return { applicationId: 'theirs', devEui, kind: 'up', payload: Buffer.from(text) } as const
}

/** Lets all that needs no time come to its end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

function textsOf(published: readonly OwnMessage[]): readonly string[] {
  return published.map(({ payload }) => payload.toString())
}

describe('UnknownDevices', () => {
  it('delivers the events of a device in their order, under its application, when it is registered', async () => {
    const { unknown, published, register, state } = setUp()
    for (const text of ['1', '2', '3']) await unknown.keep(OF_7, event(A, text))
    await unknown.keep(OF_7, event(B, 'other'))
    register(A)
    await settled()
    assert.deepEqual(textsOf(published), ['1', '2', '3'])
    assert.equal(published[0]?.topicName, `application/5/device/${A}/event/up`)
    assert.equal(published[0]?.tenant, 'organization:7')
    assert.equal(state.entries.size, 1)
    assert.deepEqual(
      Array.from(unknown.devicesOf('7'), ({ devEui }) => devEui),
      [B],
    )
  })

  it('has an event in the durable state before it says that it is kept, and finds it after a restart', async () => {
    const before = setUp()
    await before.unknown.keep(OF_7, event(A, '1'))
    await before.unknown.keep(OF_ALL, event(A, '2'))
    const after = setUp({}, before.state)
    after.places.set(A, { applicationId: '5', organizationId: '7', isDisabled: false })
    await after.unknown.load((prefix) => after.state.load(prefix))
    await settled()
    assert.deepEqual(textsOf(after.published), ['1', '2'])
    assert.equal(after.state.entries.size, 0)
  })

  it('takes the events of a dead node over, each in its place, and keeps its own', async () => {
    const dead = setUp({}, new FakeState(), 'dead')
    const heir = setUp({}, new FakeState(), 'heir')
    for (const [at, node, text] of [
      [1_000, heir, '1'],
      [1_000, dead, '2'],
      [1_001, dead, '3'],
      [1_002, heir, '4'],
    ] as const) {
      node.clock.at = at
      await node.unknown.keep(OF_7, event(A, text))
    }
    // The nodes copy the entries before the heir hears of them.
    for (const [key, value] of dead.state.entries) heir.state.entries.set(key, value)
    assert.equal(heir.state.entries.size, 4)
    await heir.unknown.load((prefix) => dead.state.load(prefix))
    heir.register(A)
    await settled()
    assert.deepEqual(textsOf(heir.published), ['1', '2', '3', '4'])
    assert.equal(heir.state.entries.size, 0)
  })

  it('rejects where the durable state can’t own the event, and keeps nothing of it', async () => {
    const { unknown, state } = setUp()
    state.isFull = true
    await assert.rejects(unknown.keep(OF_7, event(A, '1')) ?? Promise.resolve(), /full/)
    assert.equal(unknown.numbers().events, 0)
  })

  it('tries a delivery that failed again with the next tick', async () => {
    const { unknown, published, gate, register } = setUp()
    await unknown.keep(OF_7, event(A, '1'))
    gate.wait = Promise.reject(new Error('busy'))
    gate.wait.catch(() => {})
    register(A)
    await settled()
    assert.deepEqual([textsOf(published), unknown.numbers().events], [[], 1])
    gate.wait = undefined
    unknown.tick()
    await settled()
    assert.deepEqual([textsOf(published), unknown.numbers().events], [['1'], 0])
  })

  it('puts newer events of a registered device behind the kept ones', async () => {
    const { unknown, published, gate, register } = setUp()
    const open = Promise.withResolvers<void>()
    gate.wait = open.promise
    await unknown.keep(OF_7, event(A, '1'))
    register(A)
    assert.equal(unknown.precede(A, '7'), true)
    await unknown.keep(OF_7, event(A, '2'))
    open.resolve()
    await settled()
    assert.deepEqual(textsOf(published), ['1', '2'])
    assert.equal(unknown.precede(A, '7'), false)
  })

  it('never delivers what the network server of another organization has told of a device', async () => {
    const { unknown, published, register } = setUp()
    await unknown.keep({ networkServer: 'credential:hostile', organizationId: '8' }, event(A, 'forged'))
    assert.equal(unknown.precede(A, '7'), false)
    register(A, '7')
    await settled()
    assert.deepEqual(published, [])
  })

  it('gives up the oldest events of the network server alone, by count, and counts them', async () => {
    const { unknown, state } = setUp({ events: 2 })
    await unknown.keep(OF_ALL, event(B, 'neighbour'))
    for (const text of ['1', '2', '3']) await unknown.keep(OF_7, event(A, text))
    const kept = [...(unknown.devicesOf('7')[Symbol.iterator]().next().value?.events.values() ?? [])]
    assert.deepEqual(
      kept.map(({ payload }) => payload.toString()),
      ['2', '3'],
    )
    assert.equal([...unknown.shelvesOf('7')][0]?.givenUp, 1)
    assert.equal(unknown.numbers().givenUp, 1)
    assert.equal(state.entries.size, 3)
  })

  it('gives up the oldest events by bytes, and refuses an event that is larger than the bound', async () => {
    const { unknown } = setUp({ bytes: 2_000 })
    assert.equal(unknown.keep(OF_7, event(A, 'x'.repeat(2_000))), undefined)
    for (const text of ['1', '2', '3']) await unknown.keep(OF_7, event(A, text.repeat(400)))
    assert.equal(unknown.numbers().events, 2)
    assert.ok(unknown.numbers().bytes <= 2_000)
  })

  it('bounds an organization that makes many credentials', async () => {
    const { unknown } = setUp({ events: 2 })
    for (let server = 0; server < 20; server += 1) {
      const source = { networkServer: `credential:${server}`, organizationId: '7' }
      await unknown.keep(source, event(A, '1'))
      await unknown.keep(source, event(A, '2'))
    }
    assert.equal(unknown.numbers().events, 8)
  })

  it('gives up events that are too old', async () => {
    const { unknown, clock, state } = setUp()
    await unknown.keep(OF_7, event(A, '1'))
    clock.at += 30_000
    await unknown.keep(OF_7, event(A, '2'))
    clock.at += 30_001
    unknown.tick()
    await settled()
    assert.equal(unknown.numbers().events, 1)
    assert.equal(state.entries.size, 1)
  })

  it('keeps nothing with a bound of 0', () => {
    const { unknown } = setUp({ keptMs: 0 })
    assert.equal(unknown.keep(OF_7, event(A, '1')), undefined)
  })

  it('keeps the events of a disabled device until it is enabled', async () => {
    const { unknown, places, published, register } = setUp()
    await unknown.keep(OF_7, event(A, '1'))
    places.set(A, { applicationId: '5', organizationId: '7', isDisabled: true })
    unknown.release(A)
    await settled()
    assert.deepEqual(published, [])
    register(A)
    await settled()
    assert.deepEqual(textsOf(published), ['1'])
  })

  it('reads the names of ChirpStack v4 and v3', async () => {
    const { unknown } = setUp()
    const deviceInfo = { deviceName: 'Meter', applicationId: 'u', applicationName: 'Water', deviceProfileName: 'M1' }
    await unknown.keep(OF_7, event(A, JSON.stringify({ deviceInfo })))
    await unknown.keep(OF_7, event(B, JSON.stringify({ applicationID: '3', deviceName: 'Old\u0000' })))
    const [first, second] = [...unknown.devicesOf('7')]
    assert.deepEqual(first?.names, deviceInfo)
    assert.equal(second?.names.applicationId, '3')
    assert.equal(second?.names.deviceName, 'Old')
  })

  it('forgets a device on wish', async () => {
    const { unknown, state } = setUp()
    await unknown.keep(OF_7, event(A, '1'))
    assert.equal(unknown.forget('8', A), false)
    assert.equal(unknown.forget('7', A), true)
    await settled()
    assert.equal(state.entries.size, 0)
  })
})
