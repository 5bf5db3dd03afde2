import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import type { TestClient } from '../support/broker-harness.ts'
import { both, everything, expectEnd, lasting, payloads, publishFully } from './both-versions.ts'

async function publishMany(client: TestClient, topicName: string, count: number, qos: 0 | 1 | 2): Promise<string[]> {
  const sent = Array.from({ length: count }, (_, index) => `${qos}:${index}`)
  for (const payload of sent) await publishFully(client, topicName, payload, { qos })
  return sent
}

describe('a shared subscription', () => {
  both('gives each message to one member, in turn', async ({ connect }, version) => {
    const members = [
      await connect({ protocolVersion: version }),
      await connect({ protocolVersion: version }),
      await connect(),
    ]
    for (const member of members) await member.subscribe('$share/g/a/#', { qos: 2 })
    const publisher = await connect()
    const sent = [
      ...(await publishMany(publisher, 'a/b', 30, 0)),
      ...(await publishMany(publisher, 'a/c', 30, 1)),
      ...(await publishMany(publisher, 'a', 30, 2)),
    ]
    const received = await Promise.all(members.map((member) => payloads(member)))
    assert.deepEqual(
      received.map(({ length }) => length),
      [30, 30, 30],
    )
    assert.deepEqual(received.flat().toSorted(), sent.toSorted())
  })

  test('is another one with another ShareName or Topic Filter, and none of them takes from plain subscriptions', async () => {
    const { connect } = await createHarness()
    const filters = ['$share/g/a', '$share/h/a', '$share/g/+', 'a']
    const clients: TestClient[] = []
    for (const topicFilter of filters) {
      const client = await connect()
      await client.subscribe(topicFilter, { qos: 1 })
      clients.push(client)
    }
    const sent = await publishMany(await connect(), 'a', 5, 1)
    for (const client of clients) assert.deepEqual(await payloads(client), sent)
  })

  test('of one client beside its plain one brings the message twice', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    await client.subscribe('a', {}, 1)
    await client.subscribe('$share/g/a', {}, 2)
    await publishFully(await connect(), 'a', 'x')
    const identifiers = (await everything(client)).map((packet) =>
      packet.type === 'publish' ? packet.properties?.subscriptionIdentifiers?.[0] : packet.type,
    )
    assert.deepEqual(new Set(identifiers), new Set([1, 2]))
    assert.equal(identifiers.length, 2)
  })

  test('of another tenant is a separate group', async () => {
    const { connect } = await createHarness()
    const mine = await connect({ userName: 'one/a' })
    const theirs = await connect({ userName: 'two/a' })
    for (const client of [mine, theirs]) await client.subscribe('$share/g/a')
    const sent = await publishMany(await connect({ userName: 'one/a' }), 'a', 4, 0)
    assert.deepEqual(await payloads(mine), sent)
    assert.deepEqual(await payloads(theirs), sent)
  })

  test('delivers at the QoS granted to the member that gets the message [MQTT-4.8.2-3]', async () => {
    const { connect } = await createHarness()
    const members = new Map<number, TestClient>()
    for (const qos of [0, 1, 2] as const) {
      const member = await connect()
      await member.subscribe('$share/g/a', { qos })
      members.set(qos, member)
    }
    await publishMany(await connect(), 'a', 9, 2)
    for (const [qos, member] of members) {
      for (let count = 0; count < 3; count += 1) assert.equal((await member.next('publish')).qos, qos)
    }
  })

  for (const [topicFilter, why] of [
    ['$share/g', 'no Topic Filter'],
    ['$share/g/', 'an empty Topic Filter'],
    ['$share//a', 'an empty ShareName'],
    ['$share/g+/a', '+ in the ShareName'],
    ['$share/#/a', '# in the ShareName'],
    ['$share/', 'nothing at all'],
  ] as const) {
    test(`with ${why} is refused [MQTT-4.8.2-1] [MQTT-4.8.2-2]`, async () => {
      const { connect, broker } = await createHarness()
      const client = await connect()
      client.send({
        type: 'subscribe',
        packetId: 1,
        subscriptions: [{ topicFilter, qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
      })
      await expectEnd(client, 0x8f)
      assert.equal(broker.counters.subscriptions, 0)
    })
  }

  test('is what $share/ begins alone: other names with $share are plain Topic Filters', async () => {
    const { connect } = await createHarness()
    for (const topicName of ['$shared/g/a', '$share', '$Share/g/a']) {
      const client = await connect()
      assert.equal(await client.subscribe(topicName), 0)
      await publishFully(await connect(), topicName, 'x')
      assert.deepEqual(await payloads(client), ['x'])
    }
  })
})

describe('members of a shared subscription', () => {
  both('whose window is full are passed over; when all are full the messages wait', async (_, version) => {
    const { connect } = await createHarness({ limits: { maximumInflight: 2 } })
    const one = await connect({ protocolVersion: version })
    const two = await connect({ protocolVersion: version })
    for (const member of [one, two]) await member.subscribe('$share/g/a', { qos: 1 })
    const sent = await publishMany(await connect(), 'a', 8, 1)
    const received = [...(await payloads(one)), ...(await payloads(two))]
    assert.equal(received.length, 4)
    for (let packetId = 1; packetId <= 4; packetId += 1) {
      two.acknowledge('puback', packetId)
      received.push(...(await payloads(two)))
    }
    assert.deepEqual(received.toSorted(), sent)
  })

  both(
    'that disconnect leave their QoS 1 messages to the others, which get them as new',
    async ({ connect }, version) => {
      const one = await connect({ protocolVersion: version })
      const two = await connect({ protocolVersion: version })
      for (const member of [one, two]) await member.subscribe('$share/g/a', { qos: 1 })
      const sent = await publishMany(await connect(), 'a', 6, 1)
      const received = await payloads(two)
      one.drop()
      for (const packet of await everything(two)) {
        assert.ok(packet.type === 'publish')
        assert.equal(packet.dup, false)
        received.push(packet.payload.toString())
      }
      assert.deepEqual(received.toSorted(), sent)
    },
  )

  both(
    'that disconnect keep their QoS 2 messages and complete them when they are back [MQTT-4.8.2-4]',
    async ({ connect }, version) => {
      const one = await connect(lasting(version, 'one'))
      await one.subscribe('$share/g/a', { qos: 2 })
      const publisher = await connect()
      await publishMany(publisher, 'a', 2, 2)
      assert.deepEqual(await payloads(one), ['2:0', '2:1'])
      one.acknowledge('pubrec', 2)
      await one.next('pubrel')
      const two = await connect({ protocolVersion: version })
      await two.subscribe('$share/g/a', { qos: 2 })
      one.drop()
      assert.deepEqual(await everything(two), [])
      const back = await connect(lasting(version, 'one'))
      assert.equal((await back.next('pubrel')).packetId, 2)
      const again = await back.next('publish')
      assert.deepEqual([again.packetId, again.dup, again.payload.toString()], [1, true, '2:0'])
      assert.deepEqual(await everything(two), [])
    },
  )

  test('whose Session ends take QoS 2 with them: nobody else gets it [MQTT-4.8.2-5]', async () => {
    const { connect, clock, broker } = await createHarness()
    const one = await connect({ clientId: 'one', properties: { sessionExpiryIntervalSeconds: 5 } })
    await one.subscribe('$share/g/a', { qos: 2 })
    const publisher = await connect()
    await publishMany(publisher, 'a', 1, 2)
    await publishMany(publisher, 'a', 1, 1)
    assert.deepEqual(await payloads(one), ['2:0', '1:0'])
    const two = await connect()
    await two.subscribe('$share/g/a', { qos: 2 })
    one.drop()
    assert.deepEqual(await payloads(two), ['1:0'])
    clock.advance(broker, 10)
    assert.deepEqual(await payloads(two), [])
  })

  test('that refuse a message end it for all of them [MQTT-4.8.2-6]', async () => {
    const { connect } = await createHarness()
    const one = await connect(lasting(5, 'one'))
    await one.subscribe('$share/g/a', { qos: 2 })
    const publisher = await connect()
    await publishMany(publisher, 'a', 1, 1)
    await publishMany(publisher, 'a', 1, 2)
    await everything(one)
    const two = await connect()
    await two.subscribe('$share/g/a', { qos: 2 })
    one.acknowledge('puback', 1, 0x97)
    one.acknowledge('pubrec', 2, 0x83)
    assert.deepEqual(await everything(one), [])
    one.drop()
    assert.deepEqual(await everything(two), [])
    assert.deepEqual(await everything(await connect(lasting(5, 'one'))), [])
  })

  both(
    'that are all away get the messages of the meantime, in order, when the first is back',
    async ({ connect }, version) => {
      for (const clientId of ['one', 'two']) {
        const member = await connect(lasting(version, clientId))
        await member.subscribe('$share/g/a', { qos: 1 })
        member.drop()
      }
      const sent = await publishMany(await connect(), 'a', 10, 1)
      const two = await connect(lasting(version, 'two'))
      assert.deepEqual(await payloads(two), sent)
      assert.deepEqual(await payloads(await connect(lasting(version, 'one'))), [])
    },
  )

  both('that are all away keep the messages in flight to them', async ({ connect }, version) => {
    const one = await connect(lasting(version, 'one'))
    await one.subscribe('$share/g/a', { qos: 1 })
    await publishMany(await connect(), 'a', 3, 1)
    assert.equal((await payloads(one)).length, 3)
    one.drop()
    assert.deepEqual(await payloads(await connect(lasting(version, 'one'))), ['1:0', '1:1', '1:2'])
  })

  test('that are all gone leave nothing behind: a new group begins with new messages', async () => {
    const { connect, broker } = await createHarness()
    const one = await connect()
    await one.subscribe('$share/g/a', { qos: 1 })
    one.drop()
    assert.equal(broker.counters.subscriptions, 0)
    const publisher = await connect()
    await publishMany(publisher, 'a', 3, 1)
    const two = await connect()
    await two.subscribe('$share/g/a', { qos: 1 })
    assert.deepEqual(await payloads(two), [])
    await publishMany(publisher, 'a', 1, 1)
    assert.deepEqual(await payloads(two), ['1:0'])
  })

  test('for whom a message is too large count as having got it [MQTT-3.1.2-25]', async () => {
    const { connect } = await createHarness()
    const one = await connect({ properties: { maximumPacketSizeBytes: 30 } })
    await one.subscribe('$share/g/a', { qos: 1 })
    const publisher = await connect()
    await publishFully(publisher, 'a', 'x'.repeat(40), { qos: 1 })
    await publishFully(publisher, 'a', 'small', { qos: 1 })
    assert.deepEqual(await payloads(one), ['small'])
  })
})
