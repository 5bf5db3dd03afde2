import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { OwnMessage } from '../../broker/ports/consumer.ts'
import type { SteadyMs } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import type { Presence } from '../commands/command-waits.ts'
import { FleetWatch } from './fleet-watch.ts'
import type { FleetStates, FleetWatchOptions } from './fleet-watch.ts'
import type { ChangedDevice } from './state-event.ts'

const MINUTE_MS = 60_000
const START_MS = 1_767_225_600_000
const METER = '0101010101010101'

/** The registry, as far as the watch needs it; it outlives a restart of the service. */
interface Row extends ChangedDevice {
  readonly lastSeenAtMs: number
  dueAtMs: number | undefined
  untold: number
}

interface Untold {
  readonly device: Row
}

let nowMs: number
/** The pauses of looks, ms. */
let paused: number[]
let rows: Map<string, Row>
let published: OwnMessage[]
let presence: Presence
let isWatcher: boolean
let fails: boolean
let expectedSeconds: number | undefined

beforeEach(() => {
  nowMs = START_MS
  paused = []
  rows = new Map()
  published = []
  presence = undefined
  isWatcher = true
  fails = false
  expectedSeconds = undefined
  heard(METER)
})

function heard(devEui: string, intervalSeconds: number | null = 600): void {
  const before = rows.get(devEui)
  rows.set(devEui, {
    devEui,
    name: 'Meter 1',
    applicationId: '5',
    organizationId: '7',
    state: 'ON_TIME',
    stateSinceMs: nowMs,
    lowBattery: false,
    weakSignal: false,
    losingFrames: false,
    lastSeenAtMs: nowMs,
    intervalSeconds,
    lossPercent: null,
    batteryLevel: null,
    rssi: null,
    snr: null,
    dueAtMs: nowMs,
    untold: before === undefined || before.state === 'ON_TIME' ? 0 : before.untold + 1,
  })
}

const states: FleetStates<Row, Untold> = {
  due: async (atMs, limit) =>
    [...rows.values()].filter(({ dueAtMs }) => dueAtMs !== undefined && dueAtMs <= atMs).slice(0, limit),
  async judge(judged) {
    for (const { device, state, dueAtMs } of judged) {
      const row = rows.get(device.devEui)
      if (row === undefined || row.lastSeenAtMs !== device.lastSeenAtMs) continue
      rows.set(row.devEui, { ...row, state, dueAtMs, untold: row.untold + Number(row.state !== state) })
    }
  },
  untold: async (limit) => {
    const untold = [...rows.values()].filter((row) => row.untold > 0)
    return untold.slice(0, limit).map((device) => ({ device }))
  },
  async told(devices) {
    for (const {
      device: { devEui, untold },
    } of devices) {
      const row = rows.get(devEui)
      if (row?.untold === untold) rows.set(devEui, { ...row, untold: 0 })
    }
  },
}

function createWatch(options: Partial<FleetWatchOptions<Row, Untold>> = {}): FleetWatch<Row, Untold> {
  return new FleetWatch({
    states,
    presenceOf: () => presence,
    expectedIntervalSecondsOf: async () => expectedSeconds,
    isWatcher: async () => isWatcher,
    tenantOf: (organizationId) => `organization:${organizationId}`,
    publisher: {
      async publish(message) {
        if (fails) throw new Error('no room')
        published.push(message)
      },
    },
    clock: {
      now: () => nowMs,
      steady: () => nowMs as SteadyMs,
      afterTurn: (run) => void setImmediate(run),
      after: (ms, run) => {
        paused.push(ms)
        nowMs += ms
        queueMicrotask(run)
        return () => {}
      },
    },
    log: silentLogger,
    ...options,
  })
}

/** Looks once a minute, as far as the watch needs it. */
async function pass(watch: FleetWatch<Row, Untold>, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    nowMs += MINUTE_MS
    await watch.look()
  }
}

const told = (): readonly string[] =>
  published.map(({ payload }) => (JSON.parse(payload.toString()) as { readonly state: string }).state)

describe('the watch of devices', () => {
  it('looks at a fleet in pieces of 100 devices, with a pause after each piece', async () => {
    for (let number = 0; number < 250; number += 1) heard(number.toString(16).padStart(16, '0'))
    const asked: number[] = []
    const due: typeof states.due = async (atMs, limit) => {
      // Each statement takes 3 ms.
      nowMs += 3
      const found = await states.due(atMs, limit)
      asked.push(found.length)
      return found
    }
    await createWatch({ states: { ...states, due } }).look()
    assert.deepEqual(asked, [100, 100, 51])
    assert.deepEqual(paused, [12, 12])
  })

  it('has a state retained where the application says so, and tells it later where that can’t be looked up', async () => {
    let isAway = true
    let retains = true
    const watch = createWatch({
      async retainsLastEvents() {
        if (isAway) throw new Error('the registry is away')
        return retains
      },
    })
    await pass(watch, 20)
    assert.equal(published.length, 0)
    isAway = false
    await pass(watch, 1)
    retains = false
    await pass(watch, 60)
    assert.deepEqual(
      published.map((message) => message.retains),
      [true, false],
    )
    assert.deepEqual(told(), ['LATE', 'SILENT'])
  })

  it('tells once that a device is late, silent, and on time again', async () => {
    const watch = createWatch()
    await pass(watch, 19)
    assert.deepEqual(told(), [])
    await pass(watch, 1)
    assert.deepEqual(told(), ['LATE'])
    await pass(watch, 60)
    assert.deepEqual(told(), ['LATE', 'SILENT'])
    heard(METER)
    await pass(watch, 3)
    assert.deepEqual(told(), ['LATE', 'SILENT', 'ON_TIME'])
    const [first] = published
    assert.deepEqual(
      [first?.topicName, first?.qos, first?.tenant],
      [`application/5/device/${METER}/event/state`, 1, 'organization:7'],
    )
  })

  it('looks at a device only when its time has come, however often it is heard', async () => {
    let looks = 0
    const watch = createWatch({
      states: {
        ...states,
        judge: (judged, atMs) => {
          looks += judged.length
          return states.judge(judged, atMs)
        },
      },
    })
    for (let minute = 0; minute < 100; minute += 1) {
      const before = rows.get(METER)
      heard(METER)
      const row = rows.get(METER)
      if (before !== undefined && row !== undefined) rows.set(METER, { ...row, dueAtMs: before.dueAtMs })
      await pass(watch, 1)
    }
    assert.ok(looks <= 7, `${looks} looks in 100 minutes`)
    assert.deepEqual(told(), [])
  })

  it('takes the interval of the profile before the learned one', async () => {
    expectedSeconds = 3_600
    const watch = createWatch()
    await pass(watch, 119)
    assert.deepEqual(told(), [])
    await pass(watch, 1)
    assert.deepEqual(told(), ['LATE'])
  })

  it('judges by a shorter interval of the profile within an hour', async () => {
    heard(METER, 86_400)
    const watch = createWatch()
    await pass(watch, 1)
    expectedSeconds = 1_200
    await pass(watch, 59)
    assert.deepEqual(told(), [])
    await pass(watch, 1)
    assert.deepEqual(told(), ['SILENT'])
  })

  it('goes on after a restart, and gives each device its time anew: the service heard nobody', async () => {
    await createWatch().close()
    nowMs += 600 * MINUTE_MS
    const watch = createWatch()
    await pass(watch, 19)
    assert.deepEqual(told(), [])
    await pass(watch, 11)
    assert.deepEqual(told(), ['LATE', 'SILENT'])
    const next = createWatch()
    await pass(next, 60)
    assert.deepEqual(told(), ['LATE', 'SILENT'])
  })

  it('leaves a late device late after a restart', async () => {
    await pass(createWatch(), 20)
    await pass(createWatch(), 15)
    assert.deepEqual(told(), ['LATE'])
  })

  it('makes no device late because its network server is away', async () => {
    const watch = createWatch()
    presence = nowMs
    await pass(watch, 300)
    assert.deepEqual(told(), [])
    presence = 'connected'
    await pass(watch, 18)
    assert.deepEqual(told(), [])
    await pass(watch, 3)
    assert.deepEqual(told(), ['LATE'])
  })

  it('tells a change again that could not be told, until the log owns it', async () => {
    const watch = createWatch()
    fails = true
    await pass(watch, 21)
    assert.deepEqual(told(), [])
    fails = false
    await pass(watch, 2)
    assert.deepEqual(told(), ['LATE'])
  })

  it('rests in a node that does not watch; its heir tells the change', async () => {
    isWatcher = false
    const watch = createWatch()
    await pass(watch, 25)
    assert.deepEqual(told(), [])
    isWatcher = true
    await pass(watch, 1)
    assert.deepEqual(told(), ['LATE'])
  })

  it('takes many devices in turns', async () => {
    for (let number = 0; number < 1_200; number += 1) heard(number.toString(16).padStart(16, '0'))
    const watch = createWatch()
    await pass(watch, 20)
    assert.equal(told().length, 1_201)
  })

  it('survives a registry that is away', async () => {
    const watch = createWatch({ states: { ...states, due: () => Promise.reject(new Error('away')) } })
    await watch.look()
    assert.deepEqual(told(), [])
  })

  it('looks every five seconds, and not after its end', async () => {
    let looks = 0
    const watch = createWatch({
      isWatcher: async () => {
        looks += 1
        return false
      },
    })
    for (let second = 0; second < 10; second += 1) {
      watch.tick()
      await watch.look()
      nowMs += 1_000
    }
    const before = looks
    await watch.close()
    nowMs += 10_000
    watch.tick()
    assert.equal(looks, before)
  })
})
