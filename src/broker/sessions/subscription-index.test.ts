/** Equal Topic Filters share their text, in one process and after a restart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { SubscriptionIndex } from './subscription-index.ts'
import type { Session, Subscription } from './session.ts'

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
