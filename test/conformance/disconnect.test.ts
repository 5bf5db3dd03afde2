import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectPacket, createHarness } from '../support/broker-harness.ts'
import { both, expectEnd, hex, lasting, payloads, publishFully } from './both-versions.ts'

describe('DISCONNECT from a client', () => {
  both(
    'closes the connection without an answer, and nothing behind it is looked at',
    async ({ connect, broker }, version) => {
      const watcher = await connect()
      await watcher.subscribe('#')
      const client = await connect({ protocolVersion: version })
      client.sendBytes(Buffer.concat([hex('e0 00'), hex(version === 5 ? '30 05 0001 61 00 78' : '30 04 0001 61 78')]))
      await client.closed()
      assert.equal(client.unread, 0)
      assert.deepEqual(await payloads(watcher), [])
      assert.equal(broker.counters.connections, 1)
    },
  )

  both('brings what was published before it to its subscribers', async ({ connect }, version) => {
    const watcher = await connect()
    await watcher.subscribe('#', { qos: 2 })
    const client = await connect({ protocolVersion: version })
    for (const qos of [0, 1, 2] as const) client.publish('a', String(qos), { qos })
    client.disconnect()
    await client.closed()
    assert.deepEqual((await payloads(watcher)).toSorted(), ['0', '1', '2'])
  })

  both(
    'that is malformed ends the connection as a failure [MQTT-3.14.1-1] [MQTT-4.13.1-1] [MQTT311-3.14.1-1]',
    async ({ connect }, version) => {
      const will = {
        topicName: 'w',
        payload: Buffer.from('gone'),
        qos: 0,
        retain: false,
        delayIntervalSeconds: 0,
      } as const
      const watcher = await connect()
      await watcher.subscribe('w')
      const rows =
        version === 5
          ? ([
              ['e1 00', 0x81],
              ['e0 01 7f', 0x82],
              ['e0 01 8e', 0x82],
              ['e0 03 00 01 25', 0x81],
            ] as const)
          : ([
              ['e2 00', 0],
              ['e0 01 00', 0],
            ] as const)
      for (const [bytes, reasonCode] of rows) {
        const client = await connect({ protocolVersion: version, will })
        client.sendBytes(hex(bytes))
        await expectEnd(client, reasonCode)
        assert.deepEqual(await payloads(watcher), ['gone'])
      }
    },
  )
})

describe('DISCONNECT from the server', () => {
  test('is the last packet, has a reason of its own and no Session Expiry Interval, and the connection closes [MQTT-3.14.4-1] [MQTT-3.14.4-2] [MQTT-3.14.2-1] [MQTT-3.14.2-2] [MQTT-4.13.2-1]', async () => {
    for (const [given, told] of [
      [0x98, 0x98],
      [0x9c, 0x9c],
      [0x84, 0x80],
      [0x8a, 0x87],
    ] as const) {
      const { connect, policy } = await createHarness()
      const client = await connect(lasting(5, 'c'))
      await client.subscribe('a', { qos: 1 })
      const publisher = await connect()
      policy.permits[0]?.changed({ reasonCode: given, reason: 'out', code: 'out' })
      await publishFully(publisher, 'a', 'late', { qos: 1 })
      await publishFully(publisher, 'a', 'late')
      const { reasonCode, properties } = await client.next('disconnect')
      assert.deepEqual([reasonCode, { ...properties }], [told, { reasonString: 'out' }])
      await client.closed()
      assert.equal(client.unread, 0)
    }
  })

  test('does not come before CONNACK: until then the connection closes without it [MQTT-3.14.0-1]', async () => {
    const { open, broker, clock, policy } = await createHarness()
    const silent = open()
    const judged = open()
    policy.admit = () => new Promise(() => {})
    judged.send(connectPacket())
    clock.advance(broker, 11)
    for (const client of [silent, judged]) {
      await client.closed()
      assert.equal(client.receivedBytes.length, 0)
    }
  })

  both('tells of the end of the service', async ({ connect, broker }, version) => {
    const client = await connect({ protocolVersion: version })
    await broker.close()
    await expectEnd(client, 0x8b)
  })
})
