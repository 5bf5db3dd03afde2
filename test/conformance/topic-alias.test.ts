import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import { everything, expectEnd, lasting, payloads, publishFully } from './both-versions.ts'

describe('a Topic Alias of a client', () => {
  test('stands for its Topic Name, may be given anew, and all up to the maximum serve [MQTT-3.3.2-12]', async () => {
    const { connect } = await createHarness({ limits: { topicAliasMaximum: 5 } })
    const watcher = await connect()
    await watcher.subscribe('#', { qos: 2 })
    const client = await connect()
    assert.equal(client.connack?.properties?.topicAliasMaximum, 5)
    for (let topicAlias = 1; topicAlias <= 5; topicAlias += 1)
      await publishFully(client, `t/${topicAlias}`, 'x', { properties: { topicAlias } })
    for (let topicAlias = 5; topicAlias >= 1; topicAlias -= 1)
      await publishFully(client, '', 'y', { qos: 1, properties: { topicAlias } })
    await publishFully(client, 'new', 'z', { qos: 2, properties: { topicAlias: 3 } })
    await publishFully(client, '', 'z', { qos: 2, properties: { topicAlias: 3 } })
    const names = (await everything(watcher)).map((packet) =>
      packet.type === 'publish' ? packet.topicName : packet.type,
    )
    assert.deepEqual(names, ['t/1', 't/2', 't/3', 't/4', 't/5', 't/5', 't/4', 't/3', 't/2', 't/1', 'new', 'new'])
  })

  test('is its own: no other connection knows it, nor its own next one [MQTT-3.3.2-7]', async () => {
    const { connect } = await createHarness()
    const client = await connect(lasting(5, 'c'))
    await publishFully(client, 'a', 'x', { properties: { topicAlias: 1 } })
    const other = await connect()
    other.publish('', 'x', { properties: { topicAlias: 1 } })
    await expectEnd(other, 0x82)
    client.drop()
    const back = await connect(lasting(5, 'c'))
    back.publish('', 'x', { properties: { topicAlias: 1 } })
    await expectEnd(back, 0x82)
  })

  test('that is 0, above the maximum or not known ends the connection [MQTT-3.3.2-8] [MQTT-3.3.2-9] [MQTT-3.2.2-17] [MQTT-3.2.2-18]', async () => {
    for (const [topicAliasMaximum, topicName, topicAlias, reasonCode] of [
      [5, 'a', 0, 0x82],
      [5, 'a', 6, 0x94],
      [5, '', 6, 0x94],
      [5, '', 5, 0x82],
      [0, 'a', 1, 0x94],
    ] as const) {
      const { connect } = await createHarness({ limits: { topicAliasMaximum } })
      const client = await connect()
      client.publish(topicName, 'x', { properties: { topicAlias } })
      await expectEnd(client, reasonCode)
    }
  })

  test('is not passed on to subscribers', async () => {
    const { connect } = await createHarness()
    const subscriber = await connect()
    await subscriber.subscribe('a')
    const client = await connect()
    await publishFully(client, 'a', 'x', { properties: { topicAlias: 1, contentType: 't' } })
    await publishFully(client, '', 'x', { properties: { topicAlias: 1 } })
    assert.deepEqual({ ...(await subscriber.next('publish')).properties }, { contentType: 't' })
    const second = await subscriber.next('publish')
    assert.deepEqual([second.topicName, second.properties?.topicAlias], ['a', undefined])
  })

  test('of a Topic Name that is beyond the limits, or may not be published to, dodges no check', async () => {
    const { connect, policy } = await createHarness({ limits: { maximumTopicBytes: 10 } })
    const client = await connect()
    client.publish('x'.repeat(11), 'x', { qos: 1, properties: { topicAlias: 1 } })
    assert.equal((await client.next('puback')).reasonCode, 0x90)
    const permit = policy.permits[0]
    assert.ok(permit)
    permit.publish = (topicName) =>
      topicName === 'mine'
        ? { allowed: true }
        : { allowed: false, reasonCode: 0x87, reason: '', code: 'no', untold: 'close' }
    client.publish('theirs', 'x', { qos: 1, properties: { topicAlias: 2 } })
    assert.equal((await client.next('puback')).reasonCode, 0x87)
    client.publish('', 'x', { qos: 1, properties: { topicAlias: 2 } })
    assert.equal((await client.next('puback')).reasonCode, 0x87)
    client.publish('', 'x', { qos: 1, properties: { topicAlias: 1 } })
    await expectEnd(client, 0x82)
  })
})

describe('a Topic Alias of the server', () => {
  test('is sent up to the maximum of the client, and never to who named none or 0 [MQTT-3.1.2-26] [MQTT-3.1.2-27] [MQTT-3.3.2-11] [MQTT-3.3.2-8]', async () => {
    for (const topicAliasMaximum of [undefined, 0, 2, 65_535]) {
      const { connect } = await createHarness({ limits: { outgoingTopicAliasMaximum: 3 } })
      const client = await connect({ properties: { topicAliasMaximum } })
      await client.subscribe('#', { qos: 1 })
      const publisher = await connect()
      const names = ['a', 'b', 'c', 'd']
      for (let round = 0; round < 3; round += 1)
        for (const topicName of names) await publishFully(publisher, topicName, 'x', { qos: (round % 2) as 0 | 1 })
      const known = new Map<number, string>()
      for (let round = 0; round < 3; round += 1) {
        for (const expected of names) {
          const { topicName, properties } = await client.next('publish')
          const alias = properties?.topicAlias
          if (alias !== undefined) {
            assert.ok(alias >= 1 && alias <= Math.min(topicAliasMaximum ?? 0, 3))
            if (topicName !== '') known.set(alias, topicName)
          }
          assert.equal(topicName === '' ? known.get(alias ?? 0) : topicName, expected)
        }
      }
      assert.equal(known.size, Math.min(topicAliasMaximum ?? 0, 3))
    }
  })

  test('is given anew on each connection, also to what is sent again [MQTT-3.3.2-7]', async () => {
    const { connect } = await createHarness()
    const fields = { ...lasting(5, 'c'), properties: { sessionExpiryIntervalSeconds: 100, topicAliasMaximum: 9 } }
    const first = await connect(fields)
    await first.subscribe('a', { qos: 1 })
    const publisher = await connect()
    for (const payload of ['1', '2']) await publishFully(publisher, 'a', payload, { qos: 1 })
    assert.equal((await first.next('publish')).topicName, 'a')
    assert.equal((await first.next('publish')).topicName, '')
    first.drop()
    const second = await connect(fields)
    const again = [await second.next('publish'), await second.next('publish')]
    assert.deepEqual(
      again.map(({ topicName }) => topicName),
      ['a', ''],
    )
    assert.deepEqual(
      again.map(({ properties }) => properties?.topicAlias),
      [1, 1],
    )
    second.drop()
    const third = await connect(lasting(5, 'c'))
    assert.equal((await third.next('publish')).topicName, 'a')
    assert.equal((await third.next('publish')).topicName, 'a')
  })

  test('is not taken for known when the PUBLISH that gave it was too large to be sent [MQTT-3.1.2-25]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { topicAliasMaximum: 9, maximumPacketSizeBytes: 30 } })
    await client.subscribe('#')
    const publisher = await connect()
    await publishFully(publisher, 'a', 'x'.repeat(40))
    await publishFully(publisher, 'a', 'small')
    const message = await client.next('publish')
    assert.deepEqual([message.topicName, message.payload.toString()], ['a', 'small'])
    assert.deepEqual(await payloads(client), [])
  })
})
