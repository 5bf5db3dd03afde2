import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, packetBytes, payloads, publishFully } from './both-versions.ts'

describe('properties of a PUBLISH', () => {
  const properties = {
    payloadFormatIndicator: 1,
    contentType: 'application/json; charset="utf-8"',
    responseTopic: 'answers/ä',
    correlationData: Buffer.from([0, 255, 1]),
    userProperties: [
      ['z', '1'],
      ['a', ''],
      ['z', '2'],
      ['z', '1'],
      ['', 'é\uFEFF'],
    ],
  } as const

  test('are passed on as they came, User Properties in their order, live, from the log and sent again [MQTT-3.3.2-4] [MQTT-3.3.2-15] [MQTT-3.3.2-16] [MQTT-3.3.2-17] [MQTT-3.3.2-18] [MQTT-3.3.2-20] [MQTT-1.5.4-3]', async () => {
    const { connect } = await createHarness()
    const publisher = await connect()
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 1 })
    for (const qos of [0, 1, 2] as const) {
      await publishFully(publisher, 'a', '{}', { qos, properties })
      assert.deepEqual({ ...(await first.next('publish')).properties }, properties)
    }
    first.drop()
    await publishFully(publisher, 'a', '{}', { qos: 1, properties })
    const second = await connect(lasting(5, 'c'))
    for (let count = 0; count < 3; count += 1)
      assert.deepEqual({ ...(await second.next('publish')).properties }, properties)
  })

  test('are left out for a subscriber of MQTT 3.1.1', async () => {
    const { connect } = await createHarness()
    const subscriber = await connect({ protocolVersion: 4 })
    await subscriber.subscribe('a')
    await publishFully(await connect(), 'a', '{}', { properties })
    assert.equal((await subscriber.next('publish')).properties, undefined)
  })

  test('that have no place in a PUBLISH make it malformed, a second of one kind is a protocol error [MQTT-4.13.1-1]', async () => {
    const { connect } = await createHarness()
    for (const [bytes, reasonCode] of [
      [packetBytes('30', '000161 02 2501'), 0x81],
      [packetBytes('30', '000161 02 7f01'), 0x81],
      [packetBytes('30', '000161 04 0100 0100'), 0x82],
      [packetBytes('30', '000161 02 0102'), 0x82],
      [packetBytes('30', '000161 09 0200'), 0x81],
      [packetBytes('30', '000161 05 08000223 61'), 0x82],
      [packetBytes('30', '000161 04 030001 ff'), 0x81],
    ] as const) {
      const client = await connect()
      client.sendBytes(bytes)
      await expectEnd(client, reasonCode)
    }
  })
})

describe('Message Expiry Interval', () => {
  test('goes out less the whole seconds that the message has waited [MQTT-3.3.2-6]', async () => {
    const { connect, clock, broker } = await createHarness()
    const publisher = await connect()
    const live = await connect()
    await live.subscribe('a')
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 1 })
    first.drop()
    await publishFully(publisher, 'a', 'x', { qos: 1, properties: { messageExpiryIntervalSeconds: 60 } })
    assert.equal((await live.next('publish')).properties?.messageExpiryIntervalSeconds, 60)
    clock.advance(broker, 25)
    const second = await connect(lasting(5, 'c'))
    assert.equal((await second.next('publish')).properties?.messageExpiryIntervalSeconds, 35)
    second.drop()
    clock.advance(broker, 5)
    const third = await connect(lasting(5, 'c'))
    assert.equal((await third.next('publish')).properties?.messageExpiryIntervalSeconds, 30)
  })

  both(
    'deletes what has expired before it was sent, and nothing else [MQTT-3.3.2-5]',
    async ({ connect, clock, broker }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a', { qos: 1 })
      first.drop()
      const publisher = await connect()
      await publishFully(publisher, 'a', 'short', { qos: 1, properties: { messageExpiryIntervalSeconds: 10 } })
      await publishFully(publisher, 'a', 'long', { qos: 1, properties: { messageExpiryIntervalSeconds: 100 } })
      await publishFully(publisher, 'a', 'none', { qos: 1 })
      clock.advance(broker, 10)
      assert.deepEqual(await payloads(await connect(lasting(version, 'c'))), ['long', 'none'])
      assert.equal(broker.counters.publishesExpired, 1)
    },
  )

  test('counts while a message waits for the window, and for the member of a group [MQTT-3.3.2-5]', async () => {
    const { connect, clock, broker } = await createHarness({ limits: { maximumInflight: 1 } })
    const publisher = await connect()
    const client = await connect()
    await client.subscribe('a', { qos: 1 })
    await client.subscribe('$share/g/b', { qos: 1 })
    await publishFully(publisher, 'a', 'first', { qos: 1 })
    for (const topicName of ['a', 'b'])
      await publishFully(publisher, topicName, 'late', { qos: 1, properties: { messageExpiryIntervalSeconds: 5 } })
    await publishFully(publisher, 'a', 'last', { qos: 1 })
    clock.advance(broker, 5)
    assert.deepEqual(await payloads(client), ['first'])
    client.acknowledge('puback', 1)
    assert.deepEqual(await payloads(client), ['last'])
  })

  test('of 0 expires at once [MQTT-3.3.2-5]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    await client.subscribe('a')
    await publishFully(await connect(), 'a', 'x', { properties: { messageExpiryIntervalSeconds: 0 } })
    assert.deepEqual(await payloads(client), [])
  })
})

describe('Request Problem Information 0', () => {
  test('keeps Reason Strings and User Properties from all but PUBLISH, CONNACK and DISCONNECT [MQTT-3.1.2-29]', async () => {
    for (const requestProblemInformation of [false, true, undefined]) {
      const { connect, policy } = await createHarness()
      const client = await connect({ properties: { requestProblemInformation } })
      const permit = policy.permits[0]
      assert.ok(permit)
      const refusal = { allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold: 'close' } as const
      permit.publish = () => refusal
      permit.subscribe = () => refusal
      client.publish('a', 'x', { qos: 1 })
      client.publish('a', 'x', { qos: 2 })
      client.send({
        type: 'subscribe',
        packetId: 9,
        subscriptions: [{ topicFilter: 'a', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
      })
      const answers = await everything(client)
      assert.deepEqual(
        answers.map((packet) => packet.type),
        ['puback', 'pubrec', 'suback'],
      )
      for (const packet of answers) {
        assert.ok('properties' in packet)
        const told = packet.type === 'suback' ? 'a: no' : 'no'
        const expected = requestProblemInformation === false ? undefined : { reasonString: told }
        assert.deepEqual(packet.properties === undefined ? undefined : { ...packet.properties }, expected)
      }
    }
  })

  test('lets User Properties of a PUBLISH through, and the Reason String of a DISCONNECT [MQTT-3.1.2-29]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { requestProblemInformation: false } })
    await client.subscribe('a')
    await publishFully(await connect(), 'a', 'x', { properties: { userProperties: [['k', 'v']] } })
    assert.deepEqual((await client.next('publish')).properties?.userProperties, [['k', 'v']])
    client.publish('', 'x', { properties: { topicAlias: 1 } })
    assert.notEqual((await client.next('disconnect')).properties?.reasonString, undefined)
  })
})

describe('Maximum Packet Size of the client', () => {
  test('keeps a PUBLISH that is a byte too large from it, which counts as sent; one that fits goes [MQTT-3.1.2-24] [MQTT-3.1.2-25]', async () => {
    for (const qos of [0, 1, 2] as const) {
      for (const properties of [
        undefined,
        { messageExpiryIntervalSeconds: 100 },
        { userProperties: [['k', 'v']] as const },
      ]) {
        const { connect, broker } = await createHarness()
        const publisher = await connect()
        const overhead =
          2 + 3 + (qos > 0 ? 2 : 0) + 1 + (properties === undefined ? 0 : 'userProperties' in properties ? 7 : 5)
        const client = await connect({
          ...lasting(5, 'c'),
          properties: { sessionExpiryIntervalSeconds: 9, maximumPacketSizeBytes: overhead + 10 },
        })
        await client.subscribe('a', { qos })
        for (const length of [11, 10, 50]) await publishFully(publisher, 'a', 'x'.repeat(length), { qos, properties })
        await publishFully(publisher, 'a', 'end', { qos, properties })
        assert.deepEqual(await payloads(client), ['x'.repeat(10), 'end'])
        assert.equal(broker.counters.publishesDropped, 2)
        client.drop()
        const back = await connect(lasting(5, 'c'))
        assert.deepEqual(await payloads(back), qos === 0 ? [] : ['x'.repeat(10), 'end'])
      }
    }
  })

  test('that has shrunk when the client comes back ends messages that are now too large [MQTT-3.1.2-25]', async () => {
    const { connect } = await createHarness()
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 1 })
    const publisher = await connect()
    await publishFully(publisher, 'a', 'x'.repeat(100), { qos: 1 })
    await publishFully(publisher, 'a', 'small', { qos: 1 })
    first.drop()
    const properties = { sessionExpiryIntervalSeconds: 1000, maximumPacketSizeBytes: 50 }
    const second = await connect({ ...lasting(5, 'c'), properties })
    assert.deepEqual(await payloads(second), ['small'])
    second.drop()
    assert.deepEqual(await payloads(await connect(lasting(5, 'c'))), ['small'])
  })

  test('cuts the Reason Strings of PUBACK, PUBREC and DISCONNECT, which never have User Properties [MQTT-3.4.2-2] [MQTT-3.4.2-3] [MQTT-3.5.2-2] [MQTT-3.5.2-3] [MQTT-3.14.2-3] [MQTT-3.14.2-4] [MQTT-3.1.2-24]', async () => {
    const reason = 'r'.repeat(60)
    for (const [qos, type, fixedBytes] of [
      [1, 'puback', 6],
      [2, 'pubrec', 6],
      [0, 'disconnect', 4],
    ] as const) {
      for (const spare of [0, -1]) {
        const { connect, policy } = await createHarness()
        const maximumPacketSizeBytes = fixedBytes + 3 + reason.length + spare
        const client = await connect({ properties: { maximumPacketSizeBytes } })
        const permit = policy.permits[0]
        assert.ok(permit)
        permit.publish = () => ({ allowed: false, reasonCode: 0x87, reason, code: 'no', untold: 'close' })
        const before = Buffer.concat(client.receivedBytes).length
        client.publish('a', 'x', { qos })
        const answer = await client.next(type)
        assert.equal(answer.reasonCode, 0x87)
        assert.equal(answer.properties?.reasonString, spare === 0 ? reason : undefined)
        assert.equal(answer.properties?.userProperties, undefined)
        assert.ok(Buffer.concat(client.receivedBytes).length - before <= maximumPacketSizeBytes)
      }
    }
  })
})

describe('Reason Strings', () => {
  test('are cut to a bound, however long the reason is', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect()
    for (let index = 0; index < 900; index += 1) await client.subscribe(`${'x'.repeat(200)}/${index}`)
    const permit = policy.permits[0]
    assert.ok(permit)
    permit.subscribe = () => ({ allowed: false, reasonCode: 0x87, reason: '', code: 'no', untold: 'close' })
    permit.changed()
    const { reasonCode, properties } = await client.next('disconnect')
    assert.equal(reasonCode, 0x87)
    assert.equal(properties?.reasonString?.length, 256)
  })
})
