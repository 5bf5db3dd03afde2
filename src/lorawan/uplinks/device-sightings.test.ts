import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { silentLogger } from '../../logger.ts'
import type { Logger } from '../../logger.ts'
import type { SteadyMs } from '../../clock.ts'
import { DeviceSightings } from './device-sightings.ts'
import type { DeviceSighting } from './device-sightings.ts'
import { Topic } from '../../mqtt/topic.ts'
import { commandTopic, eventTopic } from '../topics.ts'
import type { PublishedEventKind } from '../topics.ts'

const ONE = '0101010101010101'
const TWO = '0202020202020202'

let nowMs: number
let written: (readonly DeviceSighting[])[]
let logged: string[]
let recordSeen: (sightings: readonly DeviceSighting[], isUrgent: boolean) => Promise<void>
let sightings: DeviceSightings

beforeEach(() => {
  nowMs = 1_700_000_000_000
  written = []
  logged = []
  recordSeen = async (batch) => void written.push(batch)
  const note = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Logger = {
    ...silentLogger,
    warn: note,
    error: (fields, message) => note({ ...fields, error: undefined }, message),
  }
  sightings = new DeviceSightings({
    recordSeen: (batch, isUrgent) => recordSeen(batch, isUrgent),
    clock: { now: () => nowMs, steady: () => nowMs as SteadyMs },
    log,
  })
})

/** Each topic has one object, whoever observes its events. */
const topics = new Map<string, Topic>()

function see(devEui: string, kind: PublishedEventKind = 'up', payload: object = {}, ownedAtMs = 0): void {
  nowMs += 1
  const topicName = eventTopic('5', devEui, kind)
  const topic = topics.get(topicName) ?? new Topic(topicName)
  topics.set(topicName, topic)
  sightings.observe({ topic, topicName, payload: Buffer.from(JSON.stringify(payload)), ownedAtMs })
}

const devEuiOf = (number: number): string => number.toString(16).padStart(16, '0')

/** A write that ends when the test says so. */
function heldWrite() {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  recordSeen = (batch) => {
    written.push(batch)
    begun.resolve()
    return promise
  }
  return { begun: begun.promise, resolve, reject }
}

describe('the sightings of devices', () => {
  it('are one write for all devices, in the order of their DevEUIs, each with its newest state', async () => {
    see(TWO)
    see(ONE, 'status', { margin: 7, batteryLevel: 81.5, externalPowerSource: false, batteryLevelUnavailable: false })
    see(TWO, 'join')
    see(ONE, 'status', { margin: -3 })
    see(ONE)
    await sightings.flush()
    assert.deepEqual(written, [
      [
        {
          devEui: ONE,
          lastSeenAtMs: nowMs,
          margin: -3,
          batteryLevel: 81.5,
          externalPowerSource: false,
          lowBattery: false,
        },
        { devEui: TWO, lastSeenAtMs: nowMs - 2 },
      ],
    ])
  })

  it('come from events alone that the device itself caused', async () => {
    see(ONE, 'error')
    see(ONE, 'txack')
    see(ONE, 'ack', { acknowledged: false })
    const payload = Buffer.from('{}')
    for (const topicName of [commandTopic('5', ONE), 'anything', `application/5/device/${ONE}/event/other`]) {
      sightings.observe({ topic: new Topic(topicName), topicName, payload, ownedAtMs: 0 })
    }
    await sightings.flush()
    assert.deepEqual(written, [])
  })

  it('tell what uplinks teach: of a busy device one uplink is read, and all are counted', async () => {
    let fCnt = 0
    for (let minute = 0; minute < 3; minute += 1) {
      // A tenth of the frames does not arrive.
      for (let uplink = 0; uplink < 27; uplink += 1) {
        fCnt += uplink % 9 === 0 ? 2 : 1
        see(ONE, 'up', { fCnt, rxInfo: [{ rssi: -60, snr: 9 }] })
      }
      nowMs += 60_000
      await sightings.flush()
    }
    see(ONE, 'up', { fCnt: fCnt + 2, rxInfo: [{ rssi: -61, snr: 8 }] })
    nowMs += 60_000
    await sightings.flush()
    const newest = written.at(-1)?.[0]
    assert.deepEqual([newest?.rssi, newest?.snr, newest?.losingFrames], [-61, 8, true])
    assert.equal(newest?.lossPercent, 10)
    sightings.forgetLearned(ONE)
    nowMs += 60_000
    await sightings.flush()
    see(ONE, 'up', { fCnt: fCnt + 20 })
    await sightings.flush()
    assert.deepEqual(written.at(-1), [{ devEui: ONE, lastSeenAtMs: nowMs }])
  })

  it('do not come from the service’s own event of a state', async () => {
    const topicName = eventTopic('5', ONE, 'state')
    sightings.observe({ topic: new Topic(topicName), topicName, payload: Buffer.from('{}'), ownedAtMs: 0 })
    await sightings.flush()
    assert.deepEqual(written, [])
  })

  it('are not written again without a new event', async () => {
    see(ONE)
    await sightings.flush()
    await sightings.flush()
    assert.equal(written.length, 1)
  })

  it('of a device that keeps sending are one write a minute, with the newest', async () => {
    see(ONE)
    await sightings.flush()
    const firstMs = nowMs
    for (let second = 5; second < 60; second += 5) {
      nowMs = firstMs + second * 1000 - 1
      see(ONE)
      await sightings.flush()
    }
    assert.equal(written.length, 1)
    const lastMs = nowMs
    nowMs = firstMs + 60_000
    await sightings.flush()
    assert.deepEqual(written[1], [{ devEui: ONE, lastSeenAtMs: lastMs }])
  })

  it('of a device that was silent for a minute are in the next write again', async () => {
    see(ONE)
    await sightings.flush()
    nowMs += 60_000
    await sightings.flush()
    see(ONE)
    await sightings.flush()
    assert.deepEqual(written, [[{ devEui: ONE, lastSeenAtMs: nowMs - 60_001 }], [{ devEui: ONE, lastSeenAtMs: nowMs }]])
  })

  it('that somebody may have asked for are in the next write, with what came before them', async () => {
    see(ONE)
    await sightings.flush()
    see(ONE)
    await sightings.flush()
    see(ONE, 'status', { margin: 7 })
    see(ONE)
    await sightings.flush()
    assert.deepEqual(written[1], [{ devEui: ONE, lastSeenAtMs: nowMs, margin: 7 }])
    see(ONE)
    nowMs += 59_998
    await sightings.flush()
    assert.equal(written.length, 2)
    nowMs += 1
    await sightings.flush()
    assert.equal(written.length, 3)
  })

  it('have one write under way at most; those that come meanwhile wait for the next', async () => {
    const write = heldWrite()
    see(ONE)
    const first = sightings.flush()
    await write.begun
    see(TWO)
    const second = sightings.flush()
    assert.equal(written.length, 1)
    write.resolve()
    await Promise.all([first, second])
    assert.equal(written.length, 1)
    await sightings.flush()
    assert.deepEqual(
      written.map((batch) => batch.map(({ devEui }) => devEui)),
      [[ONE], [TWO]],
    )
  })

  it('are tried once more after a failure, which is logged, and then given up', async () => {
    recordSeen = async (batch) => {
      written.push(batch)
      throw new Error('the disk is full')
    }
    see(ONE)
    await sightings.flush()
    see(TWO)
    await sightings.flush()
    await sightings.flush()
    await sightings.flush()
    assert.deepEqual(
      written.map((batch) => batch.map(({ devEui }) => devEui)),
      [[ONE], [ONE], [TWO], [TWO]],
    )
    assert.deepEqual(logged, [
      'device_sightings.write_failed {"devices":1,"isRetry":false}',
      'device_sightings.write_failed {"devices":1,"isRetry":true}',
      'device_sightings.write_failed {"devices":1,"isRetry":false}',
      'device_sightings.write_failed {"devices":1,"isRetry":true}',
    ])
  })

  it('are no more than 10,000 in one write; the others follow in their order', async () => {
    for (let number = 20_000; number >= 0; number -= 1) see(devEuiOf(number))
    await sightings.flush()
    await sightings.flush()
    await sightings.flush()
    assert.deepEqual(
      written.map((batch) => [batch.length, batch[0]?.devEui]),
      [
        [10_000, devEuiOf(10_001)],
        [10_000, devEuiOf(1)],
        [1, devEuiOf(0)],
      ],
    )
  })

  it('of 200,000 devices are written at once to make room, and what a slow write leaves no room for is passed over', async () => {
    const startMs = nowMs
    const write = heldWrite()
    for (let number = 0; number < 200_003; number += 1) {
      nowMs = startMs
      see(devEuiOf(number))
    }
    await write.begun
    // A device that already waits takes no further room.
    see(devEuiOf(199_999))
    write.resolve()
    await sightings.flush()
    assert.deepEqual(logged, ['device_sightings.passed_over {"events":3}'])
    see(devEuiOf(200_000))
    for (let writes = 0; writes < 20; writes += 1) await sightings.flush()
    const devEuis = new Set(written.flatMap((batch) => batch.map(({ devEui }) => devEui)))
    assert.equal(devEuis.size, 200_001)
    assert.equal(written.at(-1)?.at(-1)?.devEui, devEuiOf(200_000))
  })

  it('are all written at the end, after the write that is under way, and with another try', async () => {
    const write = heldWrite()
    see(ONE)
    void sightings.flush()
    await write.begun
    see(ONE)
    see(TWO)
    const closed = sightings.close()
    recordSeen = async (batch) => {
      written.push(batch)
      if (written.length === 2) throw new Error('busy')
    }
    write.resolve()
    await closed
    assert.deepEqual(
      written.map((batch) => batch.map(({ devEui }) => devEui)),
      [[ONE], [ONE, TWO], [ONE, TWO]],
    )
  })
})

describe('a write of sightings', () => {
  it('is urgent only at the end, so that it does not hold up the messages', async () => {
    const urgent: boolean[] = []
    recordSeen = async (_batch, isUrgent) => void urgent.push(isUrgent)
    see(ONE)
    await sightings.flush()
    see(TWO)
    await sightings.close()
    assert.deepEqual(urgent, [false, true])
  })
})

describe('a topic that holds its device', () => {
  it('finds a device anew that was forgotten after a silent minute', async () => {
    see(ONE)
    await sightings.flush()
    nowMs += 60_000
    // The rest is over, and nothing waits: the device is forgotten.
    await sightings.flush()
    assert.equal(sightings.heardAtMs(ONE), undefined)
    see(ONE)
    assert.equal(sightings.heardAtMs(ONE), nowMs)
    await sightings.flush()
    assert.deepEqual(written.at(-1), [{ devEui: ONE, lastSeenAtMs: nowMs }])
    assert.equal(written.length, 2)
  })

  it('tells each service of its own', async () => {
    see(ONE)
    const first = sightings
    sightings = new DeviceSightings({
      recordSeen: async () => {},
      clock: { now: () => nowMs, steady: () => nowMs as SteadyMs },
      log: silentLogger,
    })
    see(ONE)
    assert.equal(sightings.heardAtMs(ONE), nowMs)
    assert.equal(first.heardAtMs(ONE), nowMs - 1)
    see(ONE, 'up', {}, 1_800_000_000_000)
    assert.equal(sightings.heardAtMs(ONE), 1_800_000_000_000, 'the log says when it took the event')
  })
})
