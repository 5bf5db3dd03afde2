import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectPacket, createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, payloads, publishFully } from './both-versions.ts'

describe('a message in flight at QoS 1', () => {
  both(
    'is unacknowledged until PUBACK: it comes again on the next connection, with DUP and its Packet Identifier, and not before [MQTT-4.3.2-3] [MQTT-4.4.0-1] [MQTT-3.3.1-1] [MQTT-3.3.1-3] [MQTT311-4.3.2-1] [MQTT311-4.4.0-1] [MQTT311-3.3.1-1] [MQTT311-2.3.1-4]',
    async ({ connect, clock, broker }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a', { qos: 1 })
      await publishFully(await connect(), 'a', 'x', { qos: 1 })
      const { packetId, dup } = await first.next('publish')
      assert.equal(dup, false)
      clock.advance(broker, 500)
      assert.deepEqual(await everything(first), [])
      first.drop()
      const second = await connect(lasting(version, 'c'))
      const again = await second.next('publish')
      assert.deepEqual([again.packetId, again.dup, again.payload.toString()], [packetId, true, 'x'])
      second.acknowledge('puback', packetId)
      second.drop()
      assert.deepEqual(await everything(await connect(lasting(version, 'c'))), [])
    },
  )

  test('is over with a PUBACK of 0x80 or above [MQTT-4.4.0-2]', async () => {
    const { connect } = await createHarness()
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 1 })
    await publishFully(await connect(), 'a', 'x', { qos: 1 })
    first.acknowledge('puback', (await first.next('publish')).packetId, 0x97)
    first.drop()
    assert.deepEqual(await everything(await connect(lasting(5, 'c'))), [])
  })

  both('that is answered before it comes again does not come again', async (_, version) => {
    const { connect, open } = await createHarness({ limits: { maximumInflight: 2 } })
    const first = await connect(lasting(version, 'c'))
    await first.subscribe('a', { qos: 1 })
    const publisher = await connect()
    for (const payload of ['1', '2', '3']) await publishFully(publisher, 'a', payload, { qos: 1 })
    const ids = [(await first.next('publish')).packetId, (await first.next('publish')).packetId]
    first.drop()
    const second = open(version)
    second.send(connectPacket(lasting(version, 'c')))
    for (const id of ids) second.acknowledge('puback', id)
    await second.next('connack')
    assert.deepEqual(await payloads(second), ['3'])
  })

  both(
    'that is answered as if it were of QoS 2 ends the connection [MQTT-4.13.1-1] [MQTT311-4.8.0-1]',
    async ({ connect }, version) => {
      for (const type of ['pubrec', 'pubcomp'] as const) {
        const client = await connect({ protocolVersion: version })
        await client.subscribe('a', { qos: 1 })
        await publishFully(await connect(), 'a', 'x', { qos: 1 })
        client.acknowledge(type, (await client.next('publish')).packetId)
        await expectEnd(client, 0x82)
      }
    },
  )
})

describe('a message in flight at QoS 2', () => {
  both(
    'is unacknowledged until PUBREC, then its PUBREL until PUBCOMP, and PUBLISH comes no more [MQTT-4.3.3-3] [MQTT-4.3.3-4] [MQTT-4.3.3-5] [MQTT-4.3.3-6] [MQTT-4.4.0-1] [MQTT-2.2.1-5] [MQTT311-4.3.3-1] [MQTT311-4.4.0-1] [MQTT311-2.3.1-6]',
    async ({ connect }, version) => {
      const first = await connect(lasting(version, 'c'))
      await first.subscribe('a', { qos: 2 })
      await publishFully(await connect(), 'a', 'x', { qos: 2 })
      const { packetId } = await first.next('publish')
      first.drop()
      const second = await connect(lasting(version, 'c'))
      const again = await second.next('publish')
      assert.deepEqual([again.packetId, again.dup, again.qos], [packetId, true, 2])
      second.acknowledge('pubrec', packetId)
      assert.equal((await second.next('pubrel')).packetId, packetId)
      for (let count = 0; count < 3; count += 1) {
        const next = await connect(lasting(version, 'c'))
        assert.equal((await next.next('pubrel')).packetId, packetId)
        assert.deepEqual(await everything(next), [])
        if (count === 2) next.acknowledge('pubcomp', packetId)
      }
      assert.deepEqual(await everything(await connect(lasting(version, 'c'))), [])
    },
  )

  test('is over with a PUBREC of 0x80 or above, without PUBREL [MQTT-4.3.3-4] [MQTT-4.4.0-2]', async () => {
    const { connect } = await createHarness()
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 2 })
    await publishFully(await connect(), 'a', 'x', { qos: 1 })
    await publishFully(await connect(), 'a', 'x', { qos: 2 })
    first.acknowledge('puback', (await first.next('publish')).packetId)
    first.acknowledge('pubrec', (await first.next('publish')).packetId, 0x83)
    assert.deepEqual(await everything(first), [])
    first.drop()
    assert.deepEqual(await everything(await connect(lasting(5, 'c'))), [])
  })

  test('does not expire once it was sent, and nothing is left of its interval [MQTT-4.3.3-7]', async () => {
    const { connect, clock, broker } = await createHarness()
    const first = await connect(lasting(5, 'c'))
    await first.subscribe('a', { qos: 2 })
    await publishFully(await connect(), 'a', 'x', { qos: 2, properties: { messageExpiryIntervalSeconds: 5 } })
    const { packetId } = await first.next('publish')
    first.drop()
    clock.advance(broker, 60)
    const second = await connect(lasting(5, 'c'))
    const again = await second.next('publish')
    assert.deepEqual([again.packetId, again.properties?.messageExpiryIntervalSeconds], [packetId, 0])
    second.acknowledge('pubrec', packetId)
    await second.next('pubrel')
  })

  both(
    'that is answered as if it were of QoS 1, or too early, ends the connection [MQTT-4.13.1-1] [MQTT311-4.8.0-1]',
    async ({ connect }, version) => {
      for (const type of ['puback', 'pubcomp'] as const) {
        const client = await connect({ protocolVersion: version })
        await client.subscribe('a', { qos: 2 })
        await publishFully(await connect(), 'a', 'x', { qos: 2 })
        client.acknowledge(type, (await client.next('publish')).packetId)
        await expectEnd(client, 0x82)
      }
    },
  )

  test('nothing is known of: PUBREC gets PUBREL 0x92 and PUBREL gets PUBCOMP 0x92, without Reason String and User Properties [MQTT-3.6.2-1] [MQTT-3.6.2-2] [MQTT-3.6.2-3] [MQTT-3.7.2-1] [MQTT-3.7.2-2] [MQTT-3.7.2-3]', async () => {
    const { connect } = await createHarness()
    for (const maximumPacketSizeBytes of [200, 1_000_000]) {
      const client = await connect({ properties: { maximumPacketSizeBytes } })
      client.acknowledge('pubrec', 77)
      assert.deepEqual(await client.next('pubrel'), {
        type: 'pubrel',
        packetId: 77,
        reasonCode: 0x92,
        properties: undefined,
      })
      client.acknowledge('pubrel', 77)
      assert.deepEqual(await client.next('pubcomp'), {
        type: 'pubcomp',
        packetId: 77,
        reasonCode: 0x92,
        properties: undefined,
      })
      client.acknowledge('puback', 77)
      client.acknowledge('pubcomp', 77)
      assert.deepEqual(await client.sync(), [])
    }
  })
})

describe('Packet Identifiers of the server', () => {
  both(
    'are not 0 and not in use, though they go round [MQTT-2.2.1-4] [MQTT-4.3.2-1] [MQTT-4.3.3-1] [MQTT311-2.3.1-4] [MQTT311-4.3.2-1] [MQTT311-4.3.3-1]',
    async ({ connect }, version) => {
      const client = await connect({ protocolVersion: version })
      await client.subscribe('a', { qos: 2 })
      const publisher = await connect()
      publisher.publish('a', 'kept', { qos: 1 })
      publisher.publish('a', 'kept', { qos: 2 })
      const kept = [(await client.next('publish')).packetId, (await client.next('publish')).packetId]
      client.acknowledge('pubrec', kept[1] as number)
      await client.next('pubrel')
      const seen = new Set(kept)
      for (let round = 0; round < 140; round += 1) {
        for (let index = 0; index < 500; index += 1) publisher.publish('a', '', { qos: 1 })
        for (let index = 0; index < 500; index += 1) {
          const { packetId } = await client.next('publish')
          assert.ok(packetId > 0 && !kept.includes(packetId))
          seen.add(packetId)
          client.acknowledge('puback', packetId)
        }
        await publisher.sync()
      }
      assert.equal(seen.size, 65_535)
    },
  )
})
