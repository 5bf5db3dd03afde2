/** Permits of one owner that reach different things: their Sessions and their groups never meet. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, createHarness } from '../../../test/support/broker-harness.ts'
import type { TestClient } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'

const KEPT = { clientId: 'same', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const
const FILTER = '$share/group/application/5/device/+/event/+'
const TOPIC_NAME = 'application/5/device/0102030405060708/event/up'

async function next(client: TestClient): Promise<string> {
  const { payload, packetId } = await client.next('publish')
  client.acknowledge('puback', packetId)
  return payload.toString()
}

async function publish(client: TestClient, payload: string): Promise<void> {
  client.publish(TOPIC_NAME, payload, { qos: 1 })
  await client.next('puback')
}

describe('two circles of one owner', () => {
  it('with the same Client Identifier have two Sessions, and neither ends the other’s connection', async () => {
    const { connect } = await createHarness()
    const whole = await connect({ ...KEPT, userName: 'tenant/user' })
    const narrow = await connect({ ...KEPT, userName: 'tenant/user/ab' })
    assert.deepEqual(await whole.sync(), [])
    narrow.drop()
    const again = await connect({ ...KEPT, userName: 'tenant/user/ab' })
    assert.equal(again.sessionPresent, true)
    const other = await connect({ ...KEPT, userName: 'tenant/user/cd' })
    assert.equal(other.sessionPresent, false)
    assert.deepEqual(await whole.sync(), [])
  })

  it('share the bounds of their owner', async () => {
    const { connect, open } = await createHarness({ limits: { maximumSessionsPerIdentity: 2 } })
    await connect({ ...KEPT, userName: 'tenant/user' })
    await connect({ ...KEPT, userName: 'tenant/user/ab' })
    const third = open()
    third.send({ type: 'connect', protocolVersion: 5, keepAliveSeconds: 0, ...KEPT, userName: 'tenant/user/cd' })
    assert.equal((await third.next('connack')).reasonCode, 0x97)
  })

  it('are two groups of one share name, also after a restart, and no client can name the other’s group', async () => {
    const options = { engine: new SurvivingEngine(), clock: new ManualClock() }
    const first = await createHarness(options)
    for (const [clientId, userName] of [
      ['whole', 'tenant/user'],
      ['narrow', 'tenant/user/ab'],
    ] as const) {
      const client = await first.connect({ ...KEPT, clientId, userName })
      await client.subscribe(FILTER, { qos: 1 })
      client.drop()
    }
    const forger = await first.connect({ userName: 'tenant/other' })
    await forger.subscribe('$share/group/ab/application/5/device/+/event/+', { qos: 1 })
    const publisher = await first.connect({ userName: 'tenant/server' })
    await publish(publisher, '1')
    await publish(publisher, '2')
    assert.deepEqual(await forger.sync(), [])
    const second = await createHarness(options)
    for (const [clientId, userName] of [
      ['narrow', 'tenant/user/ab'],
      ['whole', 'tenant/user'],
    ] as const) {
      const client = await second.connect({ ...KEPT, clientId, userName })
      assert.deepEqual([await next(client), await next(client)], ['1', '2'], clientId)
      assert.deepEqual(await client.sync(), [])
    }
  })

  it('end together when their owner loses access, and the owner with a longer name stays', async () => {
    const lost: ((lost: { tenant: string; identity: string; end: never }) => void)[] = []
    const harness = await createHarness()
    const { connect, policy } = harness
    Object.assign(policy, { watchAccess: (listener: (typeof lost)[number]) => lost.push(listener) })
    const watched = await createHarness({ policy })
    const ends = [
      await watched.connect({ clientId: 'a', userName: 'tenant/user' }),
      await watched.connect({ clientId: 'b', userName: 'tenant/user/ab' }),
    ]
    const stays = await watched.connect({ clientId: 'c', userName: 'tenant/user2/ab' })
    const end = { reasonCode: 0x87, reason: 'no member', code: 'not_a_member' } as never
    for (const listener of lost) listener({ tenant: 'tenant', identity: 'user', end })
    for (const client of ends) assert.equal((await client.next('disconnect')).reasonCode, 0x87)
    assert.deepEqual(await stays.sync(), [])
    await connect()
  })
})

describe('a message in flight to a client that comes back with less rights', () => {
  it('is not sent again where the permit does not let it through any more', async () => {
    const { connect, policy } = await createHarness()
    const reader = await connect(KEPT)
    await reader.subscribe('application/5/device/+/event/+', { qos: 1 })
    const publisher = await connect()
    await publish(publisher, 'held')
    await reader.next('publish')
    reader.drop()
    const admit = policy.admit
    policy.admit = async (credentials) => {
      const admission = await admit(credentials)
      const permit = policy.permits.at(-1)
      if (permit !== undefined) permit.mayReceive = (topic) => !topic.name.includes('0102')
      return admission
    }
    const again = await connect(KEPT)
    assert.equal(again.sessionPresent, true)
    assert.deepEqual(await again.sync(), [])
    publisher.publish('application/5/device/0909090909090909/event/up', 'allowed', { qos: 1 })
    assert.equal(await next(again), 'allowed')
  })
})
