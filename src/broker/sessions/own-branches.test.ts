/** Subscriptions to all branches of topics that a tenant owns, with a hostile tenant beside it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, TestPolicy, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { TestReach } from '../../../test/support/test-reach.ts'

const ALL = 'application/+/device/+/event/+'
const KEPT = { clientId: 'reader', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const

class ReachPolicy extends TestPolicy {
  readonly reach = new TestReach()
}

interface Bench extends Harness {
  readonly reach: TestReach
  /** Publishes an event of the application; resolves when it is owned. */
  readonly publish: (
    applicationId: string,
    payload: string,
    fields?: { qos?: 0 | 1; retain?: boolean },
  ) => Promise<void>
}

async function bench(clock = new ManualClock(), engine = new SurvivingEngine({ clock })): Promise<Bench> {
  const policy = new ReachPolicy()
  const harness = await createHarness({ engine, clock, policy })
  const server = await harness.connect({ clientId: 'server', userName: 'deployment/server' })
  const publish: Bench['publish'] = async (applicationId, payload, { qos = 1, retain = false } = {}) => {
    server.publish(`application/${applicationId}/device/0102030405060708/event/up`, payload, { qos, retain })
    if (qos === 1) await server.next('puback')
    else await server.sync()
  }
  return { ...harness, clock, reach: policy.reach, publish }
}

/** The payloads of so many messages, which are acknowledged. Nothing comes behind them. */
async function received(client: TestClient, count: number): Promise<readonly string[]> {
  const payloads: string[] = []
  while (payloads.length < count) {
    const { payload, qos, packetId } = await client.next('publish')
    payloads.push(payload.toString())
    if (qos > 0) client.acknowledge('puback', packetId)
  }
  assert.deepEqual(await client.sync(), [])
  return payloads
}

describe('a subscription to all own branches', () => {
  it('brings the events of the tenant’s branches, and no others, at each QoS', async () => {
    const { connect, reach, publish } = await bench()
    reach.add('acme', '1')
    reach.add('zenith', '2')
    const [acme, zenith] = [await connect({ userName: 'acme' }), await connect({ userName: 'zenith' })]
    await acme.subscribe(ALL, { qos: 1 })
    await zenith.subscribe(ALL, { qos: 0 })
    for (const applicationId of ['1', '2', '3']) {
      await publish(applicationId, `${applicationId} stored`)
      await publish(applicationId, `${applicationId} passing`, { qos: 0 })
    }
    assert.deepEqual(await received(acme, 2), ['1 stored', '1 passing'])
    assert.deepEqual(await received(zenith, 2), ['2 stored', '2 passing'])
  })

  it('is one delivery together with a subscription to one branch', async () => {
    const { connect, reach, publish } = await bench()
    reach.add('acme', '1')
    const acme = await connect({ userName: 'acme' })
    await acme.subscribe(ALL, { qos: 0 })
    await acme.subscribe('application/1/device/+/event/+', { qos: 1 })
    await publish('1', 'once')
    assert.deepEqual(await received(acme, 1), ['once'])
    acme.send({ type: 'unsubscribe', packetId: 9, topicFilters: [ALL] })
    await acme.next('unsuback')
    await publish('1', 'by the branch')
    assert.deepEqual(await received(acme, 1), ['by the branch'])
  })

  it('follows branches that come, go, and belong to another tenant then', async () => {
    const { connect, reach, publish } = await bench()
    const [acme, zenith] = [await connect({ userName: 'acme' }), await connect({ userName: 'zenith' })]
    await acme.subscribe(ALL, { qos: 1 })
    await zenith.subscribe(ALL, { qos: 1 })
    await publish('1', 'nobody’s')
    reach.add('acme', '1')
    await publish('1', 'acme’s')
    reach.remove('acme', '1')
    reach.add('zenith', '1')
    await publish('1', 'zenith’s')
    assert.deepEqual(await received(acme, 1), ['acme’s'])
    assert.deepEqual(await received(zenith, 1), ['zenith’s'])
  })

  it('of a Session that was away brings what its branches got, since they are the tenant’s', async () => {
    const clock = new ManualClock()
    const engine = new SurvivingEngine({ clock })
    const first = await bench(clock, engine)
    first.reach.add('acme', '1')
    first.reach.add('zenith', '2')
    const reader = await first.connect({ ...KEPT, userName: 'acme' })
    await reader.subscribe(ALL, { qos: 1 })
    reader.drop()
    await first.publish('1', 'own')
    await first.publish('2', 'foreign')
    await first.publish('3', 'of an earlier owner')
    clock.advance(first.broker, 60)
    first.reach.add('acme', '3', clock.now())
    await first.publish('3', 'gained')
    const again = await first.connect({ ...KEPT, userName: 'acme' })
    assert.deepEqual((await received(again, 2)).toSorted(), ['gained', 'own'])
    again.drop()
    await first.publish('1', 'after a crash')
    await first.publish('2', 'foreign')
    const second = await bench(clock, engine)
    second.reach.add('acme', '1')
    second.reach.add('acme', '3', clock.now())
    second.reach.add('zenith', '2')
    const third = await second.connect({ ...KEPT, userName: 'acme' })
    assert.equal(third.sessionPresent, true)
    assert.deepEqual(second.reach.waited, ['acme'], 'the branches were there before the Session')
    // The acknowledgements of the last moments before the crash are lost.
    const last = (await received(third, 3)).toSorted()
    assert.deepEqual(last, ['after a crash', 'gained', 'own'])
    await second.publish('1', 'live')
    await second.publish('2', 'foreign')
    assert.deepEqual(await received(third, 1), ['live'])
  })

  it('gets retained messages of its branches, since they are the tenant’s', async () => {
    const { connect, reach, publish, clock } = await bench()
    reach.add('acme', '1')
    reach.add('zenith', '2')
    await publish('1', 'retained', { retain: true })
    await publish('2', 'foreign', { retain: true })
    await publish('3', 'of an earlier owner', { retain: true })
    reach.add('acme', '3', clock.now() + 1)
    const acme = await connect({ userName: 'acme' })
    await acme.subscribe(ALL, { qos: 1 })
    assert.deepEqual(await received(acme, 1), ['retained'])
  })

  it('can be shared, and is another group than that of another tenant', async () => {
    const { connect, reach, publish } = await bench()
    reach.add('acme', '1')
    reach.add('zenith', '2')
    const members = [
      await connect({ userName: 'acme/one' }),
      await connect({ userName: 'acme/two' }),
      await connect({ userName: 'zenith' }),
    ]
    for (const member of members) await member.subscribe(`$share/group/${ALL}`, { qos: 1 })
    for (const payload of ['a', 'b', 'c', 'd']) {
      await publish('1', payload)
      await publish('2', `foreign ${payload}`)
    }
    const [one = [], two = [], foreign = []] = await Promise.all(
      members.map((member, index) => received(member, index === 2 ? 4 : 2)),
    )
    assert.deepEqual([...one, ...two].toSorted(), ['a', 'b', 'c', 'd'])
    assert.deepEqual([one.length, two.length], [2, 2])
    assert.deepEqual(foreign, ['foreign a', 'foreign b', 'foreign c', 'foreign d'])
  })

  it('brings stored events on demand, and none of other tenants', async () => {
    const { connect, reach, publish, clock, broker } = await bench()
    reach.add('acme', '1')
    reach.add('zenith', '2')
    await publish('1', 'older')
    await publish('2', 'foreign')
    await publish('3', 'of an earlier owner')
    clock.advance(broker, 60)
    reach.add('acme', '3', clock.now())
    await publish('3', 'gained')
    const acme = await connect({ userName: 'acme' })
    await acme.subscribe(`$replay/2020-01-01T00:00:00Z/${ALL}`, { qos: 1 })
    assert.deepEqual((await received(acme, 2)).toSorted(), ['gained', 'older'])
  })
})
