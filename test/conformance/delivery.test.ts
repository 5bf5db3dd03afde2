import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, lasting, payloads, publishFully } from './both-versions.ts'

describe('delivery', () => {
  both(
    'is at the lesser of published and granted QoS, first with DUP 0 and a Packet Identifier above 0 [MQTT-3.8.4-8] [MQTT-4.3.1-1] [MQTT-4.3.2-2] [MQTT-4.3.3-2] [MQTT-2.2.1-4] [MQTT-3.3.1-2] [MQTT311-3.8.4-6] [MQTT311-4.3.1-1] [MQTT311-4.3.2-1] [MQTT311-4.3.3-1] [MQTT311-2.3.1-4]',
    async ({ connect }, version) => {
      const publisher = await connect()
      for (const granted of [0, 1, 2] as const) {
        const subscriber = await connect({ protocolVersion: version })
        assert.equal(await subscriber.subscribe(`a/${granted}`, { qos: granted }), granted)
        for (const published of [0, 1, 2] as const) {
          await publishFully(publisher, `a/${granted}`, 'x', { qos: published })
          const message = await subscriber.next('publish')
          assert.equal(message.qos, Math.min(granted, published))
          assert.equal(message.dup, false)
          assert.equal(message.packetId > 0, message.qos > 0)
        }
      }
    },
  )

  both('does not pass on DUP [MQTT-3.3.1-3] [MQTT311-3.3.1-3]', async ({ connect }, version) => {
    const subscriber = await connect({ protocolVersion: version })
    await subscriber.subscribe('a', { qos: 2 })
    const publisher = await connect({ protocolVersion: version })
    publisher.publish('a', 'x', { qos: 1, dup: true })
    assert.equal((await subscriber.next('publish')).dup, false)
    publisher.publish('a', 'x', { qos: 2, dup: true })
    assert.equal((await subscriber.next('publish')).dup, false)
  })

  both(
    'is to subscriptions that match, and to no others [MQTT-3.3.2-3] [MQTT-4.7.3-4] [MQTT311-3.3.2-3] [MQTT311-4.7.3-4]',
    async ({ connect }, version) => {
      const publisher = await connect({ protocolVersion: version })
      for (const [topicFilter, matching, others] of [
        ['a/b', ['a/b'], ['a', 'a/b/', '/a/b', 'A/b', 'a/B', 'a//b']],
        ['a/+', ['a/b', 'a/'], ['a', 'a/b/c', 'b/b', '/a/b']],
        ['a/#', ['a', 'a/', 'a/b', 'a/b/c'], ['b', 'ab', '/a']],
        ['+', ['a', 'ä'], ['/a', 'a/b', '$a']],
        ['/+', ['/a', '/'], ['a', '/a/b', '//']],
        ['+/+', ['/a', 'a/b', '/'], ['a', 'a/b/c', '$a/b']],
        ['#', ['a', '/', 'a/b'], ['$a', '$a/b', '$SYS/x']],
        ['$a/#', ['$a', '$a/b'], ['a', 'a/b']],
        ['+/b/#', ['a/b', 'a/b/c', '/b'], ['$a/b', 'b']],
        ['é', ['é'], ['e\u0301', 'É']],
        ['a b', ['a b'], ['a  b', 'a', 'a%20b']],
      ] as const) {
        const subscriber = await connect({ protocolVersion: version })
        await subscriber.subscribe(topicFilter)
        for (const topicName of [...matching, ...others]) await publishFully(publisher, topicName, topicName)
        assert.deepEqual(await payloads(subscriber), matching, topicFilter)
        subscriber.drop()
      }
    },
  )

  both(
    'of overlapping subscriptions is once, at the highest QoS [MQTT-3.3.4-2] [MQTT311-3.3.5-1]',
    async ({ connect }, version) => {
      const subscriber = await connect({ protocolVersion: version })
      await subscriber.subscribe('a/#', { qos: 0 })
      await subscriber.subscribe('a/+', { qos: 2 })
      await subscriber.subscribe('+/b', { qos: 1 })
      await publishFully(await connect(), 'a/b', 'x', { qos: 2 })
      const message = await subscriber.next('publish')
      assert.equal(message.qos, 2)
      assert.deepEqual(await everything(subscriber), [])
    },
  )

  both(
    'keeps the order of a client for each topic and QoS, live, from the log and sent again [MQTT-4.6.0-5] [MQTT-4.6.0-6] [MQTT311-4.6.0-1] [MQTT311-4.6.0-5] [MQTT311-4.6.0-6]',
    async (_, version) => {
      const { connect } = await createHarness({ limits: { maximumInflight: 7 } })
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a/#', { qos: 2 })
      const publisher = await connect()
      const expected: Record<string, string[]> = {}
      for (let index = 0; index < 60; index += 1) {
        const qos = ((index % 2) + 1) as 1 | 2
        const topicName = `a/${index % 3}`
        ;(expected[`${topicName} ${qos}`] ??= []).push(String(index))
        await publishFully(publisher, topicName, String(index), { qos })
      }
      const received: Record<string, string[]> = {}
      let client = first
      for (let count = 0; count < 60;) {
        // The connection breaks again and again with messages in flight.
        if (count % 10 === 9) {
          client.drop()
          client = await connect(lasting(version, 'c'))
        }
        const packet = (await everything(client))[0]
        if (packet?.type === 'pubrel') {
          client.acknowledge('pubcomp', packet.packetId)
          continue
        }
        assert.ok(packet?.type === 'publish')
        const key = `${packet.topicName} ${packet.qos}`
        const payload = packet.payload.toString()
        received[key] ??= []
        if (!received[key].includes(payload)) {
          received[key].push(payload)
          count += 1
        }
        client.acknowledge(packet.qos === 1 ? 'puback' : 'pubrec', packet.packetId)
        if (packet.qos === 2) {
          const release = (await everything(client)).find(({ type }) => type === 'pubrel')
          assert.ok(release !== undefined && 'packetId' in release)
          client.acknowledge('pubcomp', packet.packetId)
        }
        client.drop()
        client = await connect(lasting(version, 'c'))
      }
      assert.deepEqual(received, expected)
    },
  )

  both(
    'of a topic above QoS 0 is in order for many subscribers at once [MQTT-4.6.0-5] [MQTT311-4.6.0-6]',
    async ({ connect }, version) => {
      const subscribers = await Promise.all(Array.from({ length: 5 }, () => connect({ protocolVersion: version })))
      for (const [index, subscriber] of subscribers.entries())
        await subscriber.subscribe('a/#', { qos: (index % 3) as 0 | 1 | 2 })
      const publisher = await connect({ protocolVersion: version })
      for (let index = 0; index < 500; index += 1) publisher.publish('a/b', String(index), { qos: 1 })
      for (let index = 0; index < 500; index += 1) assert.equal((await publisher.next('puback')).packetId, index + 1)
      const expected = Array.from({ length: 500 }, (_, index) => String(index))
      for (const subscriber of subscribers) assert.deepEqual(await payloads(subscriber), expected)
    },
  )
})
