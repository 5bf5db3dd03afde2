import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectPacket, createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, hex, lasting, payloads } from './both-versions.ts'

/** The bytes `10 .. 'MQTT' level`, and behind them the rest. */
function connectBytes(level: number, rest: string, name = 'MQTT'): Buffer {
  const body = Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([level]), hex(rest)])
  return Buffer.concat([Buffer.from([0x10, body.length]), body])
}

async function connackOf(limits: object): Promise<object | undefined> {
  const { open } = await createHarness({ limits })
  const client = open()
  client.send(connectPacket({ keepAliveSeconds: 50, clientId: 'c' }))
  return (await client.next('connack')).properties
}

describe('the first packet', () => {
  for (const [name, bytes] of [
    ['PUBLISH', '3003000161'],
    ['PUBACK', '40020001'],
    ['PUBREC', '50020001'],
    ['PUBREL', '62020001'],
    ['PUBCOMP', '70020001'],
    ['SUBSCRIBE', '82060001000161 00'],
    ['UNSUBSCRIBE', 'a2050001000161'],
    ['PINGREQ', 'c000'],
    ['DISCONNECT', 'e000'],
    ['AUTH', 'f000'],
    ['a packet that only servers send', '20020000'],
    ['a packet of type 0', '0000'],
    ['what is no MQTT', '474554202f'],
  ] as const) {
    test(`${name} before CONNECT closes the connection without an answer [MQTT-3.1.0-1] [MQTT311-3.1.0-1] [MQTT-3.14.0-1]`, async () => {
      const { open } = await createHarness()
      const client = open()
      client.sendBytes(hex(bytes))
      await client.closed()
      assert.equal(client.receivedBytes.length, 0)
    })
  }

  both('a second CONNECT ends the connection [MQTT-3.1.0-2] [MQTT311-3.1.0-2]', async ({ connect }, version) => {
    const client = await connect({ protocolVersion: version })
    client.send(connectPacket({ protocolVersion: version, clientId: 'again' }))
    await expectEnd(client, 0x82)
  })

  test('a second CONNECT that comes while the first is judged ends the connection, after its one CONNACK [MQTT-3.1.0-2] [MQTT-3.2.0-2]', async () => {
    const { open } = await createHarness()
    const client = open()
    const connect = connectBytes(5, '02 0000 00 0001 61')
    client.sendBytes(Buffer.concat([connect, connect]))
    await client.next('connack')
    await expectEnd(client, 0x82)
  })
})

describe('the protocol', () => {
  test('another protocol name is closed without an answer [MQTT-3.1.2-1] [MQTT311-3.1.2-1]', async () => {
    const { open } = await createHarness()
    for (const level of [4, 5]) {
      const client = open()
      client.sendBytes(connectBytes(level, '02 0000 0001 61', 'MQTX'))
      await client.closed()
      assert.equal(client.receivedBytes.length, 0)
    }
  })

  for (const [name, level, answer] of [
    ['MQIsdp', 3, '20020001'],
    ['MQTT', 3, '20020001'],
    ['MQTT', 0x84, '20020001'],
    ['MQTT', 6, '2003008400'],
  ] as const) {
    test(`${name} at level ${level} is told in a way that it reads, then closed [MQTT-3.1.2-2] [MQTT311-3.1.2-2]`, async () => {
      const { open } = await createHarness()
      const client = open(answer.length === 8 ? 4 : 5)
      client.sendBytes(connectBytes(level, '02 0000 0001 61', name))
      await client.closed()
      const received = Buffer.concat(client.receivedBytes)
      // The Reason String of MQTT 5.0 follows the Property Length.
      assert.equal(received.subarray(0, 1).toString('hex'), '20')
      assert.equal(received.subarray(2, 4).toString('hex'), answer.slice(4, 8))
      if (answer.length === 8) assert.equal(received.length, 4)
    })
  }

  for (const [title, rest] of [
    ['the reserved flag [MQTT-3.1.2-3]', '03 0000 00 0001 61'],
    ['Will QoS without Will Flag [MQTT-3.1.2-11]', '0a 0000 00 0001 61'],
    ['Will QoS 3 [MQTT-3.1.2-12]', '1e 0000 00 0001 61 00 0001 77 0000'],
    ['Will Retain without Will Flag [MQTT-3.1.2-13]', '22 0000 00 0001 61'],
    ['a Will Flag without Will fields [MQTT-3.1.2-9]', '06 0000 00 0001 61'],
    ['a User Name Flag without a User Name [MQTT-3.1.2-17]', '82 0000 00 0001 61'],
    ['bytes behind the payload [MQTT-3.1.2-16] [MQTT-3.1.2-18]', '02 0000 00 0001 61 0001 62'],
    ['a Client Identifier that is not UTF-8 [MQTT-3.1.3-4] [MQTT-1.5.4-1]', '02 0000 00 0001 ff'],
    ['a property that does not belong to CONNECT', '02 0000 03 230001 0001 61'],
  ] as const) {
    test(`a malformed CONNECT of MQTT 5.0 gets CONNACK 0x81 and is closed: ${title} [MQTT-3.1.4-1] [MQTT-4.13.1-1] [MQTT-3.14.0-1]`, async () => {
      const { open, broker } = await createHarness()
      const client = open()
      client.sendBytes(connectBytes(5, rest))
      const connack = await client.next('connack')
      assert.deepEqual([connack.reasonCode, connack.sessionPresent], [0x81, false])
      await client.closed()
      assert.equal(client.unread, 0)
      assert.equal(broker.counters.sessions, 0)
    })
  }

  for (const [title, rest] of [
    ['Receive Maximum 0', '02 0000 03 210000 0001 61'],
    ['Maximum Packet Size 0', '02 0000 05 2700000000 0001 61'],
    ['Session Expiry Interval twice', '02 0000 0a 1100000001 1100000001 0001 61'],
    ['Request Problem Information 2', '02 0000 02 1702 0001 61'],
    ['Authentication Data without a method', '02 0000 04 16000161 0001 61'],
  ] as const) {
    test(`a protocol error in CONNECT gets CONNACK 0x82 and is closed: ${title} [MQTT-3.1.4-1] [MQTT-4.13.1-1]`, async () => {
      const { open } = await createHarness()
      const client = open()
      client.sendBytes(connectBytes(5, rest))
      assert.equal((await client.next('connack')).reasonCode, 0x82)
      await client.closed()
    })
  }

  for (const [title, rest] of [
    ['the reserved flag [MQTT311-3.1.2-3]', '03 0000 0001 61'],
    ['Will QoS 3 [MQTT311-3.1.2-14]', '1e 0000 0001 61 0001 77 0000'],
    ['a Password without a User Name [MQTT311-3.1.2-22]', '42 0000 0001 61 0001 70'],
    ['U+0000 in the Client Identifier [MQTT311-1.5.3-2]', '02 0000 0001 00'],
    ['nothing behind Keep Alive [MQTT311-3.1.3-3]', '02 0000'],
  ] as const) {
    test(`a malformed CONNECT of MQTT 3.1.1 is closed without CONNACK: ${title} [MQTT311-3.1.4-1] [MQTT311-3.2.2-6] [MQTT311-4.8.0-1]`, async () => {
      const { open } = await createHarness()
      const client = open(4)
      client.sendBytes(connectBytes(4, rest))
      await client.closed()
      assert.equal(client.receivedBytes.length, 0)
    })
  }
})

describe('CONNACK', () => {
  both(
    'an accepted CONNECT gets CONNACK 0x00, once, and before anything else [MQTT-3.1.4-5] [MQTT-3.2.0-1] [MQTT-3.2.0-2] [MQTT311-3.1.4-4] [MQTT311-3.2.0-1]',
    async ({ open, connect }, version) => {
      const first = await connect(lasting(version, 'same'))
      await first.subscribe('a', { qos: 1 })
      first.drop()
      const publisher = await connect()
      publisher.publish('a', 'x', { qos: 1 })
      await publisher.next('puback')
      const second = open(version)
      second.send(connectPacket(lasting(version, 'same')))
      second.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['b'] })
      assert.equal((await second.next('connack')).reasonCode, 0)
      const rest = await everything(second)
      assert.deepEqual(rest.map(({ type }) => type).toSorted(), ['publish', 'unsuback'])
    },
  )

  both(
    'a refusal has Session Present 0 and a Reason Code, and closes [MQTT-3.1.4-2] [MQTT-3.2.2-6] [MQTT-3.2.2-7] [MQTT-4.13.2-1] [MQTT311-3.2.2-4] [MQTT311-3.2.2-5]',
    async ({ connect, open, policy }, version) => {
      const there = await connect(lasting(version, 'there'))
      there.drop()
      policy.admit = () => ({ allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold: 'close' })
      const client = open(version)
      client.send(connectPacket(lasting(version, 'there')))
      const connack = await client.next('connack')
      assert.deepEqual([connack.reasonCode, connack.sessionPresent], [0x87, false])
      await client.closed()
    },
  )

  both(
    'nothing that follows a refused CONNECT is looked at [MQTT-3.1.4-6] [MQTT311-3.1.4-5]',
    async ({ connect, open, policy, broker }, version) => {
      const watcher = await connect()
      await watcher.subscribe('#')
      policy.admit = () => ({ allowed: false, reasonCode: 0x86, reason: 'no', code: 'no', untold: 'close' })
      const client = open(version)
      client.send(connectPacket({ protocolVersion: version, clientId: 'c' }))
      client.publish('a', 'x')
      await client.closed()
      client.publish('a', 'y')
      assert.deepEqual(await payloads(watcher), [])
      assert.equal(broker.counters.publishesReceived, 0)
    },
  )

  test('a reason that CONNACK has no code for becomes one that it has [MQTT-3.2.2-8]', async () => {
    for (const [given, told] of [
      [0x8b, 0x88],
      [0x8e, 0x80],
      [0x91, 0x80],
      [0x8c, 0x8c],
    ] as const) {
      const { open, policy } = await createHarness()
      policy.admit = () => ({ allowed: false, reasonCode: given, reason: 'no', code: 'no', untold: 'close' })
      const client = open()
      client.send(connectPacket({ clientId: 'c' }))
      assert.equal((await client.next('connack')).reasonCode, told)
    }
  })

  test('a refusal too large for the client goes without its Reason String, and never with User Properties [MQTT-3.2.2-19] [MQTT-3.2.2-20] [MQTT-3.1.2-24]', async () => {
    const { open, policy } = await createHarness()
    const reason = 'a reason of some length'
    policy.admit = () => ({ allowed: false, reasonCode: 0x87, reason, code: 'no', untold: 'close' })
    const refused = async (maximumPacketSizeBytes: number): Promise<unknown> => {
      const client = open()
      const properties = { maximumPacketSizeBytes }
      client.send(connectPacket({ clientId: 'c', properties }))
      const connack = await client.next('connack')
      assert.ok(Buffer.concat(client.receivedBytes).length <= maximumPacketSizeBytes)
      await client.closed()
      return connack.properties
    }
    const whole = 5 + 3 + reason.length
    assert.deepEqual(await refused(whole), { reasonString: reason })
    assert.equal(await refused(whole - 1), undefined)
  })

  test('an acceptance too large for the client is not sent, and the connection closes [MQTT-3.1.2-24]', async () => {
    const { open, broker } = await createHarness()
    const client = open()
    const properties = { maximumPacketSizeBytes: 6, sessionExpiryIntervalSeconds: 0 }
    client.send(connectPacket({ clientId: 'c', properties }))
    await client.closed()
    assert.equal(client.receivedBytes.length, 0)
    assert.equal(broker.counters.sessions, 0)
    assert.equal(broker.counters.connections, 0)
  })

  test('Response Information is not sent, asked for or not [MQTT-3.1.2-28]', async () => {
    const { open } = await createHarness()
    for (const requestResponseInformation of [false, true]) {
      const client = open()
      const properties = { requestResponseInformation }
      client.send(connectPacket({ clientId: 'c', properties }))
      assert.equal((await client.next('connack')).properties?.responseInformation, undefined)
    }
  })

  test('the limits of the broker are told, and what is absent means the default', async () => {
    const base = { receiveMaximum: 7, maximumPacketSizeBytes: 1000 }
    assert.deepEqual(await connackOf({ ...base, topicAliasMaximum: 0 }), base)
    assert.deepEqual(
      await connackOf({
        ...base,
        topicAliasMaximum: 3,
        maximumQoS: 1,
        retainAvailable: false,
        maximumKeepAliveSeconds: 20,
      }),
      { ...base, topicAliasMaximum: 3, maximumQoS: 1, retainAvailable: false, serverKeepAliveSeconds: 20 },
    )
  })
})

describe('Client Identifiers', () => {
  both('of 1 to 23 digits and letters are accepted [MQTT-3.1.3-5] [MQTT311-3.1.3-5]', async ({ connect }, version) => {
    for (const clientId of ['0', 'z', '0123456789ABCDEFGHIJKLM', 'NOPQRSTUVWXYZabcdefghij', 'klmnopqrstuvwxyz'])
      await connect({ protocolVersion: version, clientId })
  })

  both(
    'identify the Session: another one has another Session [MQTT-3.1.3-2] [MQTT311-3.1.3-2]',
    async ({ connect, broker }, version) => {
      const first = await connect(lasting(version, 'one'))
      first.drop()
      assert.equal((await connect(lasting(version, 'two'))).sessionPresent, false)
      assert.equal((await connect(lasting(version, 'ONE'))).sessionPresent, false)
      assert.equal((await connect(lasting(version, 'one'))).sessionPresent, true)
      assert.equal(broker.counters.sessions, 3)
    },
  )

  test('an empty one gets another one assigned each time, told in CONNACK and good for coming back [MQTT-3.1.3-6] [MQTT-3.1.3-7] [MQTT-3.2.2-16]', async () => {
    const { open, connect } = await createHarness()
    const assigned: string[] = []
    for (const cleanStart of [true, false, true]) {
      const client = open()
      const properties = { sessionExpiryIntervalSeconds: 100 }
      client.send(connectPacket({ cleanStart, clientId: '', properties }))
      const connack = await client.next('connack')
      assert.equal(connack.sessionPresent, false)
      assigned.push(connack.properties?.assignedClientIdentifier ?? '')
      client.drop()
    }
    assert.equal(new Set(assigned).size, 3)
    for (const clientId of assigned) assert.equal((await connect(lasting(5, clientId))).sessionPresent, true)
    const own = await connect({ clientId: 'own' })
    assert.equal(own.connack?.properties?.assignedClientIdentifier, undefined)
  })

  test('an empty one of MQTT 3.1.1 gets a Session of its own with Clean Session 1 [MQTT311-3.1.3-6]', async () => {
    const { connect, broker } = await createHarness()
    const first = await connect({ protocolVersion: 4, clientId: '' })
    await connect({ protocolVersion: 4, clientId: '' })
    assert.equal(broker.counters.sessions, 2)
    assert.deepEqual(await first.sync(), [])
  })

  test('an empty one of MQTT 3.1.1 with Clean Session 0 gets return code 2 and is closed [MQTT311-3.1.3-8]', async () => {
    const { open } = await createHarness()
    const client = open(4)
    client.sendBytes(connectBytes(4, '00 0000 0000'))
    await client.closed()
    assert.equal(Buffer.concat(client.receivedBytes).toString('hex'), '20020002')
  })

  both(
    'one that is too long is refused and the connection closes [MQTT-3.1.3-8] [MQTT311-3.1.3-9]',
    async ({ open }, version) => {
      const client = open(version)
      const clientId = 'ä'.repeat(129)
      client.send(connectPacket({ protocolVersion: version, clientId }))
      assert.equal((await client.next('connack')).reasonCode, 0x85)
      await client.closed()
    },
  )

  both(
    'one that is connected is taken over, and the earlier connection ends [MQTT-3.1.4-3] [MQTT311-3.1.4-2]',
    async ({ connect, broker }, version) => {
      const first = await connect({ protocolVersion: version, clientId: 'same' })
      const second = await connect({ protocolVersion: version, clientId: 'same' })
      await expectEnd(first, 0x8e)
      assert.deepEqual(await second.sync(), [])
      assert.equal(broker.counters.connections, 1)
    },
  )
})

describe('what the server can not do', () => {
  const will = { topicName: 'w', payload: Buffer.from('x'), qos: 2, retain: true, delayIntervalSeconds: 0 } as const

  both('a Will QoS above the maximum is refused [MQTT-3.2.2-12]', async (_, version) => {
    const { open, broker } = await createHarness({ limits: { maximumQoS: 1 } })
    const client = open(version)
    client.send(connectPacket({ protocolVersion: version, clientId: 'c', will }))
    assert.equal((await client.next('connack')).reasonCode, version === 5 ? 0x9b : 0x88)
    await client.closed()
    assert.equal(broker.counters.sessions, 0)
  })

  both('a retained Will Message is refused where nothing is retained [MQTT-3.2.2-13]', async (_, version) => {
    const { open } = await createHarness({ limits: { retainAvailable: false } })
    const client = open(version)
    client.send(connectPacket({ protocolVersion: version, clientId: 'c', will }))
    assert.equal((await client.next('connack')).reasonCode, version === 5 ? 0x9a : 0x88)
    await client.closed()
  })

  test('Maximum QoS is told, a PUBLISH above it ends the connection, a SUBSCRIBE above it is granted less [MQTT-3.2.2-9] [MQTT-3.2.2-10] [MQTT-3.2.2-11]', async () => {
    const { connect } = await createHarness({ limits: { maximumQoS: 1 } })
    const client = await connect()
    assert.equal(client.connack?.properties?.maximumQoS, 1)
    assert.equal(await client.subscribe('a', { qos: 2 }), 1)
    client.publish('a', 'x', { qos: 2 })
    await expectEnd(client, 0x9b)
  })

  test('Retain Available 0 is told, and a retained PUBLISH ends the connection [MQTT-3.2.2-14]', async () => {
    const { connect } = await createHarness({ limits: { retainAvailable: false } })
    const client = await connect()
    assert.equal(client.connack?.properties?.retainAvailable, false)
    client.publish('a', 'x', { retain: true })
    await expectEnd(client, 0x9a)
  })
})
