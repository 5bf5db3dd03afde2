import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TestPermit, createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, payloads, publishFully } from './both-versions.ts'

describe('a Session', () => {
  both(
    'goes on with Clean Start 0, and Session Present says so [MQTT-3.1.2-5] [MQTT-3.1.2-23] [MQTT-3.2.2-3] [MQTT-4.5.0-1] [MQTT311-3.1.2-4] [MQTT311-3.1.2-5] [MQTT311-3.2.2-2] [MQTT311-4.1.0-1] [MQTT311-4.5.0-1]',
    async ({ connect }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('one', { qos: 1 })
      await first.subscribe('two', { qos: 2 })
      await first.subscribe('none', { qos: 0 })
      first.drop()
      const publisher = await connect()
      await publishFully(publisher, 'one', '1', { qos: 1 })
      await publishFully(publisher, 'two', '2', { qos: 2 })
      await publishFully(publisher, 'none', '3', { qos: 1 })
      await publishFully(publisher, 'one', '4', { qos: 0 })
      const second = await connect(lasting(version, 'c'))
      assert.equal(second.sessionPresent, true)
      assert.deepEqual((await payloads(second)).toSorted(), ['1', '2'])
      await publishFully(publisher, 'none', '5')
      assert.deepEqual(await payloads(second), ['5'])
    },
  )

  both(
    'is made with Clean Start 0 where there is none [MQTT-3.1.2-6] [MQTT-3.2.2-3] [MQTT311-3.1.2-4] [MQTT311-3.2.2-3]',
    async ({ connect }, version) => {
      assert.equal((await connect(lasting(version, 'c'))).sessionPresent, false)
    },
  )

  both(
    'is thrown away with Clean Start 1, with its subscriptions and what waits in it [MQTT-3.1.2-4] [MQTT-3.1.4-4] [MQTT-3.2.2-2] [MQTT311-3.1.2-6] [MQTT311-3.1.4-3] [MQTT311-3.2.2-1]',
    async ({ connect, broker }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a', { qos: 1 })
      first.drop()
      const publisher = await connect()
      await publishFully(publisher, 'a', 'waits', { qos: 1 })
      const second = await connect({ ...lasting(version, 'c'), cleanStart: true })
      assert.equal(second.sessionPresent, false)
      await publishFully(publisher, 'a', 'comes', { qos: 1 })
      assert.deepEqual(await payloads(second), [])
      assert.equal(broker.counters.subscriptions, 0)
    },
  )

  test('of MQTT 3.1.1 with Clean Session 1 ends with its connection [MQTT311-3.1.2-6]', async () => {
    const { connect, broker } = await createHarness()
    const first = await connect({ protocolVersion: 4, clientId: 'c', cleanStart: true })
    await first.subscribe('a', { qos: 1 })
    first.drop()
    assert.equal(broker.counters.sessions, 0)
    assert.equal((await connect(lasting(4, 'c'))).sessionPresent, false)
  })

  test('without Session Expiry Interval, or with 0, ends with its connection [MQTT-4.1.0-2]', async () => {
    const { connect, broker } = await createHarness()
    for (const properties of [undefined, { sessionExpiryIntervalSeconds: 0 }]) {
      const first = await connect({ clientId: 'c', cleanStart: false, properties })
      assert.equal(first.connack?.properties?.sessionExpiryIntervalSeconds, undefined)
      first.drop()
      assert.equal(broker.counters.sessions, 0)
    }
  })

  test('without Session Expiry Interval is kept where the permit says so, for Clean Start 0 alone, and CONNACK says so', async () => {
    const { connect, broker, clock, policy } = await createHarness({ limits: { maximumSessionExpirySeconds: 90 } })
    const { admit } = policy
    policy.admit = async (credentials) => {
      const admission = await admit(credentials)
      assert.ok(admission.allowed && admission.permit instanceof TestPermit)
      admission.permit.defaultSessionExpirySeconds = 60
      return admission
    }
    const fields = { clientId: 'c', cleanStart: false }
    const first = await connect(fields)
    assert.equal(first.connack?.properties?.sessionExpiryIntervalSeconds, 60)
    assert.equal(first.sessionPresent, false)
    first.drop()
    clock.advance(broker, 59)
    const second = await connect(fields)
    assert.equal(second.sessionPresent, true)
    second.drop()
    clock.advance(broker, 61)
    assert.equal(broker.counters.sessions, 0)
    for (const asked of [
      { ...fields, cleanStart: true },
      { ...fields, properties: { sessionExpiryIntervalSeconds: 0 } },
    ]) {
      const client = await connect(asked)
      assert.equal(client.connack?.properties?.sessionExpiryIntervalSeconds, undefined)
      client.drop()
      assert.equal(broker.counters.sessions, 0)
    }
    const asking = await connect({ ...fields, properties: { sessionExpiryIntervalSeconds: 80 } })
    assert.equal(asking.connack?.properties?.sessionExpiryIntervalSeconds, undefined)
  })

  test('ends when its expiry has passed, and not before [MQTT-4.1.0-2] [MQTT-3.1.2-23]', async () => {
    const { connect, broker, clock } = await createHarness()
    const fields = { clientId: 'c', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 5 } }
    const first = await connect(fields)
    await first.subscribe('a', { qos: 1 })
    first.drop()
    clock.advance(broker, 4)
    const second = await connect(fields)
    assert.equal(second.sessionPresent, true)
    clock.advance(broker, 60)
    assert.equal(broker.counters.sessions, 1)
    second.drop()
    clock.advance(broker, 6)
    assert.equal(broker.counters.sessions, 0)
    assert.equal(broker.counters.subscriptions, 0)
    assert.equal((await connect(fields)).sessionPresent, false)
  })

  both(
    'lasts for as long as its connection, whatever its expiry [MQTT-4.1.0-1] [MQTT311-4.1.0-2]',
    async ({ connect, broker, clock }, version) => {
      const client = await connect({ protocolVersion: version, clientId: 'c' })
      await client.subscribe('a', { qos: 1 })
      clock.advance(broker, 10_000)
      await publishFully(await connect(), 'a', 'x', { qos: 1 })
      assert.deepEqual(await payloads(client), ['x'])
    },
  )

  test('with 0xFFFFFFFF, or more than the limit, is kept as long as the limit, and CONNACK says so', async () => {
    const { connect, broker, clock } = await createHarness({ limits: { maximumSessionExpirySeconds: 50 } })
    for (const asked of [0xffff_ffff, 51]) {
      const properties = { sessionExpiryIntervalSeconds: asked }
      const client = await connect({ clientId: 'c', properties })
      assert.equal(client.connack?.properties?.sessionExpiryIntervalSeconds, 50)
      client.drop()
      clock.advance(broker, 49)
      assert.equal(broker.counters.sessions, 1)
      clock.advance(broker, 2)
      assert.equal(broker.counters.sessions, 0)
    }
    const client = await connect({ clientId: 'c', properties: { sessionExpiryIntervalSeconds: 50 } })
    assert.equal(client.connack?.properties?.sessionExpiryIntervalSeconds, undefined)
  })

  test('takes a new expiry with each CONNECT', async () => {
    const { connect, broker, clock } = await createHarness()
    const first = await connect(lasting(5, 'c'))
    first.drop()
    const second = await connect({ ...lasting(5, 'c'), properties: { sessionExpiryIntervalSeconds: 0 } })
    assert.equal(second.sessionPresent, true)
    second.drop()
    assert.equal(broker.counters.sessions, 0)
    clock.advance(broker, 2000)
  })

  test('takes a new expiry with DISCONNECT: longer, shorter, and none', async () => {
    for (const [asked, secondsLeft] of [
      [2000, 1500],
      [0xffff_ffff, 1500],
      [10, 9],
    ] as const) {
      const { connect, broker, clock } = await createHarness()
      const client = await connect(lasting(5, 'c'))
      client.send({ type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: asked } })
      await client.closed()
      clock.advance(broker, secondsLeft)
      assert.equal(broker.counters.sessions, 1)
      clock.advance(broker, 2)
      assert.equal(broker.counters.sessions, asked === 10 ? 0 : 1)
    }
    const { connect, broker } = await createHarness()
    const client = await connect(lasting(5, 'c'))
    client.send({ type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 0 } })
    await client.closed()
    assert.equal(broker.counters.sessions, 0)
  })

  test('that was to end with its connection can not be kept by DISCONNECT [MQTT-4.13.1-1]', async () => {
    const { connect, broker } = await createHarness()
    const client = await connect({ clientId: 'c' })
    client.send({ type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 10 } })
    await expectEnd(client, 0x82)
    assert.equal(broker.counters.sessions, 0)
  })

  test('goes from one version to the other with its client', async () => {
    const { connect } = await createHarness()
    const four = await connect(lasting(4, 'c'))
    await four.subscribe('a', { qos: 1 })
    four.drop()
    const publisher = await connect()
    const userProperties = [['k', 'v']] as const
    await publishFully(publisher, 'a', 'x', { qos: 1, properties: { userProperties } })
    const five = await connect(lasting(5, 'c'))
    assert.equal(five.sessionPresent, true)
    assert.deepEqual((await five.next('publish')).properties?.userProperties, userProperties)
    five.drop()
    const again = await connect(lasting(4, 'c'))
    assert.equal((await again.next('publish')).dup, true)
  })

  both(
    'is taken over with its state: nothing is lost and nothing comes twice [MQTT-3.1.4-3] [MQTT-3.1.2-5] [MQTT311-3.1.4-2]',
    async ({ connect }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a', { qos: 1 })
      const publisher = await connect()
      await publishFully(publisher, 'a', '1', { qos: 1 })
      await publishFully(publisher, 'a', '2', { qos: 1 })
      first.acknowledge('puback', (await first.next('publish')).packetId)
      await first.next('publish')
      const second = await connect(lasting(version, 'c'))
      assert.equal(second.sessionPresent, true)
      const again = await second.next('publish')
      assert.deepEqual([again.payload.toString(), again.dup], ['2', true])
      second.acknowledge('puback', again.packetId)
      await publishFully(publisher, 'a', '3', { qos: 1 })
      assert.deepEqual(await payloads(second), ['3'])
      await expectEnd(first, 0x8e)
    },
  )

  both(
    'has retained messages of a subscription still sent when the connection was lost before they were [MQTT-4.1.0-1] [MQTT311-4.1.0-1]',
    async (_, version) => {
      const { connect } = await createHarness({ limits: { maximumInflight: 1 } })
      const publisher = await connect()
      for (const topicName of ['a/1', 'a/2', 'a/3'])
        await publishFully(publisher, topicName, topicName, { qos: 1, retain: true })
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a/+', { qos: 1 })
      await first.next('publish')
      first.drop()
      const second = await connect(lasting(version, 'c'))
      const received: string[] = []
      for (let count = 0; count < 3; count += 1) {
        const message = await second.next('publish')
        received.push(message.payload.toString())
        second.acknowledge('puback', message.packetId)
      }
      assert.deepEqual(received.toSorted(), ['a/1', 'a/2', 'a/3'])
    },
  )

  both('leaves retained messages behind when it ends [MQTT311-3.1.2-7]', async ({ connect, broker }, version) => {
    const client = await connect({ protocolVersion: version })
    await publishFully(client, 'a', 'stays', { qos: 1, retain: true })
    client.drop()
    assert.equal(broker.counters.sessions, 0)
    const other = await connect()
    await other.subscribe('a')
    assert.deepEqual(await payloads(other), ['stays'])
  })

  test('of many that come and go, nothing is left', async () => {
    const { connect, broker, clock } = await createHarness()
    for (let index = 0; index < 50; index += 1) {
      const client = await connect({
        clientId: `c${index % 7}`,
        properties: { sessionExpiryIntervalSeconds: index % 3 },
      })
      await client.subscribe(`a/${index}`, { qos: 1 })
      await client.subscribe(`$share/g/b/${index % 2}`, { qos: 1 })
      client.drop()
    }
    clock.advance(broker, 10)
    const { sessions, subscriptions, connections } = broker.counters
    assert.deepEqual([sessions, subscriptions, connections], [0, 0, 0])
    assert.deepEqual(await everything(await connect()), [])
  })
})
