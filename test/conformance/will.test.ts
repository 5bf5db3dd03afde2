import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectPacket, createHarness } from '../support/broker-harness.ts'
import type { Harness, TestClient } from '../support/broker-harness.ts'
import type { WillMessage } from '../../src/mqtt/packet.ts'
import { both, everything, expectEnd, hex, lasting, payloads } from './both-versions.ts'

const will: WillMessage = {
  topicName: 'w',
  payload: Buffer.from('gone'),
  qos: 1,
  retain: false,
  delayIntervalSeconds: 0,
}
const delayed: WillMessage = { ...will, delayIntervalSeconds: 10 }

async function watcherOf({ connect }: Harness): Promise<TestClient> {
  const watcher = await connect()
  await watcher.subscribe('w', { qos: 2, retainAsPublished: true })
  return watcher
}

describe('the Will Message goes out', () => {
  both(
    'when the network fails, at once and once [MQTT-3.1.2-7] [MQTT-3.1.2-8] [MQTT-3.1.2-10] [MQTT311-3.1.2-8] [MQTT311-3.1.2-10]',
    async (harness, version) => {
      const watcher = await watcherOf(harness)
      const client = await harness.connect({ ...lasting(version, 'c'), will })
      client.drop()
      assert.deepEqual(await payloads(watcher), ['gone'])
      const back = await harness.connect(lasting(version, 'c'))
      back.drop()
      harness.clock.advance(harness.broker, 2000)
      assert.deepEqual(await payloads(watcher), [])
    },
  )

  both('when the client breaks the protocol [MQTT-3.1.2-8] [MQTT311-3.1.2-8]', async (harness, version) => {
    const watcher = await watcherOf(harness)
    const client = await harness.connect({ protocolVersion: version, will })
    client.sendBytes(hex('00 00'))
    await expectEnd(client, 0x81)
    assert.deepEqual(await payloads(watcher), ['gone'])
  })

  both(
    'when the client is silent for too long [MQTT-3.1.2-8] [MQTT-3.1.2-22] [MQTT311-3.1.2-24]',
    async (harness, version) => {
      const watcher = await watcherOf(harness)
      const client = await harness.connect({ protocolVersion: version, will, keepAliveSeconds: 10 })
      harness.clock.advance(harness.broker, 15)
      await expectEnd(client, 0x8d)
      assert.deepEqual(await payloads(watcher), ['gone'])
    },
  )

  both('when the connection is taken over [MQTT-3.1.2-8] [MQTT311-3.1.2-8]', async (harness, version) => {
    const watcher = await watcherOf(harness)
    await harness.connect({ ...lasting(version, 'c'), will })
    await harness.connect(lasting(version, 'c'))
    assert.deepEqual(await payloads(watcher), ['gone'])
  })

  both('when the server ends the connection [MQTT-3.1.2-8] [MQTT311-3.1.2-8]', async (harness, version) => {
    const watcher = await watcherOf(harness)
    const client = await harness.connect({ protocolVersion: version, will })
    await client.subscribe('a')
    const permit = harness.policy.permits[1]
    assert.ok(permit)
    permit.subscribe = () => ({ allowed: false, reasonCode: 0x87, reason: '', code: 'no', untold: 'close' })
    permit.changed()
    await expectEnd(client, 0x87)
    assert.deepEqual(await payloads(watcher), ['gone'])
  })

  test('on DISCONNECT 0x04, and on any other Reason Code but 0x00 [MQTT-3.1.2-8]', async () => {
    for (const reasonCode of [0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99]) {
      const harness = await createHarness()
      const watcher = await watcherOf(harness)
      const client = await harness.connect({ will })
      client.disconnect(reasonCode)
      await client.closed()
      assert.deepEqual(await payloads(watcher), ['gone'])
    }
  })

  test('after its delay, when the Session lives on for longer [MQTT-3.1.2-8]', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const client = await harness.connect({ ...lasting(5, 'c'), will: delayed })
    client.drop()
    harness.clock.advance(harness.broker, 9)
    assert.deepEqual(await payloads(watcher), [])
    harness.clock.advance(harness.broker, 1)
    assert.deepEqual(await payloads(watcher), ['gone'])
    assert.equal(harness.broker.counters.sessions, 2)
  })

  test('with the end of the Session, when that comes before the delay has passed [MQTT-3.1.2-8]', async () => {
    for (const sessionExpiryIntervalSeconds of [0, 4]) {
      const harness = await createHarness()
      const watcher = await watcherOf(harness)
      const client = await harness.connect({
        clientId: 'c',
        will: delayed,
        properties: { sessionExpiryIntervalSeconds },
      })
      client.drop()
      if (sessionExpiryIntervalSeconds > 0) {
        harness.clock.advance(harness.broker, 3)
        assert.deepEqual(await payloads(watcher), [])
        harness.clock.advance(harness.broker, 1)
      }
      assert.deepEqual(await payloads(watcher), ['gone'])
      harness.clock.advance(harness.broker, 100)
      assert.deepEqual(await payloads(watcher), [])
    }
  })

  test('once, when delay and Session end in the same second [MQTT-3.1.2-8] [MQTT-3.1.2-10]', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const properties = { sessionExpiryIntervalSeconds: 10 }
    const client = await harness.connect({ clientId: 'c', will: delayed, properties })
    client.drop()
    harness.clock.advance(harness.broker, 30)
    assert.deepEqual(await payloads(watcher), ['gone'])
  })

  test('at once, when DISCONNECT 0x04 ends the Session with the connection [MQTT-3.1.2-8]', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const client = await harness.connect({ ...lasting(5, 'c'), will: delayed })
    client.send({ type: 'disconnect', reasonCode: 4, properties: { sessionExpiryIntervalSeconds: 0 } })
    await client.closed()
    assert.deepEqual(await payloads(watcher), ['gone'])
  })

  test('when Clean Start ends the Session within the delay [MQTT-3.1.2-8]', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const client = await harness.connect({ ...lasting(5, 'c'), will: delayed })
    client.drop()
    await harness.connect({ ...lasting(5, 'c'), cleanStart: true })
    assert.deepEqual(await payloads(watcher), ['gone'])
  })
})

describe('the Will Message does not go out', () => {
  both(
    'after DISCONNECT 0x00 [MQTT-3.14.4-3] [MQTT-3.1.2-10] [MQTT311-3.14.4-3] [MQTT311-3.1.2-10]',
    async (harness, version) => {
      const watcher = await watcherOf(harness)
      const client = await harness.connect({ ...lasting(version, 'c'), will })
      client.disconnect()
      await client.closed()
      harness.clock.advance(harness.broker, 2000)
      assert.deepEqual(await payloads(watcher), [])
    },
  )

  both('where there is none [MQTT311-3.1.2-12]', async (harness, version) => {
    const watcher = await harness.connect()
    await watcher.subscribe('#')
    const client = await harness.connect({ protocolVersion: version })
    client.drop()
    assert.deepEqual(await payloads(watcher), [])
  })

  test('when the client is back within the delay, by a new connection or a take-over [MQTT-3.1.3-9]', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const first = await harness.connect({ ...lasting(5, 'c'), will: delayed })
    first.drop()
    harness.clock.advance(harness.broker, 5)
    await harness.connect({ ...lasting(5, 'c'), will: delayed })
    const third = await harness.connect(lasting(5, 'c'))
    harness.clock.advance(harness.broker, 50)
    third.drop()
    harness.clock.advance(harness.broker, 2000)
    assert.deepEqual(await payloads(watcher), [])
  })

  both('of a CONNECT that was refused', async (harness, version) => {
    const watcher = await watcherOf(harness)
    harness.policy.admit = () => ({ allowed: false, reasonCode: 0x87, reason: '', code: 'no', untold: 'close' })
    const client = harness.open(version)
    client.send(connectPacket({ protocolVersion: version, clientId: 'c', will }))
    await client.next('connack')
    await client.closed()
    assert.deepEqual(await payloads(watcher), [])
  })
})

describe('the Will Message is published', () => {
  both(
    'retained or not, as Will Retain says [MQTT-3.1.2-14] [MQTT-3.1.2-15] [MQTT311-3.1.2-16] [MQTT311-3.1.2-17]',
    async (harness, version) => {
      const watcher = await watcherOf(harness)
      for (const retain of [false, true]) {
        const client = await harness.connect({ protocolVersion: version, will: { ...will, retain } })
        client.drop()
        assert.equal((await watcher.next('publish')).retain, retain)
        const later = await harness.connect()
        await later.subscribe('w')
        assert.deepEqual(await payloads(later), retain ? ['gone'] : [])
      }
    },
  )

  both('at its QoS', async (harness, version) => {
    const watcher = await watcherOf(harness)
    for (const qos of [0, 1, 2] as const) {
      const client = await harness.connect({ protocolVersion: version, will: { ...will, qos } })
      client.drop()
      assert.equal((await watcher.next('publish')).qos, qos)
    }
  })

  test('with its properties, the User Properties in their order [MQTT-3.1.3-10]', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const properties = {
      payloadFormatIndicator: 1,
      messageExpiryIntervalSeconds: 60,
      contentType: 'text/plain',
      responseTopic: 'r',
      correlationData: Buffer.from([0, 1]),
      userProperties: [
        ['b', '1'],
        ['a', '2'],
        ['b', '3'],
      ],
    } as const
    const client = await harness.connect({ ...lasting(5, 'c'), will: { ...delayed, properties } })
    client.drop()
    harness.clock.advance(harness.broker, 10)
    // The message expires a minute after it was published, not a minute after CONNECT.
    assert.deepEqual({ ...(await watcher.next('publish')).properties }, properties)
  })

  test('only if it is still allowed when it is due', async () => {
    const harness = await createHarness()
    const watcher = await watcherOf(harness)
    const client = await harness.connect({ will })
    const permit = harness.policy.permits[1]
    assert.ok(permit)
    permit.publish = () => ({ allowed: false, reasonCode: 0x87, reason: '', code: 'no', untold: 'close' })
    client.drop()
    assert.deepEqual(await everything(watcher), [])
  })
})
