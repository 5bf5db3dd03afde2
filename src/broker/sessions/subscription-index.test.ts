/** Equal Topic Filters share their text, in one process and after a restart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { Topic } from '../../mqtt/topic.ts'
import { SubscriptionIndex } from './subscription-index.ts'
import type { Session, Subscription } from './session.ts'
import type { SharedGroup } from './shared-group.ts'

const KEPT = { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const
const FILTERS = ['a/+/a level that is long', '$share/name/a/+/a level that is long']

test('the index answers the text of an equal Topic Filter that a Session has', () => {
  const index = new SubscriptionIndex(4)
  assert.equal(index.textOf('a/b'), undefined)
  index.addSession('a/b', { connection: undefined } as Session, { topicFilter: 'the text' } as Subscription)
  assert.equal(index.textOf('a/b'), 'the text')
  assert.equal(index.textOf('a'), undefined)
  assert.equal(index.textOf('a/b/c'), undefined)
})

test('a Topic Filter of several Sessions matches for each of them, before and after a restart', async () => {
  const engine = new SurvivingEngine()
  const first = await createHarness({ engine })
  for (const clientId of ['one', 'two']) {
    const client = await first.connect({ ...KEPT, clientId })
    for (const topicFilter of FILTERS) await client.subscribe(topicFilter, { qos: 1 })
    client.drop()
  }
  await receives(first)
  await receives(await createHarness({ engine }))
})

async function receives({ connect, broker }: Harness): Promise<void> {
  assert.equal(broker.counters.subscriptions, 4)
  const clients = [await connect({ ...KEPT, clientId: 'one' }), await connect({ ...KEPT, clientId: 'two' })]
  const publisher = await connect()
  publisher.publish('a/b/a level that is long', 'text', { qos: 1 })
  for (const client of clients) {
    const { packetId } = await client.next('publish')
    client.acknowledge('puback', packetId)
    for (const packet of await client.sync()) {
      if (packet.type === 'publish') client.acknowledge('puback', packet.packetId)
    }
    await client.sync()
    client.drop()
  }
}

test('a topic that was routed before learns of each change of its readers, and each index has its own', () => {
  const subscription = { qos: 0, subscriptionIdentifiers: undefined } as Subscription
  const [one, two] = [new SubscriptionIndex(4), new SubscriptionIndex(4)]
  const topic = new Topic('a/b/c')
  const again = new Topic('a/b/c')
  const readers = (index: SubscriptionIndex, of = topic): number => index.route(of).targets.length
  const [first, second] = [{ connection: {} } as Session, { connection: {} } as Session]
  assert.deepEqual([readers(one), readers(two)], [0, 0])
  one.addSession('a/b/+', first, subscription)
  assert.deepEqual([readers(one), readers(two), readers(one, again)], [1, 0, 1])
  one.addSession('+/b/#', second, subscription)
  two.addSession('a/b/c', second, subscription)
  assert.deepEqual([readers(one), readers(two), readers(one, again)], [2, 1, 2])
  one.removeSession('a/b/+', first)
  assert.deepEqual([readers(one), readers(two), readers(one, again)], [1, 1, 1])
  const resting = second as { connection: unknown }
  resting.connection = undefined
  one.touch('tenant', '+/b/#')
  assert.deepEqual([readers(one), one.route(topic).asleep], [0, true])
})

test('a topic keeps no reader once the index has forgotten its route', () => {
  const index = new SubscriptionIndex(4)
  index.addSession('a/b', { connection: {} } as Session, { qos: 0 } as Subscription)
  const topic = new Topic('a/b')
  const keepsRoute = (): boolean => (topic.readers as { readonly route: unknown }).route !== undefined
  assert.equal(index.route(topic).targets.length, 1)
  assert.ok(keepsRoute())
  for (let number = 0; number < 262_144; number += 1) index.route(new Topic(`flood/${number}`))
  assert.ok(!keepsRoute())
  assert.equal(index.route(topic).targets.length, 1)
})

test('topics of a branch share a route where they have the same readers in the same way', () => {
  const index = new SubscriptionIndex(4)
  const subscription = { qos: 0, subscriptionIdentifiers: undefined } as Subscription
  const [first, second] = [{ connection: {} } as Session, { connection: {} } as Session]
  index.addSession('a/b/+', first, subscription)
  index.addSession('a/b/loud', second, subscription)
  index.addSession('a/b/named', first, { ...subscription, subscriptionIdentifiers: [7] })
  index.addSession('a/b/sure', first, { ...subscription, qos: 1 })
  index.addGroup({ tenant: 'tenant', topicFilter: 'a/b/shared' } as SharedGroup)
  const route = index.route(new Topic('a/b/one'))
  assert.equal(index.route(new Topic('a/b/two')), route)
  const others = ['a/b/loud', 'a/b/named', 'a/b/sure', 'a/b/shared', 'a/b', 'b/b/one']
  const all = others.map((name) => index.route(new Topic(name)))
  assert.equal(new Set([route, ...all]).size, others.length + 1)
  index.removeSession('a/b/+', first)
  index.addSession('a/b/+', second, subscription)
  const later = index.route(new Topic('a/b/one'))
  assert.deepEqual(
    later.targets.map(({ session }) => session === second),
    [true],
  )
  assert.equal(index.route(new Topic('a/b/two')), later)
})
