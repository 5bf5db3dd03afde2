import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Logger } from '../../logger.ts'
import { encodePacket } from '../../mqtt/encode-packet.ts'
import type { PublishPacket } from '../../mqtt/packet.ts'
import type { SteadyMs } from '../../clock.ts'
import { ManualClock, TestPermit, connectPacket, createHarness } from '../../../test/support/broker-harness.ts'
import type { TestClient } from '../../../test/support/broker-harness.ts'
import { payloads } from '../../../test/conformance/both-versions.ts'
import { ALLOWED } from '../ports/policy.ts'

/** A clock on which each permitted PUBLISH takes a time. */
class WorkClock extends ManualClock {
  workedMs = 0

  override now(): number {
    return super.now() + this.workedMs
  }

  override steady(): SteadyMs {
    return (super.steady() + this.workedMs) as SteadyMs
  }
}

/** Sends PUBLISH packets in one chunk. */
function publishTogether(client: TestClient, count: number, fields: Partial<PublishPacket> = {}): void {
  const packet = {
    type: 'publish',
    topicName: 'a',
    payload: Buffer.from('x'),
    qos: 0,
    retain: false,
    dup: false,
    packetId: 0,
    ...fields,
  } as const
  client.sendBytes(Buffer.concat(Array.from({ length: count }, () => encodePacket(packet, 5))))
}

/** A tenant `flooder`, whose PUBLISH packets take 1 ms each, beside others that take no time. */
async function createScene() {
  const clock = new WorkClock()
  const logged: { readonly message: string; readonly fields: Record<string, unknown> }[] = []
  const note = (fields: Record<string, unknown>, message: string): void => void logged.push({ message, fields })
  const log: Logger = { debug: note, info: note, warn: note, error: note }
  const harness = await createHarness({
    clock,
    log,
    limits: { maximumPublishesPerSecondPerTenant: 1_000, maximumConnectsPerSecondPerTenant: 1 },
  })
  const published: string[] = []
  harness.policy.admit = ({ userName }) => {
    const [tenant = '', identity = 'user', account] = (userName ?? '').split('/')
    const permit = new TestPermit(tenant, identity)
    permit.account = account
    permit.publish = () => {
      if (tenant === 'flooder') clock.workedMs += 1
      published.push(tenant)
      return ALLOWED
    }
    return { allowed: true, permit }
  }
  /** The tenants whose messages were read since the last call, and how many of each. */
  const read = (): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const tenant of published.splice(0)) counts[tenant] = (counts[tenant] ?? 0) + 1
    return counts
  }
  return { ...harness, clock, read, logged }
}

describe('the connections of an account', () => {
  it('are read for a slice in a turn, and the rest waits; another tenant is read at once', async () => {
    const { connect, read } = await createScene()
    const flooders = [await connect({ userName: 'flooder' }), await connect({ userName: 'flooder' })]
    const neighbour = await connect({ userName: 'neighbour' })
    for (const flooder of flooders) publishTogether(flooder, 40)
    publishTogether(neighbour, 40)
    assert.deepEqual(read(), { flooder: 8, neighbour: 40 })
    let turns = 0
    for (let count = 8; count < 80; turns += 1) {
      await setImmediate()
      publishTogether(neighbour, 1)
      const { flooder = 0, neighbour: ofNeighbour } = read()
      assert.equal(ofNeighbour, 1)
      assert.ok(flooder <= 8, `${flooder} in a turn`)
      count += flooder
    }
    // Eight packets took four slices: the account waits for as many turns.
    assert.ok(turns >= 30, `${turns} turns`)
  })

  it('keep their order while they wait, and lose nothing', async () => {
    const { connect } = await createScene()
    const reader = await connect({ userName: 'flooder/reader' })
    await reader.subscribe('a', { qos: 1 })
    const flooder = await connect({ userName: 'flooder' })
    for (let number = 1; number <= 50; number += 1) flooder.publish('a', String(number), { qos: 1 })
    const received: string[] = []
    while (received.length < 50) {
      await setImmediate()
      received.push(...(await payloads(reader)))
    }
    assert.deepEqual(
      received,
      Array.from({ length: 50 }, (_, index) => String(index + 1)),
    )
  })

  it('hold no more than a buffer of each connection while they wait', async () => {
    const { connect } = await createScene()
    const flooder = await connect({ userName: 'flooder' })
    publishTogether(flooder, 10)
    for (let chunks = 0; chunks < 5; chunks += 1) publishTogether(flooder, 1, { payload: Buffer.alloc(16_000) })
    assert.equal(flooder.transport.paused, true)
    while (flooder.transport.paused) await setImmediate()
  })

  it('are forgotten where they end while they wait', async () => {
    const { connect, read } = await createScene()
    const [one, two] = [await connect({ userName: 'flooder' }), await connect({ userName: 'flooder' })]
    for (const client of [one, two]) publishTogether(client, 8)
    two.drop()
    one.drop()
    for (let turns = 0; turns < 20; turns += 1) await setImmediate()
    assert.deepEqual(read(), { flooder: 8 })
  })

  it('are those of one network server of the deployment, and not of all of them', async () => {
    const { connect, read } = await createScene()
    const one = await connect({ userName: 'flooder/one/account-one' })
    const two = await connect({ userName: 'flooder/two/account-two' })
    for (const client of [one, two]) publishTogether(client, 16)
    assert.deepEqual(read(), { flooder: 16 }, 'eight of each')
  })
})

describe('the rates of an account', () => {
  it('are told once a minute where they are beyond their bound', async () => {
    const { connect, open, broker, clock, logged } = await createScene()
    const told = (message: string): number => logged.filter((line) => line.message === message).length
    const client = await connect({ userName: 'quick' })
    for (let second = 0; second < 61; second += 1) {
      publishTogether(client, 1_000)
      clock.advance(broker, 1)
      await setImmediate()
    }
    assert.equal(told('publish.over_rate'), 2)
    assert.ok(broker.counters.secondsOverRate >= 60)
    for (let count = 0; count < 20; count += 1) {
      const late = open()
      late.send(connectPacket({ userName: 'quick', clientId: `late-${count}` }))
      await late.next('connack')
    }
    assert.equal(told('connect.over_rate'), 1)
    assert.equal(broker.refusals.get('connect:connection_rate'), 10)
  })

  it('let an account beyond a rate go on in small portions', async () => {
    const { connect, clock, read } = await createScene()
    const client = await connect({ userName: 'quick' })
    publishTogether(client, 150)
    assert.deepEqual(read(), { quick: 104 }, 'a tenth of a second, and the packets until the next look')
    clock.workedMs += 10
    for (let turns = 0; turns < 4; turns += 1) await setImmediate()
    assert.deepEqual(read(), { quick: 8 }, 'ten were paid back, four of them were owed')
    clock.workedMs += 990
    for (let turns = 0; turns < 40; turns += 1) await setImmediate()
    assert.deepEqual(read(), { quick: 38 })
  })

  it('are shown as averages over the last seconds, and fade when nothing comes', async () => {
    const { connect, broker, clock } = await createScene()
    const client = await connect({ userName: 'shown' })
    for (let second = 0; second < 10; second += 1) {
      publishTogether(client, 10)
      clock.advance(broker, 1)
      await setImmediate()
    }
    const { connections, publishesPerSecond, publishedBytesPerSecond } = broker.usageOf('shown')
    assert.deepEqual([connections, publishesPerSecond, publishedBytesPerSecond], [1, 10, 70])
    clock.advance(broker, 10)
    assert.equal(broker.usageOf('shown').publishesPerSecond, 0)
    assert.ok(Object.values(broker.usageOf('unknown')).every((used) => used === 0))
  })
})
