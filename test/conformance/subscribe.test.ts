import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SubscriptionRequest } from '../../src/mqtt/packet.ts'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, packetBytes, payloads, publishFully } from './both-versions.ts'

function request(topicFilter: string, qos: 0 | 1 | 2 = 0): SubscriptionRequest {
  return { topicFilter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 }
}

describe('SUBSCRIBE', () => {
  both(
    'gets a SUBACK with its Packet Identifier and a Reason Code for each Topic Filter, in order [MQTT-3.8.4-1] [MQTT-3.8.4-2] [MQTT-3.8.4-5] [MQTT-3.8.4-6] [MQTT-3.8.4-7] [MQTT-3.9.3-1] [MQTT-3.9.3-2] [MQTT-2.2.1-6] [MQTT311-3.8.4-1] [MQTT311-3.8.4-2] [MQTT311-3.8.4-4] [MQTT311-3.8.4-5] [MQTT311-3.9.3-1] [MQTT311-3.9.3-2] [MQTT311-2.3.1-7]',
    async ({ connect, policy }, version) => {
      const client = await connect({ protocolVersion: version })
      const permit = policy.permits[0]
      assert.ok(permit)
      permit.subscribe = (topicFilter) =>
        topicFilter.startsWith('no')
          ? {
              allowed: false,
              reasonCode: topicFilter === 'no/1' ? 0x87 : 0x8e,
              reason: '',
              code: 'no',
              untold: 'close',
            }
          : { allowed: true }
      const subscriptions = [
        request('b', 2),
        request('no/1', 1),
        request('a', 0),
        request('b', 1),
        request('no/2'),
        request('c/#', 1),
      ]
      client.send({ type: 'subscribe', packetId: 60_000, subscriptions })
      const suback = await client.next('suback')
      assert.equal(suback.packetId, 60_000)
      assert.deepEqual([...suback.reasonCodes], version === 5 ? [2, 0x87, 0, 1, 0x80, 1] : [2, 0x80, 0, 1, 0x80, 1])
      await publishFully(await connect(), 'b', 'x', { qos: 2 })
      assert.equal((await client.next('publish')).qos, 1)
    },
  )

  both(
    'for the same Topic Filter replaces the subscription, and retained messages come again [MQTT-3.8.4-3] [MQTT-3.8.4-4] [MQTT311-3.8.4-3] [MQTT311-3.3.1-6]',
    async ({ connect, broker }, version) => {
      const publisher = await connect()
      await publishFully(publisher, 'a', 'kept', { retain: true, qos: 1 })
      const client = await connect({ protocolVersion: version })
      for (const qos of [2, 0, 1] as const) {
        assert.equal(await client.subscribe('a', { qos }), qos)
        const kept = await client.next('publish')
        assert.deepEqual([kept.payload.toString(), kept.retain], ['kept', true])
        await publishFully(publisher, 'a', 'x', { qos: 2 })
        assert.equal((await client.next('publish')).qos, qos)
        assert.equal(broker.counters.subscriptions, 1)
      }
      assert.deepEqual(await everything(client), [])
    },
  )

  for (const lowered of [1, 0] as const) {
    both(
      `for the same Topic Filter at QoS ${lowered} loses nothing that waits for room, and what comes then waits behind it [MQTT-3.8.4-4] [MQTT-3.8.4-8] [MQTT311-3.8.4-3]`,
      async (_, version) => {
        const { connect } = await createHarness({ limits: { maximumInflight: 1 } })
        const client = await connect({ protocolVersion: version })
        await client.subscribe('a', { qos: 2 })
        const publisher = await connect()
        for (const payload of ['1', '2', '3']) await publishFully(publisher, 'a', payload, { qos: 1 })
        const first = await client.next('publish')
        assert.equal(await client.subscribe('a', { qos: lowered }), lowered)
        await publishFully(publisher, 'a', '4', { qos: 1 })
        client.acknowledge('puback', first.packetId)
        for (const payload of ['2', '3', '4']) {
          const message = await client.next('publish')
          assert.deepEqual([message.payload.toString(), message.qos], [payload, lowered])
          if (lowered > 0) client.acknowledge('puback', message.packetId)
        }
        assert.equal(await client.subscribe('a', { qos: 0 }), 0)
        await publishFully(publisher, 'a', '5', { qos: 1 })
        assert.deepEqual(await payloads(client), ['5'])
      },
    )
  }

  both('adds nothing that was published before it, to a Session that is behind', async (_, version) => {
    const { connect } = await createHarness({ limits: { maximumInflight: 1 } })
    const client = await connect({ protocolVersion: version })
    await client.subscribe('a/b/1', { qos: 1 })
    const publisher = await connect()
    for (const topicName of ['a/b/1', 'a/b/1', 'a/b/2']) await publishFully(publisher, topicName, topicName, { qos: 1 })
    const first = await client.next('publish')
    await client.subscribe('a/b/2', { qos: 1 })
    await publishFully(publisher, 'a/b/2', 'new', { qos: 1 })
    client.acknowledge('puback', first.packetId)
    const second = await client.next('publish')
    client.acknowledge('puback', second.packetId)
    assert.deepEqual([second.payload.toString(), ...(await payloads(client))], ['a/b/1', 'new'])
  })

  both(
    'that is malformed ends the connection [MQTT-4.13.1-1] [MQTT-3.8.1-1] [MQTT-3.8.3-2] [MQTT-3.8.3-5] [MQTT-4.7.1-1] [MQTT-4.7.1-2] [MQTT-4.7.3-1] [MQTT311-4.8.0-1] [MQTT311-3.8.1-1] [MQTT311-3.8.3-3] [MQTT311-3.8.3-4]',
    async ({ connect, broker }, version) => {
      const rows =
        version === 5
          ? ([
              [packetBytes('80', '0001 00 000161 00'), 0x81],
              [packetBytes('82', '0000 00 000161 00'), 0x82],
              [packetBytes('82', '0001 00'), 0x82],
              [packetBytes('82', '0001 00 000161'), 0x81],
              [packetBytes('82', '0001 00 000161 03'), 0x82],
              [packetBytes('82', '0001 00 000161 40'), 0x81],
              [packetBytes('82', '0001 00 000161 30'), 0x82],
              [packetBytes('82', '0001 00 0000 00'), 0x8f],
              [packetBytes('82', '0001 00 0003612b2f 00'), 0x8f],
              [packetBytes('82', '0001 00 0003232f61 00'), 0x8f],
              [packetBytes('82', '0001 00 0001ff 00'), 0x81],
              [packetBytes('82', '0001 02 0b00 000161 00'), 0x82],
              [packetBytes('82', '0001 04 0b010b02 000161 00'), 0x82],
            ] as const)
          : ([
              [packetBytes('80', '0001 000161 00'), 0],
              [packetBytes('82', '0000 000161 00'), 0],
              [packetBytes('82', '0001'), 0],
              [packetBytes('82', '0001 000161 03'), 0],
              [packetBytes('82', '0001 000161 04'), 0],
              [packetBytes('82', '0001 0000 00'), 0],
              [packetBytes('82', '0001 0003612b2f 00'), 0],
              [packetBytes('82', '0001 000200 61 00'), 0],
            ] as const)
      for (const [bytes, reasonCode] of rows) {
        const client = await connect({ protocolVersion: version })
        client.sendBytes(bytes)
        await expectEnd(client, reasonCode)
      }
      assert.equal(broker.counters.subscriptions, 0)
    },
  )

  test('that is refused says why, not at greater length than the client takes, and without User Properties [MQTT-3.9.2-1] [MQTT-3.9.2-2] [MQTT-3.1.2-24]', async () => {
    const { connect, policy } = await createHarness()
    const answerTo = async (maximumPacketSizeBytes: number): Promise<unknown> => {
      const client = await connect({ properties: { maximumPacketSizeBytes } })
      const permit = policy.permits.at(-1)
      assert.ok(permit)
      permit.subscribe = () => ({
        allowed: false,
        reasonCode: 0x87,
        reason: 'r'.repeat(50),
        code: 'no',
        untold: 'close',
      })
      client.send({ type: 'subscribe', packetId: 1, subscriptions: [request('a')] })
      const before = Buffer.concat(client.receivedBytes).length
      const { properties, reasonCodes } = await client.next('suback')
      assert.deepEqual([...reasonCodes], [0x87])
      assert.ok(Buffer.concat(client.receivedBytes).length - before <= maximumPacketSizeBytes)
      return properties
    }
    const whole = 6 + 3 + 'a: '.length + 50
    assert.deepEqual(await answerTo(whole), { reasonString: `a: ${'r'.repeat(50)}` })
    assert.equal(await answerTo(whole - 1), undefined)
  })

  test('whose SUBACK is too large for the client in any form ends the connection [MQTT-3.1.2-24]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { maximumPacketSizeBytes: 60 } })
    const subscriptions = Array.from({ length: 100 }, (_, index) => request(String(index)))
    client.send({ type: 'subscribe', packetId: 1, subscriptions })
    assert.equal((await client.next('disconnect')).reasonCode, 0x95)
    await client.closed()
  })

  both('with a Topic Filter of 65,535 bytes is answered', async ({ connect }, version) => {
    const client = await connect({ protocolVersion: version })
    assert.equal(await client.subscribe('x'.repeat(65_535)), version === 5 ? 0x8f : 0x80)
    assert.deepEqual(await client.sync(), [])
  })
})

describe('Subscription Identifiers', () => {
  test('come with the message, of all subscriptions that match, live and from the log [MQTT-3.3.4-3] [MQTT-3.3.4-4]', async () => {
    const { connect } = await createHarness()
    const publisher = await connect()
    await publishFully(publisher, 'a/b', 'kept', { retain: true })
    const client = await connect(lasting(5, 'c'))
    await client.subscribe('a/+', { qos: 1 }, 268_435_455)
    assert.deepEqual((await client.next('publish')).properties?.subscriptionIdentifiers, [268_435_455])
    await client.subscribe('a/#', { qos: 0, retainHandling: 2 }, 1)
    await client.subscribe('+/b', { qos: 0, retainHandling: 2 })
    await publishFully(publisher, 'a/b', 'x')
    assert.deepEqual((await client.next('publish')).properties?.subscriptionIdentifiers?.toSorted(), [1, 268_435_455])
    client.drop()
    await publishFully(publisher, 'a/b', 'y', { qos: 1 })
    const back = await connect(lasting(5, 'c'))
    assert.deepEqual((await back.next('publish')).properties?.subscriptionIdentifiers?.toSorted(), [1, 268_435_455])
    back.drop()
    const again = await connect(lasting(5, 'c'))
    assert.deepEqual((await again.next('publish')).properties?.subscriptionIdentifiers?.toSorted(), [1, 268_435_455])
  })

  test('change with the subscription, and go with it [MQTT-3.8.4-3]', async () => {
    const { connect } = await createHarness()
    const publisher = await connect()
    const client = await connect()
    for (const identifier of [5, 6, undefined]) {
      await client.subscribe('a', {}, identifier)
      await publishFully(publisher, 'a', 'x')
      const { properties } = await client.next('publish')
      assert.deepEqual(properties?.subscriptionIdentifiers, identifier === undefined ? undefined : [identifier])
    }
  })

  test('are the same for all Topic Filters of a SUBSCRIBE, and come once for each that matches', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    const properties = { subscriptionIdentifier: 9 }
    client.send({ type: 'subscribe', packetId: 1, subscriptions: [request('a'), request('b')], properties })
    await client.next('suback')
    const publisher = await connect()
    for (const topicName of ['a', 'b']) {
      await publishFully(publisher, topicName, 'x')
      assert.deepEqual((await client.next('publish')).properties?.subscriptionIdentifiers, [9])
    }
  })
})

describe('No Local', () => {
  test('keeps a client’s own messages from it: live ones, those of the log, its Will Message, retained ones [MQTT-3.8.3-3]', async () => {
    const { connect } = await createHarness()
    const will = {
      topicName: 'a',
      payload: Buffer.from('will'),
      qos: 1,
      retain: false,
      delayIntervalSeconds: 0,
    } as const
    const first = await connect({ ...lasting(5, 'c'), will })
    await publishFully(first, 'a', 'kept', { retain: true, qos: 1 })
    await first.subscribe('a', { qos: 1, noLocal: true })
    for (const qos of [0, 1, 2] as const) await publishFully(first, 'a', 'x', { qos })
    const other = await connect()
    await publishFully(other, 'a', 'others', { qos: 1 })
    assert.deepEqual(await payloads(first), ['others'])
    first.acknowledge('puback', 1)
    first.drop()
    await publishFully(other, 'a', 'others again', { qos: 1 })
    assert.deepEqual(await payloads(await connect(lasting(5, 'c'))), ['others again'])
  })

  test('keeps nothing from another subscription that matches as well, which delivers as it says', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    await client.subscribe('a/#', { qos: 2, noLocal: true }, 1)
    await client.subscribe('a/b', { qos: 0 }, 2)
    client.publish('a/b', 'x', { qos: 1 })
    const packets = await everything(client)
    const message = packets.find(({ type }) => type === 'publish')
    assert.ok(message?.type === 'publish')
    assert.deepEqual([message.qos, message.properties?.subscriptionIdentifiers], [0, [2]])
  })

  test('on a shared subscription is a protocol error [MQTT-3.8.3-4]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    client.send({ type: 'subscribe', packetId: 1, subscriptions: [{ ...request('$share/g/a'), noLocal: true }] })
    await expectEnd(client, 0x82)
  })
})

describe('UNSUBSCRIBE', () => {
  both(
    'gets an UNSUBACK with its Packet Identifier, whether or not there was something to delete, in order [MQTT-3.10.4-1] [MQTT-3.10.4-4] [MQTT-3.10.4-5] [MQTT-3.10.4-6] [MQTT-3.11.3-1] [MQTT-3.11.3-2] [MQTT-2.2.1-6] [MQTT311-3.10.4-1] [MQTT311-3.10.4-4] [MQTT311-3.10.4-5] [MQTT311-3.10.4-6] [MQTT311-2.3.1-7]',
    async ({ connect, broker }, version) => {
      const client = await connect({ protocolVersion: version })
      for (const topicFilter of ['a/+', 'a/#', 'ä', '$share/g/a']) await client.subscribe(topicFilter)
      const topicFilters = ['a/b', 'a/+', 'A/#', 'a/+', 'a\u0308', 'a', '$share/g/a', '$share/h/a']
      client.send({ type: 'unsubscribe', packetId: 4711, topicFilters })
      const unsuback = await client.next('unsuback')
      assert.equal(unsuback.packetId, 4711)
      const expected = [0x11, 0, 0x11, 0x11, 0x11, 0x11, 0, 0x11]
      assert.deepEqual([...unsuback.reasonCodes], version === 5 ? expected : [])
      assert.equal(broker.counters.subscriptions, 2)
      client.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['nothing'] })
      assert.equal((await client.next('unsuback')).packetId, 1)
    },
  )

  both(
    'ends what is new and brings what is in flight to its end [MQTT-3.10.4-2] [MQTT-3.10.4-3] [MQTT311-3.10.4-2] [MQTT311-3.10.4-3]',
    async ({ connect }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a', { qos: 2 })
      await first.subscribe('$share/g/b', { qos: 1 })
      const publisher = await connect()
      await publishFully(publisher, 'a', 'one', { qos: 1 })
      await publishFully(publisher, 'a', 'two', { qos: 2 })
      await publishFully(publisher, 'b', 'three', { qos: 1 })
      assert.deepEqual(await payloads(first), ['one', 'two', 'three'])
      first.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['a', '$share/g/b'] })
      await first.next('unsuback')
      for (const qos of [0, 1, 2] as const) {
        await publishFully(publisher, 'a', 'new', { qos })
        await publishFully(publisher, 'b', 'new', { qos })
      }
      assert.deepEqual(await everything(first), [])
      first.drop()
      const second = await connect(lasting(version, 'c'))
      assert.deepEqual(await payloads(second), ['one', 'two', 'three'])
      second.acknowledge('pubrec', 2)
      assert.equal((await second.next('pubrel')).packetId, 2)
    },
  )

  test('is answered without Reason String and User Properties [MQTT-3.11.2-1] [MQTT-3.11.2-2]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    client.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['a'] })
    assert.equal((await client.next('unsuback')).properties, undefined)
  })

  both(
    'that is malformed ends the connection [MQTT-4.13.1-1] [MQTT-3.10.1-1] [MQTT-3.10.3-2] [MQTT311-4.8.0-1] [MQTT311-3.10.1-1] [MQTT311-3.10.3-2]',
    async ({ connect }, version) => {
      const properties = version === 5 ? '00' : ''
      for (const [bytes, reasonCode] of [
        [packetBytes('a0', `0001 ${properties} 000161`), 0x81],
        [packetBytes('a2', `0000 ${properties} 000161`), 0x82],
        [packetBytes('a2', `0001 ${properties}`), 0x82],
        [packetBytes('a2', `0001 ${properties} 000261`), 0x81],
        [packetBytes('a2', `0001 ${properties} 0001c0`), 0x81],
      ] as const) {
        const client = await connect({ protocolVersion: version })
        client.sendBytes(bytes)
        await expectEnd(client, reasonCode)
      }
    },
  )
})
