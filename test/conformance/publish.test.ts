import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryEngine } from '../../src/engine/memory/memory.ts'
import type { AppendRequest } from '../../src/broker/ports/engine.ts'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, packetBytes, payloads, publishFully } from './both-versions.ts'

/** A memory engine that owns messages only when a test allows it. */
class SlowEngine extends MemoryEngine {
  readonly held: { readonly partition: number; readonly request: AppendRequest }[] = []

  override append(partition: number, request: AppendRequest): void {
    this.held.push({ partition, request })
  }

  release(): void {
    for (const { partition, request } of this.held.splice(0)) super.append(partition, request)
  }

  fail(reasonCode: number): void {
    for (const { request } of this.held.splice(0)) request.failed({ reasonCode, reason: 'the disk is full' })
  }
}

describe('a PUBLISH from a client', () => {
  both(
    'is answered as its QoS asks, with its Packet Identifier [MQTT-3.3.4-1] [MQTT-2.2.1-5] [MQTT-4.3.2-4] [MQTT-4.3.3-8] [MQTT-4.3.3-11] [MQTT311-3.3.4-1] [MQTT311-2.3.1-6] [MQTT311-4.3.2-2] [MQTT311-4.3.3-2]',
    async ({ connect }, version) => {
      const subscriber = await connect()
      await subscriber.subscribe('a')
      const client = await connect({ protocolVersion: version })
      client.publish('a', '0')
      assert.deepEqual(await client.sync(), [])
      client.publish('a', '1', { qos: 1, packetId: 65_535 })
      assert.deepEqual((await client.next('puback')).packetId, 65_535)
      client.publish('a', '2', { qos: 2, packetId: 258 })
      assert.deepEqual((await client.next('pubrec')).packetId, 258)
      client.acknowledge('pubrel', 258)
      assert.deepEqual((await client.next('pubcomp')).packetId, 258)
      assert.deepEqual(await client.sync(), [])
      assert.deepEqual(await payloads(subscriber), ['0', '1', '2'])
    },
  )

  for (const qos of [1, 2] as const) {
    both(
      `at QoS ${qos} is acknowledged when it is owned, and not before [MQTT-4.3.2-4] [MQTT-4.3.3-8] [MQTT311-4.3.2-2] [MQTT311-4.3.3-2]`,
      async (_, version) => {
        const engine = new SlowEngine()
        const { connect } = await createHarness({ engine })
        const subscriber = await connect()
        await subscriber.subscribe('a')
        const client = await connect({ protocolVersion: version })
        client.publish('a', 'x', { qos, packetId: 7 })
        assert.deepEqual(await everything(client), [])
        assert.deepEqual(await payloads(subscriber), [])
        engine.release()
        const [answer, ...rest] = await everything(client)
        assert.equal(answer?.type, qos === 1 ? 'puback' : 'pubrec')
        assert.deepEqual(rest, [])
        assert.deepEqual(await payloads(subscriber), ['x'])
      },
    )
  }

  test('at QoS 2 that comes again before it is owned gets one PUBREC, then [MQTT-4.3.3-8] [MQTT-4.3.3-10]', async () => {
    const engine = new SlowEngine()
    const { connect } = await createHarness({ engine })
    const client = await connect()
    client.publish('a', 'x', { qos: 2, packetId: 7 })
    client.publish('a', 'x', { qos: 2, packetId: 7, dup: true })
    assert.deepEqual(await everything(client), [])
    engine.release()
    assert.equal((await client.next('pubrec')).packetId, 7)
    assert.deepEqual(await everything(client), [])
  })

  test('at QoS 2 that comes again on a new connection before it is owned is answered there [MQTT-4.3.3-8] [MQTT-4.3.3-10]', async () => {
    const engine = new SlowEngine()
    const { connect } = await createHarness({ engine })
    const subscriber = await connect()
    await subscriber.subscribe('a')
    const first = await connect(lasting(5, 'c'))
    first.publish('a', 'x', { qos: 2, packetId: 7 })
    first.drop()
    const second = await connect(lasting(5, 'c'))
    second.publish('a', 'x', { qos: 2, packetId: 7, dup: true })
    assert.deepEqual(await everything(second), [])
    engine.release()
    assert.equal((await second.next('pubrec')).packetId, 7)
    second.acknowledge('pubrel', 7)
    assert.equal((await second.next('pubcomp')).reasonCode, 0)
    assert.deepEqual(await payloads(subscriber), ['x'])
  })

  both('at QoS 2 can not be released before its PUBREC', async (_, version) => {
    const engine = new SlowEngine()
    const { connect } = await createHarness({ engine })
    const client = await connect({ protocolVersion: version })
    client.publish('a', 'x', { qos: 2, packetId: 7 })
    client.acknowledge('pubrel', 7)
    await expectEnd(client, 0x82)
  })

  both(
    'that could not be owned is refused, or ends the connection where there is no word for it [MQTT-4.3.3-9] [MQTT-3.4.2-1] [MQTT-3.5.2-1] [MQTT311-4.8.0-2]',
    async (_, version) => {
      const engine = new SlowEngine()
      const { connect } = await createHarness({ engine })
      for (const [given, told] of [
        [0x97, 0x97],
        [0x89, 0x83],
      ] as const) {
        const client = await connect({ protocolVersion: version })
        client.publish('a', 'x', { qos: 1, packetId: 1 })
        client.publish('a', 'x', { qos: 2, packetId: 2 })
        await client.sync()
        engine.fail(given)
        if (version === 4) {
          await expectEnd(client, 0)
          continue
        }
        assert.equal((await client.next('puback')).reasonCode, told)
        assert.equal((await client.next('pubrec')).reasonCode, told)
        client.publish('a', 'anew', { qos: 2, packetId: 2 })
        await client.sync()
        engine.release()
        assert.equal((await client.next('pubrec')).reasonCode, 0x10)
      }
    },
  )

  both(
    'at QoS 1 with the Packet Identifier of an acknowledged one is new, whatever its DUP [MQTT-4.3.2-5] [MQTT311-4.3.2-2]',
    async ({ connect }, version) => {
      const subscriber = await connect()
      await subscriber.subscribe('a')
      const client = await connect({ protocolVersion: version })
      await publishFully(client, 'a', '1', { qos: 1, packetId: 9 })
      await publishFully(client, 'a', '2', { qos: 1, packetId: 9, dup: true })
      assert.deepEqual(await payloads(subscriber), ['1', '2'])
    },
  )

  both(
    'at QoS 2 that comes again before PUBREL gets PUBREC again and is delivered once, also after coming back [MQTT-4.3.3-10] [MQTT311-4.3.3-2]',
    async ({ connect }, version) => {
      const subscriber = await connect()
      await subscriber.subscribe('a', { qos: 0 })
      const first = await connect(lasting(version, 'c'))
      first.publish('a', 'x', { qos: 2, packetId: 3 })
      await first.next('pubrec')
      first.publish('a', 'x', { qos: 2, packetId: 3, dup: true })
      assert.equal((await first.next('pubrec')).packetId, 3)
      first.drop()
      const second = await connect(lasting(version, 'c'))
      second.publish('a', 'x', { qos: 2, packetId: 3, dup: true })
      assert.equal((await second.next('pubrec')).packetId, 3)
      const third = await connect(lasting(version, 'c'))
      third.acknowledge('pubrel', 3)
      assert.equal((await third.next('pubcomp')).reasonCode, 0)
      third.acknowledge('pubrel', 3)
      assert.equal((await third.next('pubcomp')).reasonCode, version === 5 ? 0x92 : 0)
      assert.deepEqual(await payloads(subscriber), ['x'])
    },
  )

  both(
    'at QoS 2 after PUBCOMP is a new one by the same Packet Identifier [MQTT-4.3.3-12] [MQTT311-4.3.3-2]',
    async ({ connect }, version) => {
      const subscriber = await connect()
      await subscriber.subscribe('a')
      const client = await connect({ protocolVersion: version })
      await publishFully(client, 'a', '1', { qos: 2, packetId: 3 })
      await publishFully(client, 'a', '2', { qos: 2, packetId: 3, dup: true })
      assert.deepEqual(await payloads(subscriber), ['1', '2'])
    },
  )

  test('that is refused at QoS 2 leaves its Packet Identifier free [MQTT-4.3.3-9]', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect()
    const permit = policy.permits[0]
    assert.ok(permit)
    const allow = permit.publish
    permit.publish = () => ({ allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold: 'close' })
    client.publish('a', 'x', { qos: 2, packetId: 3 })
    assert.equal((await client.next('pubrec')).reasonCode, 0x87)
    permit.publish = allow
    client.publish('a', 'x', { qos: 2, packetId: 3 })
    assert.equal((await client.next('pubrec')).reasonCode, 0x10)
  })

  test('at QoS 2 is brought to its end though the message has expired [MQTT-4.3.3-13]', async () => {
    const { connect, broker, clock } = await createHarness()
    const client = await connect()
    client.publish('a', 'x', { qos: 2, packetId: 3, properties: { messageExpiryIntervalSeconds: 1 } })
    await client.next('pubrec')
    clock.advance(broker, 10)
    client.acknowledge('pubrel', 3)
    assert.equal((await client.next('pubcomp')).reasonCode, 0)
  })

  test('that is not allowed in MQTT 3.1.1 ends the connection, or is acknowledged where the policy wants it passed over [MQTT311-3.3.5-2]', async () => {
    for (const untold of ['close', 'discard'] as const) {
      for (const qos of [0, 1, 2] as const) {
        const { connect, policy } = await createHarness()
        const watcher = await connect()
        await watcher.subscribe('#')
        const client = await connect({ protocolVersion: 4 })
        const permit = policy.permits[1]
        assert.ok(permit)
        permit.publish = () => ({ allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold })
        const packetId = client.publish('a', 'x', { qos })
        if (untold === 'close') await expectEnd(client, 0)
        else {
          const answers = (await client.sync()).map((packet) =>
            'packetId' in packet ? [packet.type, packet.packetId] : packet,
          )
          assert.deepEqual(answers, [[], [['puback', packetId]], [['pubrec', packetId]]][qos])
        }
        assert.deepEqual(await payloads(watcher), [])
      }
    }
  })

  both(
    'that is malformed ends the connection: QoS 3, DUP at QoS 0, a wildcard, no Topic Name, Packet Identifier 0 [MQTT-4.13.1-1] [MQTT-3.3.1-4] [MQTT-3.3.1-2] [MQTT-3.3.2-2] [MQTT-4.7.0-1] [MQTT311-3.3.1-4] [MQTT311-3.3.2-2] [MQTT311-4.8.0-1]',
    async ({ connect }, version) => {
      const properties = version === 5 ? '00' : ''
      const rest = (bytes: string): string => `${bytes}${properties}`
      for (const [bytes, reasonCode] of [
        [packetBytes('36', rest('0001610001')), 0x81],
        [packetBytes('38', rest('000161')), 0x81],
        [packetBytes('30', rest('000123')), 0x90],
        [packetBytes('30', rest('0003612f2b')), 0x90],
        [packetBytes('30', rest('0000')), version === 5 ? 0x82 : 0x90],
        [packetBytes('32', rest('0001610000')), 0x82],
        [packetBytes('30', rest('00026100')), 0x81],
        [packetBytes('30', rest('0001ff')), 0x81],
        [packetBytes('30', '0005 6161'), 0x81],
      ] as const) {
        const client = await connect({ protocolVersion: version })
        client.sendBytes(bytes)
        await expectEnd(client, reasonCode)
      }
    },
  )

  test('with a Subscription Identifier is a protocol error [MQTT-3.3.4-6]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    client.publish('a', 'x', { properties: { subscriptionIdentifiers: [1] } })
    await expectEnd(client, 0x82)
  })

  test('whose payload is not the UTF-8 that it says is refused, and PUBACK says why [MQTT-3.4.2-1]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    client.publish('a', '', { qos: 1, payload: Buffer.from([0xff]), properties: { payloadFormatIndicator: 1 } })
    assert.equal((await client.next('puback')).reasonCode, 0x99)
    client.publish('a', 'ä', { qos: 1, properties: { payloadFormatIndicator: 1 } })
    assert.equal((await client.next('puback')).reasonCode, 0x10)
  })

  test('without subscribers is answered with 0x10 [MQTT-3.4.2-1] [MQTT-3.5.2-1]', async () => {
    const { connect } = await createHarness()
    const away = await connect(lasting(5, 'away'))
    await away.subscribe('kept', { qos: 1 })
    away.drop()
    const client = await connect()
    for (const [topicName, reasonCode] of [
      ['nobody', 0x10],
      ['kept', 0],
    ] as const) {
      client.publish(topicName, 'x', { qos: 1 })
      assert.equal((await client.next('puback')).reasonCode, reasonCode)
      client.publish(topicName, 'x', { qos: 2 })
      assert.equal((await client.next('pubrec')).reasonCode, reasonCode)
    }
  })
})
