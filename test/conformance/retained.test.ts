import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import type { TestClient } from '../support/broker-harness.ts'
import { both, lasting, payloads, publishFully } from './both-versions.ts'

/** The retained messages that a new subscriber gets, as `topic=payload`. */
async function retainedOf(client: TestClient, topicFilter = '#'): Promise<string[]> {
  await client.subscribe(topicFilter)
  const packets = await client.sync()
  client.drop()
  return packets
    .map((packet) => (packet.type === 'publish' ? `${packet.topicName}=${packet.payload.toString()}` : packet.type))
    .toSorted()
}

describe('RETAIN from a publisher', () => {
  both(
    'takes the place of what was retained, at any QoS [MQTT-3.3.1-5] [MQTT311-3.3.1-5] [MQTT311-3.3.1-7]',
    async ({ connect, broker }, version) => {
      const publisher = await connect({ protocolVersion: version })
      for (const qos of [0, 1, 2, 0] as const) {
        await publishFully(publisher, 'a', `at ${qos}`, { qos, retain: true })
        await publisher.sync()
        const later = await connect({ protocolVersion: version })
        await later.subscribe('a', { qos: 2 })
        const message = await later.next('publish')
        assert.deepEqual([message.payload.toString(), message.qos, message.retain], [`at ${qos}`, qos, true])
        assert.equal(broker.retained.count, 1)
      }
    },
  )

  both(
    'with nothing in it is passed on, removes what was retained and is not kept [MQTT-3.3.1-6] [MQTT-3.3.1-7] [MQTT311-3.3.1-10] [MQTT311-3.3.1-11]',
    async ({ connect, broker }, version) => {
      const publisher = await connect({ protocolVersion: version })
      for (const qos of [0, 1, 2] as const) {
        const subscriber = await connect({ protocolVersion: version })
        await subscriber.subscribe('a')
        await publishFully(publisher, 'a', 'x', { qos, retain: true })
        await publishFully(publisher, 'a', '', { qos, retain: true })
        assert.deepEqual(await payloads(subscriber), ['x', ''])
        assert.deepEqual(await retainedOf(await connect()), [])
        assert.equal(broker.retained.count, 0)
        subscriber.drop()
      }
    },
  )

  both(
    'that is 0 neither keeps nor replaces nor removes [MQTT-3.3.1-8] [MQTT311-3.3.1-12]',
    async ({ connect }, version) => {
      const publisher = await connect({ protocolVersion: version })
      await publishFully(publisher, 'a', 'new', { qos: 1 })
      assert.deepEqual(await retainedOf(await connect()), [])
      await publishFully(publisher, 'a', 'kept', { qos: 1, retain: true })
      for (const payload of ['other', '']) await publishFully(publisher, 'a', payload, { qos: 1 })
      assert.deepEqual(await retainedOf(await connect()), ['a=kept'])
    },
  )
})

describe('a new subscription', () => {
  both(
    'gets what is retained at each topic that matches, with RETAIN 1, after its SUBACK [MQTT-3.3.1-9] [MQTT311-3.3.1-6] [MQTT311-3.3.1-8]',
    async ({ connect }, version) => {
      const publisher = await connect()
      for (const topicName of ['a', 'a/b', 'a/b/c', 'b', '/a', '$x/a'])
        await publishFully(publisher, topicName, '1', { retain: true })
      for (const [topicFilter, expected] of [
        ['a', ['a=1']],
        ['a/#', ['a/b/c=1', 'a/b=1', 'a=1']],
        ['+', ['a=1', 'b=1']],
        ['+/+', ['/a=1', 'a/b=1']],
        ['#', ['/a=1', 'a/b/c=1', 'a/b=1', 'a=1', 'b=1']],
        ['$x/+', ['$x/a=1']],
        ['+/b/#', ['a/b/c=1', 'a/b=1']],
        ['c', []],
      ] as const) {
        const client = await connect({ protocolVersion: version })
        assert.deepEqual(await retainedOf(client, topicFilter), expected)
      }
    },
  )

  test('gets retained messages by its Retain Handling: 0 always, 1 when it is new, 2 never [MQTT-3.3.1-9] [MQTT-3.3.1-10] [MQTT-3.3.1-11] [MQTT-3.8.4-4]', async () => {
    const { connect } = await createHarness()
    await publishFully(await connect(), 'a', 'kept', { retain: true })
    const client = await connect(lasting(5, 'c'))
    for (const [retainHandling, expected] of [
      [2, []],
      [1, []],
      [0, ['kept']],
      [0, ['kept']],
      [1, []],
    ] as const) {
      await client.subscribe('a', { retainHandling })
      assert.deepEqual(await payloads(client), expected)
    }
    client.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['a'] })
    await client.next('unsuback')
    await client.subscribe('a', { retainHandling: 1 })
    assert.deepEqual(await payloads(client), ['kept'])
    client.drop()
    const back = await connect(lasting(5, 'c'))
    assert.deepEqual(await payloads(back), [])
    await back.subscribe('a', { retainHandling: 1 })
    assert.deepEqual(await payloads(back), [])
  })

  both('of a group gets none', async ({ connect }, version) => {
    await publishFully(await connect(), 'a', 'kept', { retain: true })
    const client = await connect({ protocolVersion: version })
    await client.subscribe('$share/g/a')
    assert.deepEqual(await payloads(client), [])
  })

  both('gets more than its window in order of acknowledgement, before anything newer', async (_, version) => {
    const { connect } = await createHarness({ limits: { maximumInflight: 2 } })
    const publisher = await connect()
    for (let index = 0; index < 7; index += 1)
      await publishFully(publisher, `a/${index}`, 'kept', { qos: 1, retain: true })
    const client = await connect({ protocolVersion: version })
    await client.subscribe('+/+', { qos: 1 })
    await publishFully(publisher, 'a/0', 'new', { qos: 1 })
    const received: string[] = []
    for (let count = 0; count < 9; count += 1) {
      const message = await client.next('publish')
      received.push(message.payload.toString())
      client.acknowledge('puback', message.packetId)
      // There is room for one more, and the messages of the same turn do not use it.
      if (count === 0) publisher.publish('b/0', 'newer', { qos: 1 })
    }
    assert.deepEqual(
      received.slice(0, 7),
      Array.from({ length: 7 }, () => 'kept'),
    )
    assert.deepEqual(received.slice(7).toSorted(), ['new', 'newer'])
  })

  both('that ends drops the retained messages that still waited for it', async (_, version) => {
    const { connect } = await createHarness({ limits: { maximumInflight: 1 } })
    const publisher = await connect()
    for (const topicName of ['a/1', 'a/2', 'b'])
      await publishFully(publisher, topicName, topicName, { qos: 1, retain: true })
    const client = await connect({ protocolVersion: version })
    await client.subscribe('a/+', { qos: 1 })
    const first = await client.next('publish')
    await client.subscribe('b', { qos: 1 })
    client.send({ type: 'unsubscribe', packetId: 9, topicFilters: ['a/+'] })
    await client.next('unsuback')
    client.acknowledge('puback', first.packetId)
    assert.deepEqual(await payloads(client), ['b'])
  })
})

describe('an established subscription', () => {
  both('gets RETAIN 0 [MQTT-3.3.1-12] [MQTT311-3.3.1-9]', async ({ connect }, version) => {
    const client = await connect({ protocolVersion: version })
    await client.subscribe('a', { qos: 2 })
    const publisher = await connect()
    for (const qos of [0, 1, 2] as const) {
      await publishFully(publisher, 'a', 'x', { qos, retain: true })
      assert.equal((await client.next('publish')).retain, false)
    }
  })

  test('with Retain As Published gets RETAIN as it came, live and from the log [MQTT-3.3.1-12] [MQTT-3.3.1-13]', async () => {
    const { connect } = await createHarness()
    const publisher = await connect()
    let client = await connect(lasting(5, 'c'))
    await client.subscribe('a', { qos: 2, retainAsPublished: true })
    for (const away of [false, true]) {
      for (const retain of [false, true]) {
        for (const qos of [0, 1, 2] as const) {
          if (away && qos === 0) continue
          if (away) client.drop()
          await publishFully(publisher, 'a', 'x', { qos, retain })
          if (away) client = await connect(lasting(5, 'c'))
          const message = await client.next('publish')
          assert.equal(message.retain, retain)
          if (qos === 1) client.acknowledge('puback', message.packetId)
          if (qos === 2) {
            client.acknowledge('pubrec', message.packetId, 0x80)
          }
        }
      }
    }
  })
})

describe('a retained message', () => {
  test('is sent with the rest of its Message Expiry Interval, and not after its end [MQTT-3.3.2-5] [MQTT-3.3.2-6]', async () => {
    const { connect, clock, broker } = await createHarness()
    await publishFully(await connect(), 'a', 'x', { retain: true, properties: { messageExpiryIntervalSeconds: 10 } })
    clock.advance(broker, 4)
    const client = await connect()
    await client.subscribe('a')
    assert.equal((await client.next('publish')).properties?.messageExpiryIntervalSeconds, 6)
    clock.advance(broker, 6)
    const later = await connect()
    await later.subscribe('a')
    assert.deepEqual(await payloads(later), [])
    assert.equal(broker.retained.count, 0)
  })

  test('keeps its properties [MQTT-3.3.2-4] [MQTT-3.3.2-15] [MQTT-3.3.2-16] [MQTT-3.3.2-17] [MQTT-3.3.2-20]', async () => {
    const { connect } = await createHarness()
    const properties = {
      payloadFormatIndicator: 1,
      contentType: 'text/plain',
      responseTopic: 'r',
      correlationData: Buffer.alloc(3000, 7),
      userProperties: [['k', 'v']],
    } as const
    await publishFully(await connect(), 'a', 'x', { retain: true, qos: 1, properties })
    const client = await connect()
    await client.subscribe('a')
    assert.deepEqual({ ...(await client.next('publish')).properties }, properties)
  })
})
