/** The state of a broker after a restart, whether its predecessor was closed or just stopped. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PublishPacket } from '../../mqtt/packet.ts'
import { ManualClock, TestPermit, TestPolicy, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SlowDisk } from '../../../test/support/slow-engine.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'

const KEPT = { clientId: 'reader', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const
const TOPIC_NAME = 'application/5/device/0102030405060708/event/up'
const TOPIC_FILTER = 'application/5/device/+/event/+'

class RestartPolicy extends TestPolicy {
  permitOn(ground: string): Promise<TestPermit | undefined> {
    return Promise.resolve(ground === 'a ground' ? new TestPermit() : undefined)
  }
}

/**
 * Brokers one after the other over the same engine. Each was not closed, as in a crash, when the
 * next one starts.
 */
async function createDeployment(): Promise<{ readonly next: () => Promise<Harness>; readonly clock: ManualClock }> {
  const engine = new SurvivingEngine()
  const clock = new ManualClock()
  return { clock, next: () => createHarness({ engine, clock, policy: new RestartPolicy(), idProperty: 'event-id' }) }
}

async function publishAll(client: TestClient, payloads: readonly string[], qos: 1 | 2 = 1): Promise<void> {
  for (const payload of payloads) {
    const packetId = client.publish(TOPIC_NAME, payload, { qos })
    if (qos === 1) await client.next('puback')
    else {
      await client.next('pubrec')
      client.acknowledge('pubrel', packetId)
      await client.next('pubcomp')
    }
  }
}

async function take(client: TestClient, count: number): Promise<PublishPacket[]> {
  const packets: PublishPacket[] = []
  while (packets.length < count) packets.push(await client.next('publish'))
  return packets
}

function texts(packets: readonly PublishPacket[]): string[] {
  return packets.map(({ payload }) => payload.toString())
}

function idOf(packet: PublishPacket | undefined): string | undefined {
  return packet?.properties?.userProperties?.findLast(([name]) => name === 'event-id')?.[1]
}

describe('after a crash', () => {
  it('a Session is there with its subscriptions, and gets what it missed, in order', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    reader.drop()
    await publishAll(await first.connect(), ['1', '2', '3'])
    const second = await next()
    const again = await second.connect(KEPT)
    assert.equal(again.sessionPresent, true)
    assert.deepEqual(texts(await take(again, 3)), ['1', '2', '3'])
    await publishAll(await second.connect(), ['4'])
    assert.deepEqual(texts(await take(again, 1)), ['4'])
    assert.deepEqual(await again.sync(), [])
  })

  it('what was sent since the last checkpoint comes again with DUP, what was acknowledged before it does not', async () => {
    const { next, clock } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    const publisher = await first.connect()
    await publishAll(publisher, ['1'])
    const [one] = await take(reader, 1)
    reader.acknowledge('puback', (one as PublishPacket).packetId)
    await reader.sync()
    clock.advance(first.broker, 1)
    await first.broker.store?.checkpoint()
    await publishAll(publisher, ['2'])
    const [two] = await take(reader, 1)
    reader.acknowledge('puback', (two as PublishPacket).packetId)
    await reader.sync()
    const second = await next()
    const again = await second.connect(KEPT)
    const packets = await take(again, 1)
    assert.deepEqual(texts(packets), ['2'])
    assert.equal(packets[0]?.dup, true)
    assert.deepEqual(await again.sync(), [])
  })

  it('a message that was in flight comes again with its id, which the first sending did not tell', async () => {
    const { next, clock } = await createDeployment()
    const first = await next()
    const reader = await first.connect({ ...KEPT, protocolVersion: 4, properties: undefined })
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    await publishAll(await first.connect(), ['1'])
    assert.equal(idOf((await take(reader, 1))[0]), undefined)
    clock.advance(first.broker, 1)
    await first.broker.store?.checkpoint()
    const again = await (await next()).connect(KEPT)
    const [packet] = await take(again, 1)
    assert.equal(packet?.dup, true)
    assert.match(String(idOf(packet)), /^\d+-\d+$/)
  })

  it('what waits for a subscription that was lowered to QoS 0 is still owed', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect({ ...KEPT, properties: { ...KEPT.properties, receiveMaximum: 1 } })
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    await publishAll(await first.connect(), ['1', '2', '3'])
    await take(reader, 1)
    assert.equal(await reader.subscribe(TOPIC_FILTER, { qos: 0 }), 0)
    const second = await next()
    const again = await second.connect(KEPT)
    assert.deepEqual(texts(await take(again, 3)), ['1', '2', '3'])
    await publishAll(await second.connect(), ['4'])
    assert.deepEqual(texts(await take(again, 1)), ['4'])
  })

  it('nothing is repeated after an orderly end', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    await publishAll(await first.connect(), ['1'])
    const [one] = await take(reader, 1)
    reader.acknowledge('puback', (one as PublishPacket).packetId)
    await reader.sync()
    await first.broker.close()
    const second = await next()
    const again = await second.connect(KEPT)
    await publishAll(await second.connect(), ['2'])
    const packets = await take(again, 1)
    assert.deepEqual(texts(packets), ['2'])
    assert.equal(packets[0]?.dup, false)
  })

  it('a QoS 2 message in flight keeps its Packet Identifier, so that its client can tell it is the same [MQTT-4.3.3-5]', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 2 })
    await publishAll(await first.connect(), ['1', '2'], 2)
    const before = await take(reader, 2)
    const second = await next()
    const again = await second.connect(KEPT)
    const after = await take(again, 2)
    assert.deepEqual(texts(after), ['1', '2'])
    assert.deepEqual(
      after.map(({ packetId, dup }) => ({ packetId, dup })),
      before.map(({ packetId }) => ({ packetId, dup: true })),
    )
    assert.deepEqual(await again.sync(), [])
  })

  it('a QoS 2 message that its client has received is released, not published again', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 2 })
    await publishAll(await first.connect(), ['1'], 2)
    const [packet] = await take(reader, 1)
    const packetId = packet?.packetId as number
    reader.acknowledge('pubrec', packetId)
    await reader.next('pubrel')
    const second = await next()
    const again = await second.connect(KEPT)
    assert.equal((await again.next('pubrel')).packetId, packetId)
    again.acknowledge('pubcomp', packetId)
    assert.deepEqual(await again.sync(), [])
  })

  it('a QoS 2 message brought to its end is not sent again, though no checkpoint knows it', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 2 })
    await publishAll(await first.connect(), ['1'], 2)
    const packetId = (await take(reader, 1))[0]?.packetId as number
    reader.acknowledge('pubrec', packetId)
    await reader.next('pubrel')
    reader.acknowledge('pubcomp', packetId)
    await reader.sync()
    const second = await next()
    const again = await second.connect(KEPT)
    const packets = await again.sync()
    assert.deepEqual(
      packets.filter(({ type }) => type === 'publish'),
      [],
    )
  })

  it('a QoS 2 message brought to its end before its reader had caught up with it is not sent again after a second crash', async () => {
    const { next } = await createDeployment()
    const first = await next()
    // Only one message is in flight at a time, so after the restart the reader is still catching
    // up.
    const slow = { ...KEPT, properties: { ...KEPT.properties, receiveMaximum: 1 } }
    const reader = await first.connect({ ...KEPT, properties: { ...KEPT.properties, receiveMaximum: 2 } })
    await reader.subscribe(TOPIC_FILTER, { qos: 2 })
    await publishAll(await first.connect(), ['1', '2', '3'], 2)
    for (const { packetId } of await take(reader, 2)) reader.acknowledge('pubrec', packetId)
    const released = [await reader.next('pubrel'), await reader.next('pubrel')]
    const second = await next()
    const again = await second.connect(slow)
    for (const { packetId } of released) {
      assert.equal((await again.next('pubrel')).packetId, packetId)
    }
    const [one] = released
    again.acknowledge('pubcomp', one?.packetId as number)
    await again.sync()
    await second.broker.store?.checkpoint()
    const third = await next()
    const last = await third.connect(KEPT)
    const packets = (await last.sync()).filter(({ type }) => type === 'publish') as PublishPacket[]
    assert.deepEqual(texts(packets), ['3'])
  })

  it('a QoS 2 PUBLISH that was received is not taken twice [MQTT-4.3.3-10]', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const publisher = await first.connect({ ...KEPT, clientId: 'publisher' })
    const packetId = publisher.publish(TOPIC_NAME, '1', { qos: 2 })
    await publisher.next('pubrec')
    const second = await next()
    const reader = await second.connect()
    await reader.subscribe(TOPIC_FILTER, { qos: 2 })
    const again = await second.connect({ ...KEPT, clientId: 'publisher' })
    again.publish(TOPIC_NAME, '1', { qos: 2, dup: true, packetId })
    assert.equal((await again.next('pubrec')).packetId, packetId)
    again.acknowledge('pubrel', packetId)
    assert.equal((await again.next('pubcomp')).reasonCode, 0)
    assert.deepEqual(await reader.sync(), [])
    // After PUBREL the identifier means another message.
    again.publish(TOPIC_NAME, '2', { qos: 2, packetId })
    await again.next('pubrec')
    assert.deepEqual(texts(await take(reader, 1)), ['2'])
  })

  it('a message of a shared subscription is not lost with a member whose Session is not kept', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const kept = await first.connect(KEPT)
    await kept.subscribe(`$share/group/${TOPIC_FILTER}`, { qos: 1 })
    const unkept = await first.connect({ clientId: 'unkept' })
    await unkept.subscribe(`$share/group/${TOPIC_FILTER}`, { qos: 1 })
    await publishAll(await first.connect(), ['1', '2', '3', '4'])
    for (const packet of await take(kept, 2)) kept.acknowledge('puback', packet.packetId)
    const [done, open] = (await take(unkept, 2)) as [PublishPacket, PublishPacket]
    unkept.acknowledge('puback', done.packetId)
    await Promise.all([kept.sync(), unkept.sync()])
    await first.broker.store?.checkpoint()
    await publishAll(await first.connect(), ['5'])
    const again = await (await next()).connect(KEPT)
    const packets = await take(again, 2)
    assert.deepEqual(new Set(texts(packets)), new Set([open.payload.toString(), '5']))
    assert.deepEqual(await again.sync(), [])
  })

  it('a shared subscription goes on where its group was', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(`$share/group/${TOPIC_FILTER}`, { qos: 1 })
    reader.drop()
    const publisher = await first.connect()
    await publishAll(publisher, ['1', '2'])
    const second = await next()
    const again = await second.connect(KEPT)
    assert.deepEqual(texts(await take(again, 2)), ['1', '2'])
    assert.deepEqual(await again.sync(), [])
  })

  it('nothing is kept of what belongs to nobody any more', async () => {
    const engine = new SurvivingEngine()
    const clock = new ManualClock()
    const first = await createHarness({ engine, clock })
    const member = await first.connect()
    await member.subscribe(`$share/group/${TOPIC_FILTER}`, { qos: 1 })
    const reader = await first.connect({ ...KEPT, properties: { sessionExpiryIntervalSeconds: 10 } })
    await reader.subscribe(TOPIC_FILTER, { qos: 2 })
    await publishAll(await first.connect(), ['1', '2'], 2)
    await take(reader, 2)
    await first.broker.store?.checkpoint()
    clock.advance(first.broker, 20)
    const second = await createHarness({ engine, clock })
    clock.advance(second.broker, 20)
    await second.broker.store?.checkpoint()
    const keys: string[] = []
    for await (const { key } of engine.load('')) keys.push(key)
    assert.deepEqual(keys, ['checkpoint'])
  })

  it('retained messages are there, the removed ones are not', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const publisher = await first.connect()
    publisher.publish('a/b', 'kept', { qos: 1, retain: true })
    await publisher.next('puback')
    publisher.publish('a/c', 'kept too', { retain: true })
    publisher.publish('a/d', 'removed', { qos: 1, retain: true })
    await publisher.next('puback')
    publisher.publish('a/d', '', { qos: 1, retain: true })
    await publisher.next('puback')
    const second = await next()
    const reader = await second.connect()
    await reader.subscribe('a/#', { qos: 1 })
    assert.deepEqual(texts(await take(reader, 2)).toSorted(), ['kept', 'kept too'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('CONNACK says that the Will Message is stored, and waits for nothing else [MQTT-3.1.2-7]', async () => {
    const engine = new SlowDisk().mount()
    const { open } = await createHarness({ engine })
    const payload = Buffer.from('gone')
    const will = { topicName: TOPIC_NAME, payload, qos: 1, retain: false, delayIntervalSeconds: 0 } as const
    const connect = { ...KEPT, type: 'connect', protocolVersion: 5, keepAliveSeconds: 0 } as const
    const [plain, willing] = [open(), open()]
    willing.send({ ...connect, clientId: 'willing', will })
    plain.send(connect)
    assert.equal((await plain.next('connack')).reasonCode, 0)
    assert.equal(willing.unread, 0)
    engine.sync()
    assert.equal((await willing.next('connack')).reasonCode, 0)
    assert.deepEqual(await willing.sync(), [])
  })

  it('the Will Message of a kept Session goes out after its delay', async () => {
    const { next, clock } = await createDeployment()
    const first = await next()
    const will = {
      topicName: 'a/b',
      payload: Buffer.from('gone'),
      qos: 1,
      retain: false,
      delayIntervalSeconds: 5,
    } as const
    await first.connect({ ...KEPT, will })
    const second = await next()
    const reader = await second.connect()
    await reader.subscribe('a/b')
    clock.advance(second.broker, 4)
    assert.deepEqual(await reader.sync(), [])
    clock.advance(second.broker, 2)
    assert.deepEqual(texts(await take(reader, 1)), ['gone'])
  })

  it('a Session that expired meanwhile is not there any more', async () => {
    const { next, clock } = await createDeployment()
    const first = await next()
    const reader = await first.connect({ ...KEPT, properties: { sessionExpiryIntervalSeconds: 10 } })
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    reader.drop()
    await first.broker.store?.checkpoint()
    clock.advance(first.broker, 5)
    const second = await next()
    clock.advance(second.broker, 6)
    const again = await second.connect(KEPT)
    assert.equal(again.sessionPresent, false)
  })

  it('a Session ended by Clean Start stays ended', async () => {
    const { next } = await createDeployment()
    const first = await next()
    const reader = await first.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    reader.drop()
    await first.connect({ ...KEPT, cleanStart: true, properties: {} })
    const second = await next()
    const again = await second.connect(KEPT)
    assert.equal(again.sessionPresent, false)
  })
})
