import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, payloads, publishFully } from './both-versions.ts'

describe('Receive Maximum of the client', () => {
  test('bounds QoS 1 and 2 together, until PUBACK, PUBCOMP or a PUBREC of 0x80 or above [MQTT-3.3.4-9] [MQTT-4.9.0-1] [MQTT-4.9.0-2]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { receiveMaximum: 3 } })
    await client.subscribe('a', { qos: 2 })
    const publisher = await connect()
    for (const [payload, qos] of [
      ['1', 1],
      ['2', 2],
      ['3', 2],
      ['4', 1],
      ['5', 2],
      ['6', 1],
    ] as const)
      await publishFully(publisher, 'a', payload, { qos })
    assert.deepEqual(await payloads(client), ['1', '2', '3'])
    client.acknowledge('pubrec', 2)
    assert.deepEqual(
      (await everything(client)).map(({ type }) => type),
      ['pubrel'],
    )
    client.acknowledge('pubcomp', 2)
    assert.deepEqual(await payloads(client), ['4'])
    client.acknowledge('pubrec', 3, 0x80)
    assert.deepEqual(await payloads(client), ['5'])
    client.acknowledge('puback', 1)
    assert.deepEqual(await payloads(client), ['6'])
  })

  test('of 1 lets one after the other through, in order', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { receiveMaximum: 1 } })
    await client.subscribe('a', { qos: 1 })
    const publisher = await connect()
    for (let index = 0; index < 20; index += 1) await publishFully(publisher, 'a', String(index), { qos: 1 })
    for (let index = 0; index < 20; index += 1) {
      const message = await client.next('publish')
      assert.equal(message.payload.toString(), String(index))
      assert.deepEqual(await client.sync(), [])
      client.acknowledge('puback', message.packetId)
    }
  })

  test('used up keeps nothing else: QoS 0, PUBREL, SUBACK, PINGRESP, PUBACK for what the client sends [MQTT-3.3.4-10] [MQTT-4.9.0-3]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { receiveMaximum: 2 } })
    await client.subscribe('a', { qos: 2 })
    const publisher = await connect()
    await publishFully(publisher, 'a', '1', { qos: 2 })
    await publishFully(publisher, 'a', '2', { qos: 1 })
    await publishFully(publisher, 'a', '3', { qos: 1 })
    assert.deepEqual(await payloads(client), ['1', '2'])
    await publishFully(publisher, 'a', 'zero', { qos: 0 })
    assert.deepEqual(await payloads(client), ['zero'])
    client.acknowledge('pubrec', 1)
    await client.next('pubrel')
    assert.equal(await client.subscribe('b'), 0)
    await publishFully(client, 'b', 'own', { qos: 0 })
    assert.deepEqual(await payloads(client), ['own'])
    client.publish('c', 'x', { qos: 1 })
    await client.next('puback')
    client.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['b'] })
    await client.next('unsuback')
  })

  test('counts anew on each connection, and PUBREL that comes again waits for no room [MQTT-3.3.4-10] [MQTT-4.9.0-1]', async () => {
    const { connect } = await createHarness()
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 2 })
    const publisher = await connect()
    for (const [payload, qos] of [
      ['1', 1],
      ['2', 1],
      ['3', 2],
      ['4', 2],
    ] as const)
      await publishFully(publisher, 'a', payload, { qos })
    assert.deepEqual(await payloads(first), ['1', '2', '3', '4'])
    first.acknowledge('pubrec', 4)
    await first.next('pubrel')
    first.drop()
    const properties = { sessionExpiryIntervalSeconds: 1000, receiveMaximum: 2 }
    const second = await connect({ ...lasting(5, 'c'), properties })
    const packets = await everything(second)
    assert.deepEqual(
      packets.map((packet) => ('packetId' in packet ? [packet.type, packet.packetId] : packet.type)),
      [
        ['pubrel', 4],
        ['publish', 1],
      ],
    )
    second.acknowledge('pubcomp', 4)
    assert.deepEqual(await payloads(second), ['2'])
    second.acknowledge('puback', 1)
    assert.deepEqual(await payloads(second), ['3'])
  })
})

describe('Receive Maximum of the server', () => {
  test('is told, and may be used to the full: QoS 1, QoS 2 and both [MQTT-3.3.4-7]', async () => {
    const { connect } = await createHarness({ limits: { receiveMaximum: 4 } })
    const client = await connect()
    assert.equal(client.connack?.properties?.receiveMaximum, 4)
    for (let round = 0; round < 3; round += 1) {
      for (let packetId = 1; packetId <= 4; packetId += 1) client.publish('a', 'x', { qos: 2, packetId })
      for (let packetId = 1; packetId <= 4; packetId += 1)
        assert.equal((await client.next('pubrec')).packetId, packetId)
      for (let packetId = 1; packetId <= 4; packetId += 1) client.acknowledge('pubrel', packetId)
      for (let packetId = 1; packetId <= 4; packetId += 1) await client.next('pubcomp')
      for (let packetId = 1; packetId <= 4; packetId += 1) client.publish('a', 'x', { qos: 1, packetId })
      for (let packetId = 1; packetId <= 4; packetId += 1)
        assert.equal((await client.next('puback')).packetId, packetId)
    }
  })

  test('exceeded ends the connection with 0x93, by PUBLISH packets at once or by such without PUBREL [MQTT-3.3.4-7]', async () => {
    for (const qos of [1, 2] as const) {
      const { connect } = await createHarness({ limits: { receiveMaximum: 4 } })
      const client = await connect()
      for (let packetId = 1; packetId <= 5; packetId += 1) client.publish('a', 'x', { qos, packetId })
      await expectEnd(client, 0x93)
    }
    const { connect } = await createHarness({ limits: { receiveMaximum: 4 } })
    const client = await connect()
    for (let packetId = 1; packetId <= 5; packetId += 1) {
      client.publish('a', 'x', { qos: 2, packetId })
      if (packetId < 5) await client.next('pubrec')
    }
    await expectEnd(client, 0x93)
  })

  test('counts anew on each connection, and what comes again counts once', async () => {
    const { connect } = await createHarness({ limits: { receiveMaximum: 3 } })
    const first = await connect(lasting(5, 'c'))
    for (let packetId = 1; packetId <= 3; packetId += 1) {
      first.publish('a', 'x', { qos: 2, packetId })
      await first.next('pubrec')
    }
    first.drop()
    const second = await connect(lasting(5, 'c'))
    for (let packetId = 11; packetId <= 12; packetId += 1) {
      second.publish('a', 'x', { qos: 2, packetId })
      await second.next('pubrec')
    }
    for (let count = 0; count < 3; count += 1) {
      second.publish('a', 'x', { qos: 2, packetId: 1, dup: true })
      await second.next('pubrec')
    }
    // A PUBREL for the earlier connection frees nothing in this connection's window.
    second.acknowledge('pubrel', 2)
    await second.next('pubcomp')
    second.publish('a', 'x', { qos: 1, packetId: 20 })
    await expectEnd(second, 0x93)
  })

  test('does not exist in MQTT 3.1.1: a client may send without a bound, and all is acknowledged in order', async () => {
    const { connect } = await createHarness({ limits: { receiveMaximum: 4 } })
    const client = await connect({ protocolVersion: 4 })
    for (let packetId = 1; packetId <= 300; packetId += 1)
      client.publish('a', 'x', { qos: packetId % 2 === 0 ? 1 : 2, packetId })
    for (let packetId = 1; packetId <= 300; packetId += 1) {
      assert.equal((await client.next(packetId % 2 === 0 ? 'puback' : 'pubrec')).packetId, packetId)
    }
  })

  both('lets acknowledgements through when a SUBSCRIBE waits behind PUBLISH packets', async ({ connect }, version) => {
    const client = await connect({ protocolVersion: version })
    client.publish('a', 'before', { qos: 1, packetId: 1, retain: true })
    client.send({
      type: 'subscribe',
      packetId: 2,
      subscriptions: [{ topicFilter: 'a', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
    })
    client.publish('a', 'after', { qos: 1, packetId: 3 })
    const packets = await everything(client)
    assert.deepEqual(
      packets.map((packet) => (packet.type === 'publish' ? packet.payload.toString() : packet.type)),
      ['puback', 'suback', 'before', 'after', 'puback'],
    )
  })
})
