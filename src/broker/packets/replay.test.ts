/** Replays of the past, and the notice of messages that are gone. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PublishPacket, UserProperty } from '../../mqtt/packet.ts'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { MISSED_TOPIC_NAME } from '../delivery/missed-notice.ts'

const TOPIC_NAME = 'application/5/device/0102030405060708/event/up'
const OTHER_DEVICE = 'application/5/device/0a0a0a0a0a0a0a0a/event/up'
const TOPIC_FILTER = 'application/5/device/+/event/+'
const BEGINNING = '2020-01-01T00:00:00Z'

function createDeployment(): Promise<Harness> {
  return createHarness({ engine: new SurvivingEngine(), idProperty: 'event-id', keepsQoS0: () => true })
}

async function publishAll(client: TestClient, payloads: readonly string[], topicName = TOPIC_NAME): Promise<void> {
  for (const payload of payloads) {
    client.publish(topicName, payload, { qos: 1 })
    await client.next('puback')
  }
}

/** Subscribes with `replay-from`, without waiting for messages. */
async function subscribeFrom(
  client: TestClient,
  from: string,
  qos: 0 | 1 = 1,
  topicFilter = TOPIC_FILTER,
): Promise<number> {
  const packetId = client.nextPacketId()
  const request = { topicFilter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  const userProperties: UserProperty[] = [['replay-from', from]]
  client.send({ type: 'subscribe', packetId, subscriptions: [request], properties: { userProperties } })
  return (await client.next('suback')).reasonCodes[0] as number
}

async function take(client: TestClient, count: number): Promise<PublishPacket[]> {
  const packets: PublishPacket[] = []
  while (packets.length < count) packets.push(await client.next('publish'))
  return packets
}

function texts(packets: readonly PublishPacket[]): string[] {
  return packets.map(({ payload }) => payload.toString())
}

function idOf(packet: PublishPacket | undefined): string {
  return packet?.properties?.userProperties?.find(([name]) => name === 'event-id')?.[1] ?? ''
}

describe('a subscription that asks for what was before it', () => {
  it('is sent the past from a time on, and then goes on live, without a gap and without a second copy', async () => {
    const { connect } = await createDeployment()
    const publisher = await connect()
    await publishAll(publisher, ['1', '2'])
    const reader = await connect()
    assert.equal(await subscribeFrom(reader, BEGINNING), 1)
    await publishAll(publisher, ['3'])
    assert.deepEqual(texts(await take(reader, 3)), ['1', '2', '3'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('goes on behind the event whose id it names', async () => {
    const { connect } = await createDeployment()
    const publisher = await connect()
    const first = await connect()
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    await publishAll(publisher, ['1', '2', '3'])
    const [, two] = await take(first, 3)
    const reader = await connect()
    await subscribeFrom(reader, idOf(two))
    assert.deepEqual(texts(await take(reader, 1)), ['3'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('gets the same event under the same id, live and from the past', async () => {
    const { connect } = await createDeployment()
    const live = await connect()
    await live.subscribe(TOPIC_FILTER, { qos: 1 })
    await publishAll(await connect(), ['1'])
    const late = await connect()
    await subscribeFrom(late, BEGINNING)
    const id = idOf((await take(live, 1))[0])
    assert.match(id, /^\d+-\d+$/)
    assert.equal(idOf((await take(late, 1))[0]), id)
  })

  it('is possible in MQTT 3.1.1 by a prefix of the Topic Filter, and ended without it', async () => {
    const { connect } = await createDeployment()
    const publisher = await connect()
    await publishAll(publisher, ['1'])
    const reader = await connect({ protocolVersion: 4 })
    assert.equal(await reader.subscribe(`$replay/${BEGINNING}/${TOPIC_FILTER}`, { qos: 1 }), 1)
    const packets = await take(reader, 1)
    assert.deepEqual(texts(packets), ['1'])
    assert.equal(packets[0]?.topicName, TOPIC_NAME)
    reader.send({ type: 'unsubscribe', packetId: 7, topicFilters: [TOPIC_FILTER] })
    await reader.next('unsuback')
    await publishAll(publisher, ['2'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('works at QoS 0, and with events that were published at QoS 0', async () => {
    const { connect } = await createDeployment()
    const publisher = await connect()
    publisher.publish(TOPIC_NAME, '1')
    await publisher.sync()
    const reader = await connect()
    assert.equal(await subscribeFrom(reader, BEGINNING, 0), 0)
    publisher.publish(TOPIC_NAME, '2')
    await publishAll(publisher, ['3'])
    assert.deepEqual(texts(await take(reader, 3)), ['1', '2', '3'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('does not bring to the other subscriptions of its Session what they had already', async () => {
    const { connect } = await createDeployment()
    const publisher = await connect()
    const reader = await connect()
    await reader.subscribe(OTHER_DEVICE, { qos: 1 })
    await publishAll(publisher, ['other 1'], OTHER_DEVICE)
    await publishAll(publisher, ['1'])
    assert.deepEqual(texts(await take(reader, 1)), ['other 1'])
    await subscribeFrom(reader, BEGINNING, 1, TOPIC_NAME)
    await publishAll(publisher, ['other 2'], OTHER_DEVICE)
    assert.deepEqual(texts(await take(reader, 2)), ['1', 'other 2'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('is not sent the past once more when its client comes back and subscribes again', async () => {
    const { connect } = await createDeployment()
    const publisher = await connect()
    await publishAll(publisher, ['1'])
    const kept = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } }
    const reader = await connect(kept)
    await subscribeFrom(reader, BEGINNING)
    for (const { packetId } of await take(reader, 1)) reader.acknowledge('puback', packetId)
    await reader.sync()
    reader.drop()
    await publishAll(publisher, ['2'])
    const again = await connect(kept)
    const packets = await take(again, 1)
    assert.deepEqual(texts(packets), ['2'])
    await subscribeFrom(again, BEGINNING)
    assert.deepEqual(await again.sync(), [])
  })

  it('is refused with what is wrong: no time and no id, an id of another branch, a shared subscription', async () => {
    const { connect } = await createDeployment()
    await publishAll(await connect(), ['1'])
    const reader = await connect()
    assert.equal(await subscribeFrom(reader, 'yesterday'), 0x8f)
    assert.equal(await subscribeFrom(reader, '63-1000000'), 0x8f)
    assert.equal(await subscribeFrom(reader, BEGINNING, 1, `$share/g/${TOPIC_FILTER}`), 0x83)
  })

  it('gives nothing from before the topics belonged to its tenant, by a time as little as by an id', async () => {
    const { connect, policy } = await createDeployment()
    const publisher = await connect()
    const first = await connect()
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    await publishAll(publisher, ['1', '2', '3'])
    const [one] = await take(first, 1)
    for (const from of [BEGINNING, idOf(one)]) {
      const reader = await connect()
      const permit = policy.permits.at(-1)
      assert.ok(permit)
      permit.belongsSinceMs = () => Promise.resolve(Infinity)
      assert.equal(await subscribeFrom(reader, from), 1)
      assert.deepEqual(await reader.sync(), [])
      await publishAll(publisher, ['4'])
      assert.deepEqual(texts(await take(reader, 1)), ['4'])
    }
  })

  it('gives nothing to who may not subscribe', async () => {
    const { connect, policy } = await createDeployment()
    await publishAll(await connect(), ['1'])
    const reader = await connect()
    const permit = policy.permits.at(-1)
    assert.ok(permit)
    permit.subscribe = () => ({ allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold: 'close' })
    assert.equal(await subscribeFrom(reader, BEGINNING), 0x87)
    assert.deepEqual(await reader.sync(), [])
  })
})

describe('messages of QoS 0 that are kept', () => {
  it('reach a Session that was away', async () => {
    const { connect } = await createDeployment()
    const kept = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } }
    const reader = await connect(kept)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    reader.drop()
    const publisher = await connect()
    publisher.publish(TOPIC_NAME, '1')
    await publisher.sync()
    const packets = await take(await connect(kept), 1)
    assert.deepEqual(texts(packets), ['1'])
    assert.equal(packets[0]?.qos, 0)
  })
})

describe('a Session that retention or its bound overtook', () => {
  it('is told on its notice topic at most how many it missed', async () => {
    const limits = { maximumQueuedMessages: 2 }
    const { connect } = await createHarness({ limits })
    const kept = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } }
    const reader = await connect(kept)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    await reader.subscribe(MISSED_TOPIC_NAME, { qos: 1 })
    reader.drop()
    await publishAll(await connect(), ['1', '2', '3', '4', '5'])
    const packets = await take(await connect(kept), 3)
    assert.deepEqual(texts(packets.slice(1)), ['4', '5'])
    assert.equal(packets[0]?.topicName, MISSED_TOPIC_NAME)
    assert.equal(JSON.parse(packets[0].payload.toString()).missedAtMost, 3)
  })
})

describe('a shared subscription that was behind', () => {
  it('gets messages of its own Topic Filter only, though the log has others in the same partition', async () => {
    const { connect } = await createHarness()
    const kept = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } }
    const reader = await connect(kept)
    await reader.subscribe(`$share/group/${TOPIC_NAME}`, { qos: 1 })
    reader.drop()
    const publisher = await connect()
    await publishAll(publisher, ['not for it'], OTHER_DEVICE)
    await publishAll(publisher, ['1'])
    const again = await connect(kept)
    assert.deepEqual(texts(await take(again, 1)), ['1'])
    assert.deepEqual(await again.sync(), [])
  })
})
