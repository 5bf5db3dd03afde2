import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'

const AWAY = { clientId: 'away', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 100 } } as const

async function publishWhileAway(harness: Harness, topicNames: readonly string[]): Promise<void> {
  const subscriber = await harness.connect(AWAY)
  await subscriber.subscribe('a/+', { qos: 1 })
  subscriber.drop()
  const publisher = await harness.connect()
  for (const [index, topicName] of topicNames.entries()) {
    publisher.publish(topicName, String(index), { qos: 1 })
    await publisher.next('puback')
  }
}

async function payloads(client: TestClient): Promise<string[]> {
  // The messages that were missed are sent after the turn of CONNACK; two exchanges are later than
  // that.
  const received = [...(await client.sync()), ...(await client.sync()), ...(await client.sync())]
  return received.map((packet) => (packet.type === 'publish' ? packet.payload.toString() : packet.type))
}

test('a Session keeps the newest messages of its bound, and the lost ones are counted', async () => {
  const harness = await createHarness({ limits: { maximumQueuedMessages: 3 } })
  await publishWhileAway(harness, ['a/1', 'a/1', 'a/1', 'a/1', 'a/1'])
  assert.deepEqual(await payloads(await harness.connect(AWAY)), ['2', '3', '4'])
  assert.equal(harness.broker.counters.publishesLost, 2)
})

test('messages that a Session did not subscribe to do not count against its bound', async () => {
  const harness = await createHarness({ limits: { maximumQueuedMessages: 3 } })
  await publishWhileAway(harness, ['a/1', 'a/b/c', 'a/1/c', 'b', 'a/1', 'a/1/c', 'a/1'])
  assert.deepEqual(await payloads(await harness.connect(AWAY)), ['0', '4', '6'])
  assert.equal(harness.broker.counters.publishesLost, 0)
})

test('the bound in bytes works likewise', async () => {
  const harness = await createHarness({ limits: { maximumQueuedBytes: 300 } })
  await publishWhileAway(harness, ['a/1', 'a/1', 'a/1', 'a/1'])
  assert.deepEqual(await payloads(await harness.connect(AWAY)), ['2', '3'])
  assert.equal(harness.broker.counters.publishesLost, 2)
})
