import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, hex, packetBytes, payloads, publishFully } from './both-versions.ts'

describe('bytes that are no packet end the connection', () => {
  for (const [title, bytes, reasonCode] of [
    ['a packet of type 0', '00 00', 0x81],
    ['CONNACK', '20 02 0000', 0x82],
    ['SUBACK', '90 04 0001 00 00', 0x82],
    ['UNSUBACK', 'b0 02 0001', 0x82],
    ['PINGRESP', 'd0 00', 0x82],
    ['a Remaining Length of five bytes', '30 ff ff ff ff 01', 0x81],
    ['PUBACK with flags [MQTT-2.1.3-1] [MQTT311-2.2.2-1] [MQTT311-2.2.2-2]', '41 02 0001', 0x81],
    ['PUBREC with flags [MQTT-2.1.3-1] [MQTT311-2.2.2-1] [MQTT311-2.2.2-2]', '52 02 0001', 0x81],
    ['PUBREL without its flags [MQTT-3.6.1-1] [MQTT311-3.6.1-1]', '60 02 0001', 0x81],
    ['PUBCOMP with flags [MQTT-2.1.3-1] [MQTT311-2.2.2-1] [MQTT311-2.2.2-2]', '72 02 0001', 0x81],
    ['PUBACK with Packet Identifier 0', '40 02 0000', 0x82],
    ['PUBREL without a Packet Identifier', '62 00', 0x81],
    ['PUBCOMP cut short', '70 01 00', 0x81],
  ] as const) {
    both(`${title} [MQTT-4.13.1-1] [MQTT311-4.8.0-1]`, async ({ connect, broker }, version) => {
      const client = await connect({ protocolVersion: version })
      client.sendBytes(hex(bytes))
      await expectEnd(client, reasonCode)
      assert.equal(broker.counters.connections, 0)
    })
  }

  test('an acknowledgement with a Reason Code that it does not have [MQTT-3.4.2-1] [MQTT-3.5.2-1] [MQTT-3.6.2-1] [MQTT-3.7.2-1] [MQTT-4.13.1-1]', async () => {
    for (const bytes of ['40 03 0001 92', '50 03 0001 01', '62 03 0001 10', '70 03 0001 80']) {
      const { connect } = await createHarness()
      const client = await connect()
      client.sendBytes(hex(bytes))
      await expectEnd(client, 0x82)
    }
  })

  both('packets before them are handled, packets behind them are not', async ({ connect }, version) => {
    const watcher = await connect()
    await watcher.subscribe('#')
    const client = await connect({ protocolVersion: version })
    const publish = packetBytes('30', version === 5 ? '000161 00 78' : '000161 78')
    client.sendBytes(Buffer.concat([publish, hex('00 00'), publish]))
    await expectEnd(client, 0x81)
    assert.deepEqual(await payloads(watcher), ['x'])
  })

  both('and nobody else is disturbed', async ({ connect }, version) => {
    const bystander = await connect({ protocolVersion: version })
    await bystander.subscribe('a', { qos: 1 })
    for (let index = 0; index < 50; index += 1) {
      const client = await connect({ protocolVersion: version })
      client.sendBytes(hex('ff ff ff ff ff'))
      await client.closed()
    }
    await publishFully(await connect(), 'a', 'x', { qos: 1 })
    assert.deepEqual(await payloads(bystander), ['x'])
  })
})

describe('UTF-8', () => {
  for (const [title, bytes] of [
    ['a surrogate [MQTT-1.5.4-1] [MQTT311-1.5.3-1]', 'eda080'],
    ['an overlong form [MQTT-1.5.4-1] [MQTT311-1.5.3-1]', 'c0af'],
    ['a code point beyond U+10FFFF [MQTT-1.5.4-1] [MQTT311-1.5.3-1]', 'f4908080'],
    ['a byte that begins nothing [MQTT-1.5.4-1] [MQTT311-1.5.3-1]', '80'],
    ['U+0000 [MQTT-1.5.4-2] [MQTT311-1.5.3-2] [MQTT-4.7.3-2] [MQTT311-4.7.3-2]', '610062'],
  ] as const) {
    both(`${title} in a Topic Name or Topic Filter ends the connection`, async ({ connect, broker }, version) => {
      const text = `00${(bytes.length / 2).toString(16).padStart(2, '0')}${bytes}`
      const properties = version === 5 ? '00' : ''
      for (const packet of [
        packetBytes('30', `${text}${properties}`),
        packetBytes('82', `0001${properties}${text}00`),
        packetBytes('a2', `0001${properties}${text}`),
      ]) {
        const client = await connect({ protocolVersion: version })
        client.sendBytes(packet)
        await expectEnd(client, 0x81)
      }
      assert.equal(broker.counters.subscriptions, 0)
    })
  }

  both(
    'goes through as it came: U+FEFF, combining characters, non-characters, all planes [MQTT-1.5.4-3] [MQTT-4.7.3-4] [MQTT311-1.5.3-3] [MQTT311-4.7.3-4]',
    async ({ connect }, version) => {
      const client = await connect({ protocolVersion: version })
      const names = ['\uFEFFa', 'a\uFEFF', 'é', 'e\u0301', '\uFFFE', '😀', '\u{10FFFF}', ' ', '\u0001']
      for (const topicName of names) {
        const subscriber = await connect({ protocolVersion: version })
        await subscriber.subscribe(topicName)
        for (const other of names) await publishFully(client, other, other)
        const received = (await everything(subscriber)).map((packet) =>
          packet.type === 'publish' ? packet.topicName : packet.type,
        )
        assert.deepEqual(received, [topicName])
        subscriber.drop()
      }
    },
  )
})

describe('lengths', () => {
  both(
    'a Topic Name and a Topic Filter of 65,535 bytes are read whole [MQTT-4.7.3-3] [MQTT311-4.7.3-3]',
    async (_, version) => {
      const { connect } = await createHarness({ limits: { maximumTopicBytes: 65_535 } })
      const topicName = `${'ä'.repeat(32_767)}x`
      const client = await connect({ protocolVersion: version })
      assert.equal(await client.subscribe(topicName, { qos: 1 }), 1)
      await publishFully(await connect({ protocolVersion: version }), topicName, 'x', { qos: 1 })
      assert.equal((await client.next('publish')).topicName, topicName)
    },
  )

  both(
    'a packet of exactly the maximum is read, a byte more ends the connection [MQTT-3.2.2-15]',
    async (_, version) => {
      const { connect } = await createHarness({ limits: { maximumPacketSizeBytes: 1000 } })
      const overhead = 3 + 3 + (version === 5 ? 1 : 0)
      const watcher = await connect()
      await watcher.subscribe('a')
      const client = await connect({ protocolVersion: version })
      if (version === 5) assert.equal(client.connack?.properties?.maximumPacketSizeBytes, 1000)
      await publishFully(client, 'a', 'x'.repeat(1000 - overhead))
      assert.equal((await watcher.next('publish')).payload.length, 1000 - overhead)
      client.publish('a', 'x'.repeat(1001 - overhead))
      await expectEnd(client, 0x95)
    },
  )

  test('numbers longer than necessary are read: only the sender must use the shortest form [MQTT-1.5.5-1]', async () => {
    const { connect } = await createHarness()
    const watcher = await connect()
    await watcher.subscribe('a')
    const client = await connect()
    client.sendBytes(hex('30 87 80 00 0001 61 80 80 00 78'))
    assert.equal((await watcher.next('publish')).payload.toString(), 'x')
    assert.equal(Buffer.concat(watcher.receivedBytes).subarray(-7).toString('hex'), '30050001610078')
  })
})
