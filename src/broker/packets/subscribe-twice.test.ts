/** A SUBSCRIBE with the same Topic Filter many times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'

test('retained messages are looked for once when a SUBSCRIBE has the same Topic Filter many times', async () => {
  const { connect, broker } = await createHarness()
  const publisher = await connect()
  publisher.publish('a/b', 'kept', { qos: 1, retain: true })
  await publisher.next('puback')
  let looks = 0
  const match = broker.retained.match.bind(broker.retained)
  broker.retained.match = (...asked) => {
    looks += 1
    return match(...asked)
  }
  const client = await connect()
  const once = { topicFilter: 'a/#', noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  client.send({
    type: 'subscribe',
    packetId: 7,
    subscriptions: [
      { ...once, qos: 0 },
      { ...once, qos: 0 },
      { ...once, qos: 1 },
    ],
  })
  assert.deepEqual((await client.next('suback')).reasonCodes, [0, 0, 1])
  const { payload, qos } = await client.next('publish')
  assert.deepEqual([payload.toString(), qos, looks], ['kept', 1, 1])
  assert.deepEqual(await client.sync(), [])
})

test('a new subscription gets its retained messages though the SUBSCRIBE replaces it at once', async () => {
  const { connect } = await createHarness()
  const publisher = await connect()
  publisher.publish('a/b', 'kept', { qos: 1, retain: true })
  await publisher.next('puback')
  const client = await connect()
  const one = { topicFilter: 'a/#', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 1 } as const
  client.send({ type: 'subscribe', packetId: 7, subscriptions: [one, one] })
  await client.next('suback')
  assert.equal((await client.next('publish')).payload.toString(), 'kept')
  assert.deepEqual(await client.sync(), [])
})
