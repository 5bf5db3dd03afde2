import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { DEFAULT_LIMITS } from '../src/broker/ports/limits.ts'
import type { Limits } from '../src/broker/ports/limits.ts'
import { encodePacket } from '../src/mqtt/encode-packet.ts'
import { TestPermit, connectPacket, createHarness } from './support/broker-harness.ts'
import type { Harness, TestClient } from './support/broker-harness.ts'
import { everything, expectEnd, lasting, payloads, publishFully } from './conformance/both-versions.ts'

const will = { topicName: 'w', payload: Buffer.from('x'), qos: 0, retain: false, delayIntervalSeconds: 0 } as const

/** The Reason Code of the CONNACK that refuses a client. */
async function refusalOf({ open }: Harness, fields: Parameters<typeof connectPacket>[0]): Promise<number> {
  const client = open()
  client.send(connectPacket(fields))
  const { reasonCode } = await client.next('connack')
  if (reasonCode !== 0) await client.closed()
  return reasonCode
}

async function publishAll(client: TestClient, topicNames: readonly string[], qos: 0 | 1): Promise<number[]> {
  const reasonCodes: number[] = []
  for (const topicName of topicNames) {
    client.publish(topicName, 'x', { qos })
    if (qos === 1) reasonCodes.push((await client.next('puback')).reasonCode)
  }
  return reasonCodes
}

interface Row {
  readonly title: string
  readonly limits: Partial<Limits>
  readonly run: (harness: Harness) => Promise<void>
}

/**
 * The effect of each bound of the broker, as its description says it. The two bounds of queues have
 * a test beside their code.
 */
const rows: { readonly [limit in Exclude<keyof Limits, 'maximumQueuedMessages' | 'maximumQueuedBytes'>]: Row } = {
  maximumConnectPacketSizeBytes: {
    title:
      'a CONNECT of just the size is read; of a longer one not more than its header is, and the connection closes unanswered',
    limits: { maximumConnectPacketSizeBytes: 100 },
    run: async ({ open }) => {
      const bare = encodePacket(connectPacket({ clientId: 'c', userName: '' }), 5).length
      const fits = open()
      fits.send(connectPacket({ clientId: 'c', userName: 'u'.repeat(100 - bare) }))
      assert.equal((await fits.next('connack')).reasonCode, 0)
      const tooLong = open()
      tooLong.sendBytes(
        encodePacket(connectPacket({ clientId: 'c', userName: 'u'.repeat(101 - bare) }), 5).subarray(0, 2),
      )
      await tooLong.closed()
      assert.equal(tooLong.receivedBytes.length, 0)
    },
  },
  connectTimeoutMs: {
    title: 'a connection without an accepted CONNECT is closed when the time is over, however its bytes drip',
    limits: { connectTimeoutMs: 5000 },
    run: async ({ open, clock, broker }) => {
      const client = open()
      const bytes = encodePacket(connectPacket(), 5)
      for (let second = 0; second < 4; second += 1) {
        client.sendBytes(bytes.subarray(second, second + 1))
        clock.advance(broker, 1)
      }
      assert.equal(client.transport.ended, false)
      clock.advance(broker, 1)
      await client.closed()
      assert.equal(client.receivedBytes.length, 0)
    },
  },
  maximumPacketSizeBytes: {
    title: 'a longer packet ends the connection with 0x95 at its fixed header; the bound is told in CONNACK',
    limits: { maximumPacketSizeBytes: 200 },
    run: async ({ connect }) => {
      const client = await connect()
      assert.equal(client.connack?.properties?.maximumPacketSizeBytes, 200)
      client.publish('a', 'x'.repeat(190))
      assert.deepEqual(await client.sync(), [])
      client.sendBytes(Buffer.from([0x30, 0xc6, 0x01]))
      await expectEnd(client, 0x95)
    },
  },
  maximumClientIdBytes: {
    title: 'a longer Client Identifier is refused with 0x85, by its bytes and not its characters',
    limits: { maximumClientIdBytes: 4 },
    run: async (harness) => {
      assert.equal(await refusalOf(harness, { clientId: 'ää' }), 0)
      assert.equal(await refusalOf(harness, { clientId: 'ääa' }), 0x85)
      assert.equal(await refusalOf(harness, { clientId: '' }), 0)
    },
  },
  maximumTopicBytes: {
    title: 'a longer Topic Name is refused with 0x90, a longer Topic Filter with 0x8F, a longer Will Topic with 0x90',
    limits: { maximumTopicBytes: 6 },
    run: async (harness) => {
      const client = await harness.connect()
      assert.deepEqual(await publishAll(client, ['äää', 'äääa'], 1), [0x10, 0x90])
      assert.equal(await client.subscribe('ää/#'), 0)
      assert.equal(await client.subscribe('äää/#'), 0x8f)
      assert.equal(await refusalOf(harness, { will: { ...will, topicName: 'äääa' } }), 0x90)
      client.publish('äääa', 'x')
      await expectEnd(client, 0x90)
    },
  },
  maximumTopicLevels: {
    title: 'more levels of a Topic Name are refused with 0x90, of a Topic Filter with 0x8F, of a Will Topic with 0x90',
    limits: { maximumTopicLevels: 3 },
    run: async (harness) => {
      const client = await harness.connect()
      assert.deepEqual(await publishAll(client, ['a/b/c', '//', 'a/b/c/d', '///'], 1), [0x10, 0x10, 0x90, 0x90])
      assert.equal(await client.subscribe('+/+/#'), 0)
      assert.equal(await client.subscribe('+/+/+/#'), 0x8f)
      assert.equal(await refusalOf(harness, { will: { ...will, topicName: 'a/b/c/d' } }), 0x90)
    },
  },
  maximumSubscriptionsPerSession: {
    title: 'the next subscription is refused with 0x97; replacing one is not the next, and one that goes makes room',
    limits: { maximumSubscriptionsPerSession: 2 },
    run: async ({ connect, broker }) => {
      const client = await connect()
      const granted: number[] = []
      for (const topicFilter of ['a', '$share/g/b', 'c', 'a', '$share/g/b'])
        granted.push(await client.subscribe(topicFilter))
      assert.deepEqual(granted, [0, 0, 0x97, 0, 0])
      client.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['a'] })
      await client.next('unsuback')
      assert.equal(await client.subscribe('c'), 0)
      assert.equal(broker.counters.subscriptions, 2)
    },
  },
  maximumSubscriptionsPerTenant: {
    title:
      'the next subscription of any Session of the tenant is refused with 0x97; replacing one is not the next, each end makes room',
    limits: { maximumSubscriptionsPerTenant: 3 },
    run: async ({ connect, broker, clock }) => {
      const properties = { sessionExpiryIntervalSeconds: 10 }
      const one = await connect({ userName: 't/one', clientId: 'a', properties })
      const two = await connect({ userName: 't/two' })
      const granted: number[] = []
      for (const topicFilter of ['a', 'b', 'a']) granted.push(await one.subscribe(topicFilter))
      for (const topicFilter of ['$share/g/a', 'a', '$share/g/a']) granted.push(await two.subscribe(topicFilter))
      assert.deepEqual(granted, [0, 0, 0, 0, 0x97, 0])
      const [refused] = broker.recentRefusals.list({ tenant: 't' })
      assert.match(refused?.reason ?? '', /this organization, which may have 3$/)
      assert.equal(await (await connect({ userName: 'other/one' })).subscribe('a'), 0)
      one.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['b', 'c'] })
      await one.next('unsuback')
      assert.equal(await two.subscribe('b'), 0)
      assert.equal(await two.subscribe('c'), 0x97)
      // Asleep, the Session keeps its subscription; taken over with Clean Start, it does not.
      one.drop()
      assert.equal(await two.subscribe('c'), 0x97)
      await connect({ userName: 't/one', clientId: 'a', properties, cleanStart: true })
      assert.equal(await two.subscribe('c'), 0)
      assert.equal(await two.subscribe('d'), 0x97)
      // The Session that expires takes its subscriptions along.
      const three = await connect({ userName: 't/one', clientId: 'a', properties, cleanStart: false })
      two.drop()
      for (const topicFilter of ['d', 'e', 'f']) assert.equal(await three.subscribe(topicFilter), 0)
      three.drop()
      clock.advance(broker, 11)
      const four = await connect({ userName: 't/two' })
      for (const topicFilter of ['a', 'b', 'c']) assert.equal(await four.subscribe(topicFilter), 0)
      assert.equal(await four.subscribe('d'), 0x97)
    },
  },
  maximumTopicFilterBytesPerTenant: {
    title: 'a Topic Filter beyond the bytes is refused with 0x97, bytes of UTF-8 count, and one that goes makes room',
    limits: { maximumTopicFilterBytesPerTenant: 10 },
    run: async ({ connect }) => {
      const one = await connect({ userName: 't/one' })
      const two = await connect({ userName: 't/two' })
      assert.equal(await one.subscribe('abcdef'), 0)
      assert.equal(await two.subscribe('üüa'), 0x97)
      assert.equal(await two.subscribe('üü'), 0)
      assert.equal(await two.subscribe('üü'), 0)
      assert.equal(await one.subscribe('a'), 0x97)
      assert.equal(await (await connect({ userName: 'other/one' })).subscribe('abcdef'), 0)
      one.drop()
      assert.equal(await two.subscribe('abcdef'), 0)
    },
  },
  maximumQoS: {
    title: 'a higher QoS ends the connection of a publisher with 0x9B and is cut for a subscriber',
    limits: { maximumQoS: 0 },
    run: async ({ connect }) => {
      const client = await connect()
      assert.equal(await client.subscribe('a', { qos: 2 }), 0)
      client.publish('a', 'x', { qos: 1 })
      await expectEnd(client, 0x9b)
    },
  },
  retainAvailable: {
    title: 'a retained message ends the connection with 0x9A',
    limits: { retainAvailable: false },
    run: async ({ connect }) => {
      const client = await connect()
      client.publish('a', 'x', { retain: true })
      await expectEnd(client, 0x9a)
    },
  },
  maximumRetainedMessages: {
    title: 'one more is refused with 0x97; replacing one is not one more, and one that goes makes room',
    limits: { maximumRetainedMessages: 2 },
    run: async ({ connect, broker }) => {
      const client = await connect()
      const answers: number[] = []
      for (const [topicName, payload] of [
        ['a', 'x'],
        ['b', 'x'],
        ['c', 'x'],
        ['a', 'y'],
        ['c', ''],
        ['b', ''],
        ['c', 'x'],
      ] as const) {
        client.publish(topicName, payload, { qos: 1, retain: true })
        answers.push((await client.next('puback')).reasonCode)
      }
      assert.deepEqual(answers, [0x10, 0x10, 0x97, 0x10, 0x10, 0x10, 0x10])
      assert.equal(broker.retained.count, 2)
      // Both in one turn, before the first is owned: messages on their way count.
      for (const topicName of ['a', 'c']) client.publish(topicName, '', { retain: true })
      for (const topicName of ['d', 'e', 'f']) client.publish(topicName, 'x', { qos: 1, retain: true })
      const codes = (await everything(client)).map((packet) =>
        'reasonCode' in packet ? packet.reasonCode : packet.type,
      )
      assert.deepEqual(codes, [0x97, 0x10, 0x10])
      assert.equal(broker.retained.count, 2)
    },
  },
  maximumRetainedBytes: {
    title: 'more bytes are refused with 0x97, the ones of properties too',
    limits: { maximumRetainedBytes: 1000 },
    run: async ({ connect, broker }) => {
      const client = await connect()
      const userProperties = [['k', 'v'.repeat(900)]] as const
      client.publish('a', 'x', { qos: 1, retain: true, properties: { userProperties } })
      assert.equal((await client.next('puback')).reasonCode, 0x97)
      client.publish('a', 'x'.repeat(500), { qos: 1, retain: true })
      assert.equal((await client.next('puback')).reasonCode, 0x10)
      client.publish('b', 'x'.repeat(500), { qos: 1, retain: true })
      assert.equal((await client.next('puback')).reasonCode, 0x97)
      client.publish('a', 'y'.repeat(700), { qos: 1, retain: true })
      assert.equal((await client.next('puback')).reasonCode, 0x10)
      client.publish('b', 'x'.repeat(500), { retain: true })
      await expectEnd(client, 0x97)
      assert.equal(broker.retained.count, 1)
    },
  },
  maximumRetainedMessagesPerTenant: {
    title: 'one more of the tenant is refused with 0x97; one that goes makes room, and other tenants have their own',
    limits: { maximumRetainedMessagesPerTenant: 2 },
    run: async ({ connect, broker }) => {
      const one = await connect({ userName: 't/one' })
      const two = await connect({ userName: 't/two' })
      const other = await connect({ userName: 'other/one' })
      const answers: number[] = []
      for (const [client, topicName, payload] of [
        [one, 'a', 'x'],
        [two, 'b', 'x'],
        [one, 'c', 'x'],
        [two, 'a', 'y'],
        [other, 'd', 'x'],
        [two, 'a', ''],
        [one, 'c', 'x'],
        [one, 'e', 'x'],
      ] as const) {
        client.publish(topicName, payload, { qos: 1, retain: true })
        answers.push((await client.next('puback')).reasonCode)
      }
      assert.deepEqual(answers, [0x10, 0x10, 0x97, 0x10, 0x10, 0x10, 0x10, 0x97])
      assert.equal(broker.retained.count, 3)
      const [refused] = broker.recentRefusals.list({ tenant: 't' })
      assert.match(refused?.reason ?? '', /of this organization$/)
      // All in one turn, before the first is owned: messages on their way count.
      for (const topicName of ['b', 'c']) one.publish(topicName, '', { retain: true })
      for (const topicName of ['f', 'g', 'h']) one.publish(topicName, 'x', { qos: 1, retain: true })
      const codes = (await everything(one)).map((packet) => ('reasonCode' in packet ? packet.reasonCode : packet.type))
      assert.deepEqual(codes, [0x97, 0x10, 0x10])
    },
  },
  maximumRetainedBytesPerTenant: {
    title: 'more bytes of the tenant are refused with 0x97, and other tenants have their own',
    limits: { maximumRetainedBytesPerTenant: 1000 },
    run: async ({ connect }) => {
      const client = await connect({ userName: 't/one' })
      const other = await connect({ userName: 'other/one' })
      const answers: number[] = []
      for (const [sender, topicName, bytes] of [
        [client, 'a', 500],
        [client, 'b', 500],
        [other, 'b', 500],
        [client, 'a', 700],
        [client, 'a', 900],
        [client, 'a', 200],
        [client, 'c', 500],
      ] as const) {
        sender.publish(topicName, 'x'.repeat(bytes), { qos: 1, retain: true })
        answers.push((await sender.next('puback')).reasonCode)
      }
      assert.deepEqual(answers, [0x10, 0x97, 0x10, 0x10, 0x97, 0x10, 0x10])
    },
  },
  receiveMaximum: {
    title: 'more unacknowledged messages end the connection with 0x93',
    limits: { receiveMaximum: 2 },
    run: async ({ connect }) => {
      const client = await connect()
      for (const packetId of [1, 2]) {
        client.publish('a', 'x', { qos: 2, packetId })
        await client.next('pubrec')
      }
      client.publish('a', 'x', { qos: 2, packetId: 3 })
      await expectEnd(client, 0x93)
    },
  },
  maximumInflight: {
    title: 'more messages wait in the log, for a client that takes more, and in MQTT 3.1.1',
    limits: { maximumInflight: 3 },
    run: async ({ connect }) => {
      const publisher = await connect()
      for (const protocolVersion of [4, 5] as const) {
        const client = await connect({ protocolVersion })
        await client.subscribe('a', { qos: 1 })
        for (const payload of ['1', '2', '3', '4', '5']) await publishFully(publisher, 'a', payload, { qos: 1 })
        assert.deepEqual(await payloads(client), ['1', '2', '3'])
        client.acknowledge('puback', 2)
        assert.deepEqual(await payloads(client), ['4'])
        client.drop()
      }
    },
  },
  maximumInflightBytes: {
    title: 'more bytes wait in the log until the client acknowledges; a message that is larger goes alone',
    limits: { maximumInflightBytes: 3_000 },
    run: async ({ connect }) => {
      const publisher = await connect()
      const client = await connect({ protocolVersion: 4 })
      await client.subscribe('a', { qos: 1 })
      const filler = 'x'.repeat(1_000)
      for (const text of ['1', '2', '3', '4']) await publishFully(publisher, 'a', text + filler, { qos: 1 })
      const [first, second, third, ...more] = await payloads(client)
      assert.deepEqual([first?.[0], second?.[0], third?.[0], more.length], ['1', '2', '3', 0])
      for (const packetId of [1, 2, 3]) client.acknowledge('puback', packetId)
      const [fourth] = await payloads(client)
      assert.equal(fourth?.[0], '4')
      client.acknowledge('puback', 4)
      await publishFully(publisher, 'a', 'x'.repeat(9_000), { qos: 1 })
      assert.equal((await payloads(client)).length, 1)
    },
  },
  topicAliasMaximum: {
    title: 'a higher Topic Alias ends the connection with 0x94',
    limits: { topicAliasMaximum: 2 },
    run: async ({ connect }) => {
      const client = await connect()
      client.publish('a', 'x', { properties: { topicAlias: 2 } })
      assert.deepEqual(await client.sync(), [])
      client.publish('a', 'x', { properties: { topicAlias: 3 } })
      await expectEnd(client, 0x94)
    },
  },
  outgoingTopicAliasMaximum: {
    title: 'no more are set towards a client that allows them',
    limits: { outgoingTopicAliasMaximum: 1 },
    run: async ({ connect }) => {
      const client = await connect({ properties: { topicAliasMaximum: 100 } })
      await client.subscribe('#')
      await publishAll(await connect(), ['a', 'b', 'c', 'a'], 0)
      const packets = await everything(client)
      const aliases = packets.map((packet) => (packet.type === 'publish' ? packet.properties?.topicAlias : packet.type))
      assert.deepEqual(aliases, [1, undefined, undefined, 1])
    },
  },
  maximumKeepAliveSeconds: {
    title: 'a longer one, and none, is overruled',
    limits: { maximumKeepAliveSeconds: 10 },
    run: async ({ connect, clock, broker }) => {
      const client = await connect({ keepAliveSeconds: 0 })
      assert.equal(client.connack?.properties?.serverKeepAliveSeconds, 10)
      clock.advance(broker, 15)
      await expectEnd(client, 0x8d)
    },
  },
  maximumSessionExpirySeconds: {
    title: 'a longer one is cut, at CONNECT, at DISCONNECT and for MQTT 3.1.1',
    limits: { maximumSessionExpirySeconds: 10 },
    run: async ({ connect, clock, broker }) => {
      const five = await connect({ clientId: '5', properties: { sessionExpiryIntervalSeconds: 11 } })
      assert.equal(five.connack?.properties?.sessionExpiryIntervalSeconds, 10)
      const told = await connect({ clientId: 'd', properties: { sessionExpiryIntervalSeconds: 1 } })
      told.send({ type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 0xffff_ffff } })
      five.drop()
      const four = await connect(lasting(4, '4'))
      four.drop()
      clock.advance(broker, 9)
      assert.equal(broker.counters.sessions, 3)
      clock.advance(broker, 2)
      assert.equal(broker.counters.sessions, 0)
    },
  },
  maximumOutgoingBytes: {
    title: 'beyond it QoS 0 is dropped, QoS 1 waits in the log and reading stops, until the client reads',
    limits: { maximumOutgoingBytes: 10_000 },
    run: async ({ connect, broker }) => {
      const client = await connect()
      await client.subscribe('a', { qos: 1 })
      const publisher = await connect()
      client.transport.stuck = true
      const filler = 'x'.repeat(1000)
      for (let index = 0; index < 30; index += 1) await publishFully(publisher, 'a', `${index} ${filler}`, { qos: 1 })
      await everything(publisher)
      for (let index = 0; index < 5; index += 1) await publishFully(publisher, 'a', 'zero')
      await everything(publisher)
      assert.ok(client.transport.bufferedBytes < 80_000)
      assert.equal(client.transport.paused, true)
      assert.equal(broker.counters.publishesDropped, 5)
      client.transport.unstick()
      const received = await payloads(client)
      assert.deepEqual(
        received.map((payload) => Number(payload.split(' ')[0])),
        Array.from({ length: 30 }, (_, index) => index),
      )
      assert.equal(client.transport.paused, false)
    },
  },
  maximumOutgoingBytesPerTenant: {
    title: 'the client that leaves the most unread is held back, and a client that reads gets everything',
    limits: { maximumOutgoingBytesPerTenant: 400_000 },
    run: async ({ connect, broker, clock }) => {
      const filler = 'x'.repeat(10_000)
      const clients = [await connect(), await connect(), await connect()]
      const [slow, slower, reads] = clients
      for (const client of clients) await client.subscribe('a', { qos: 1 })
      const [elsewhere, other] = [await connect({ userName: 'other' }), await connect({ userName: 'other' })]
      await elsewhere.subscribe('a', { qos: 1 })
      elsewhere.transport.stuck = true
      for (const client of [slow, slower]) if (client !== undefined) client.transport.stuck = true
      const publisher = await connect()
      for (let index = 0; index < 60; index += 1) await publishFully(publisher, 'a', filler, { qos: 1 })
      assert.equal((await payloads(reads as TestClient)).length, 60)
      const { outgoingBytes: held = 0 } = broker.usageOf('tenant')
      assert.ok(held > 200_000 && held <= 400_000 + 2 * 65_536, `${held} bytes`)
      assert.equal(slow?.transport.paused, true)
      // The other organization has a bound of its own.
      assert.ok(Number(broker.usageOf('other').outgoingBytes) >= 200_000)
      assert.equal(elsewhere.transport.ended || other.transport.ended, false)
      for (const client of [slow, slower]) {
        client?.transport.unstick()
        assert.equal((await payloads(client as TestClient)).length, 60)
      }
      clock.advance(broker, 1)
      assert.equal(broker.usageOf('tenant').outgoingBytes, 0)
    },
  },
  slowReaderTimeoutMs: {
    title: 'a client that stays at the bound of outgoing bytes for that long is disconnected, with 0x97',
    limits: { maximumOutgoingBytes: 1000, slowReaderTimeoutMs: 5000 },
    run: async ({ connect, clock, broker }) => {
      const client = await connect()
      await client.subscribe('a')
      client.transport.stuck = true
      await publishFully(await connect(), 'a', 'x'.repeat(2000))
      await client.next('publish')
      clock.advance(broker, 4)
      assert.equal(client.transport.ended, false)
      clock.advance(broker, 1)
      await expectEnd(client, 0x97)
    },
  },
  maximumConnections: {
    title: 'the next is closed unanswered, and one that goes makes room',
    limits: { maximumConnections: 2 },
    run: async ({ open, broker }) => {
      const [one, , three] = [open(), open(), open()]
      assert.ok(one !== undefined && three !== undefined)
      await three.closed()
      assert.equal(three.receivedBytes.length, 0)
      assert.equal(broker.counters.connectionsRefused, 1)
      one.drop()
      assert.equal(open().transport.ended, false)
    },
  },
  maximumConnectionsPerTenant: {
    title: 'the next is refused with 0x97, a take-over is not the next, and other tenants have their own',
    limits: { maximumConnectionsPerTenant: 2 },
    run: async (harness) => {
      await harness.connect({ userName: 't/one', clientId: 'a' })
      const second = await harness.connect({ userName: 't/two' })
      assert.equal(await refusalOf(harness, { userName: 't/three' }), 0x97)
      assert.equal(await refusalOf(harness, { userName: 't/one', clientId: 'a' }), 0)
      assert.equal(await refusalOf(harness, { userName: 'other/one' }), 0)
      second.drop()
      assert.equal(await refusalOf(harness, { userName: 't/three' }), 0)
    },
  },
  maximumConnectionsPerIdentity: {
    title: 'the next is refused with 0x97, a take-over is not the next, and others of the tenant have their own',
    limits: { maximumConnectionsPerIdentity: 1 },
    run: async (harness) => {
      const first = await harness.connect({ userName: 't/one', clientId: 'a' })
      assert.equal(await refusalOf(harness, { userName: 't/one', clientId: 'b' }), 0x97)
      assert.equal(await refusalOf(harness, { userName: 't/two', clientId: 'b' }), 0)
      first.drop()
      assert.equal(await refusalOf(harness, { userName: 't/one', clientId: 'b' }), 0)
      assert.equal(await refusalOf(harness, { userName: 't/one', clientId: 'b' }), 0)
    },
  },
  maximumSessionsPerIdentity: {
    title: 'the next is refused with 0x97, sleeping ones count, and one that ends makes room',
    limits: { maximumSessionsPerIdentity: 2 },
    run: async (harness) => {
      const properties = { sessionExpiryIntervalSeconds: 10 }
      for (const clientId of ['a', 'b']) (await harness.connect({ clientId, properties })).drop()
      assert.equal(await refusalOf(harness, { clientId: 'c' }), 0x97)
      assert.equal(await refusalOf(harness, { clientId: 'a', cleanStart: false }), 0)
      assert.equal(await refusalOf(harness, { clientId: 'b', cleanStart: true }), 0)
      assert.equal(await refusalOf(harness, { clientId: 'c', userName: 'tenant/other' }), 0)
      assert.equal(harness.broker.counters.sessions, 3)
      harness.clock.advance(harness.broker, 11)
      assert.equal(await refusalOf(harness, { clientId: 'c' }), 0x97)
    },
  },
  maximumSessionsPerTenant: {
    title: 'the next of any user is refused with 0x97, sleeping ones count, and one that ends makes room',
    limits: { maximumSessionsPerTenant: 2 },
    run: async (harness) => {
      const { broker, clock, connect } = harness
      const properties = { sessionExpiryIntervalSeconds: 10 }
      const first = await connect({ userName: 't/one', clientId: 'a', properties })
      ;(await connect({ userName: 't/two', clientId: 'b', properties })).drop()
      assert.equal(await refusalOf(harness, { userName: 't/three', clientId: 'c' }), 0x97)
      const [refused] = broker.recentRefusals.list({ tenant: 't' })
      assert.equal(refused?.code, 'too_many_sessions')
      assert.match(refused?.reason ?? '', /of this organization, which may have 2$/)
      assert.equal(await refusalOf(harness, { userName: 'other/one' }), 0)
      // Take-overs, with and without Clean Start, take the place of a Session.
      await connect({ userName: 't/one', clientId: 'a', properties, cleanStart: true })
      await first.closed()
      ;(await connect({ userName: 't/one', clientId: 'a', properties, cleanStart: false })).drop()
      assert.equal(await refusalOf(harness, { userName: 't/three', clientId: 'c' }), 0x97)
      clock.advance(broker, 11)
      assert.equal(await refusalOf(harness, { userName: 't/three', clientId: 'c' }), 0)
      assert.equal(await refusalOf(harness, { userName: 't/three', clientId: 'd' }), 0)
      assert.equal(await refusalOf(harness, { userName: 't/three', clientId: 'e' }), 0x97)
    },
  },
  maximumBytesPerSecond: {
    title: 'beyond it reading waits for the next second',
    limits: { maximumBytesPerSecond: 1000 },
    run: async ({ connect, clock, broker }) => {
      const watcher = await connect()
      await watcher.subscribe('a')
      const client = await connect()
      client.publish('a', 'x'.repeat(960))
      assert.equal((await payloads(watcher)).length, 1)
      client.publish('a', 'x'.repeat(960))
      assert.deepEqual(await everything(watcher), [])
      assert.equal(client.transport.paused, true)
      clock.advance(broker, 1)
      assert.equal(client.transport.paused, false)
      assert.equal((await payloads(watcher)).length, 1)
    },
  },
  maximumConnectsPerSecondPerTenant: {
    title: 'ten times as many may come at once; the next is refused with 0x9F, and other tenants are not',
    limits: { maximumConnectsPerSecondPerTenant: 1 },
    run: async (harness) => {
      const { broker, clock } = harness
      for (let count = 0; count < 10; count += 1) assert.equal(await refusalOf(harness, { userName: 't/one' }), 0)
      assert.equal(await refusalOf(harness, { userName: 't/two' }), 0x9f)
      assert.equal(await refusalOf(harness, { userName: 'other/one' }), 0)
      const [refused] = broker.recentRefusals.list({ tenant: 't' })
      assert.match(refused?.reason ?? '', /^more than 1 connections a second, on average over 10 seconds$/)
      const old = harness.open(4)
      old.send(connectPacket({ userName: 't/one', protocolVersion: 4 }))
      assert.equal((await old.next('connack')).reasonCode, 0x88, 'Connect Return Code 3')
      // A refused CONNECT does not count: otherwise a storm would never end for the tenant itself.
      clock.advance(broker, 2)
      assert.equal(await refusalOf(harness, { userName: 't/one' }), 0)
      assert.equal(await refusalOf(harness, { userName: 't/one' }), 0)
      assert.equal(await refusalOf(harness, { userName: 't/one' }), 0x9f)
    },
  },
  maximumPublishesPerSecondPerTenant: {
    title: 'beyond it all its connections are read in portions, and nothing is lost',
    limits: { maximumPublishesPerSecondPerTenant: 16 },
    run: async ({ connect, clock, broker }) => {
      const watcher = await connect({ userName: 'watcher' })
      await watcher.subscribe('a')
      const clients = [await connect({ userName: 't/one' }), await connect({ userName: 't/two' })]
      for (let count = 0; count < 24; count += 1) for (const client of clients) client.publish('a', 'x')
      const neighbour = await connect({ userName: 'neighbour' })
      neighbour.publish('a', 'y')
      const perSecond: number[] = []
      for (let second = 0; second < 4; second += 1) {
        for (let turns = 0; turns < 8; turns += 1) await setImmediate()
        perSecond.push((await payloads(watcher)).length)
        clock.advance(broker, 1)
      }
      assert.deepEqual(perSecond, [17, 16, 16, 0])
      assert.equal(broker.counters.secondsOverRate, 3)
    },
  },
  maximumPublishedBytesPerSecondPerTenant: {
    title: 'beyond it all its connections are read in portions, and nothing is lost',
    limits: { maximumPublishedBytesPerSecondPerTenant: 2_000 },
    run: async ({ connect, clock, broker }) => {
      const watcher = await connect({ userName: 'watcher' })
      await watcher.subscribe('a')
      const clients = [await connect({ userName: 't/one' }), await connect({ userName: 't/two' })]
      for (let count = 0; count < 2; count += 1) for (const client of clients) client.publish('a', 'x'.repeat(990))
      const perSecond: number[] = []
      for (let second = 0; second < 3; second += 1) {
        for (let turns = 0; turns < 8; turns += 1) await setImmediate()
        perSecond.push((await payloads(watcher)).length)
        clock.advance(broker, 1)
      }
      assert.deepEqual(perSecond, [2, 2, 0])
    },
  },
  maximumBytesTowardLog: {
    title: 'a tenant may have as many bytes as are free; beyond them its next message waits, and reading with it',
    limits: { maximumBytesTowardLog: 10_000 },
    run: async ({ connect }) => {
      const flooder = await connect({ userName: 'flooder' })
      const neighbour = await connect({ userName: 'neighbour' })
      for (const client of [flooder, neighbour]) client.publish('a', 'x'.repeat(3_000), { qos: 1 })
      flooder.publish('a', 'x'.repeat(3_000), { qos: 1 })
      for (const client of [flooder, neighbour]) client.send({ type: 'pingreq' })
      for (let turns = 0; turns < 8; turns += 1) await setImmediate()
      const [held, free] = [flooder, neighbour].map((client) => client.takeAll().map(({ type }) => type))
      assert.deepEqual(free, ['pingresp', 'puback'])
      assert.deepEqual(held, ['puback', 'puback', 'pingresp'])
    },
  },
}

describe('the bounds of the broker', () => {
  for (const [limit, { title, limits, run }] of Object.entries(rows)) {
    test(`${limit}: ${title}`, async () => run(await createHarness({ limits })))
  }

  test('each has a row here', () => {
    const tested = [...Object.keys(rows), 'maximumQueuedMessages', 'maximumQueuedBytes']
    assert.deepEqual(tested.toSorted(), Object.keys(DEFAULT_LIMITS).toSorted())
  })

  test('messages a second of a permit: beyond it reading waits for the next second', async () => {
    const { connect, policy, clock, broker } = await createHarness()
    const watcher = await connect()
    await watcher.subscribe('a')
    policy.admit = () => {
      const permit = new TestPermit()
      permit.maximumMessagesPerSecond = 2
      return { allowed: true, permit }
    }
    const client = await connect()
    for (const payload of ['1', '2', '3', '4', '5']) client.publish('a', payload)
    const perSecond: number[] = []
    for (let second = 0; second < 3; second += 1) {
      perSecond.push((await payloads(watcher)).length)
      clock.advance(broker, 1)
    }
    assert.deepEqual(perSecond, [2, 2, 1])
  })
})
