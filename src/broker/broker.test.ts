import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHarness } from '../../test/support/broker-harness.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { RoutedMessage } from './ports/consumer.ts'
import { ALLOWED } from './ports/policy.ts'

describe('delivery', () => {
  for (const version of [4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      test(`a QoS ${qos} message reaches a subscriber, MQTT ${version === 4 ? '3.1.1' : '5.0'}`, async () => {
        const { connect } = await createHarness()
        const subscriber = await connect({ protocolVersion: version })
        const publisher = await connect({ protocolVersion: version })
        assert.equal(await subscriber.subscribe('a/+', { qos }), qos)
        publisher.publish('a/b', 'hello', { qos })
        if (qos === 1) await publisher.next('puback')
        if (qos === 2) {
          const { packetId } = await publisher.next('pubrec')
          publisher.acknowledge('pubrel', packetId)
          await publisher.next('pubcomp')
        }
        const message = await subscriber.next('publish')
        assert.equal(message.payload.toString(), 'hello')
        assert.equal(message.qos, qos)
        if (qos === 1) subscriber.acknowledge('puback', message.packetId)
        if (qos === 2) {
          subscriber.acknowledge('pubrec', message.packetId)
          await subscriber.next('pubrel')
          subscriber.acknowledge('pubcomp', message.packetId)
        }
        assert.deepEqual(await subscriber.sync(), [])
      })
    }
  }

  test('a Session that was away gets what it missed, in order, once it is back', async () => {
    const { connect } = await createHarness()
    const fields = { clientId: 'away', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 100 } }
    const first = await connect(fields)
    await first.subscribe('a/#', { qos: 1 })
    first.drop()
    const publisher = await connect()
    for (let index = 0; index < 3000; index += 1) {
      publisher.publish('a/b', String(index), { qos: 1 })
      await publisher.next('puback')
    }
    const second = await connect(fields)
    assert.equal(second.sessionPresent, true)
    for (let index = 0; index < 3000; index += 1) {
      const message = await second.next('publish')
      assert.equal(message.payload.toString(), String(index))
      second.acknowledge('puback', message.packetId)
    }
    publisher.publish('a/b', 'live', { qos: 1 })
    assert.equal((await second.next('publish')).payload.toString(), 'live')
  })

  test('what was in flight is sent again with DUP and the same Packet Identifier [MQTT-4.4.0-1]', async () => {
    const { connect } = await createHarness()
    const fields = { clientId: 'away', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 100 } }
    const first = await connect(fields)
    await first.subscribe('a', { qos: 2 })
    const publisher = await connect()
    publisher.publish('a', 'one', { qos: 1 })
    publisher.publish('a', 'two', { qos: 2 })
    const one = await first.next('publish')
    const two = await first.next('publish')
    first.acknowledge('pubrec', two.packetId)
    await first.next('pubrel')
    first.drop()
    const second = await connect(fields)
    assert.equal((await second.next('pubrel')).packetId, two.packetId)
    const again = await second.next('publish')
    assert.deepEqual([again.packetId, again.dup, again.payload.toString()], [one.packetId, true, 'one'])
  })

  test('no more than Receive Maximum messages are in flight; the rest follows the acknowledgements [MQTT-3.3.4-9]', async () => {
    const { connect } = await createHarness()
    const subscriber = await connect({ properties: { receiveMaximum: 2 } })
    await subscriber.subscribe('a', { qos: 1 })
    const publisher = await connect()
    for (const payload of ['1', '2', '3', '4', '5']) publisher.publish('a', payload, { qos: 1 })
    const first = await subscriber.next('publish')
    const second = await subscriber.next('publish')
    assert.deepEqual(await subscriber.sync(), [])
    subscriber.acknowledge('puback', first.packetId)
    assert.equal((await subscriber.next('publish')).payload.toString(), '3')
    assert.deepEqual(await subscriber.sync(), [])
    subscriber.acknowledge('puback', second.packetId)
    assert.equal((await subscriber.next('publish')).payload.toString(), '4')
  })

  test('overlapping subscriptions deliver once, at the highest QoS, with all their identifiers [MQTT-3.3.4-2], [MQTT-3.3.4-3]', async () => {
    const { connect } = await createHarness()
    const subscriber = await connect()
    await subscriber.subscribe('a/+', { qos: 0 }, 7)
    await subscriber.subscribe('a/#', { qos: 1 }, 8)
    const publisher = await connect()
    publisher.publish('a/b', 'x', { qos: 1 })
    const message = await subscriber.next('publish')
    assert.equal(message.qos, 1)
    assert.deepEqual(
      [...(message.properties?.subscriptionIdentifiers ?? [])].toSorted((a, b) => a - b),
      [7, 8],
    )
    assert.deepEqual(await subscriber.sync(), [])
  })

  test('No Local keeps a message from the Session that published it [MQTT-3.8.3-3]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    await client.subscribe('a', { noLocal: true, qos: 1 })
    client.publish('a', 'x', { qos: 1 })
    await client.next('puback')
    assert.deepEqual(await client.sync(), [])
  })

  test('a shared subscription gives each message to one member, and what a member left goes to another', async () => {
    const { connect } = await createHarness()
    const one = await connect()
    const two = await connect()
    await one.subscribe('$share/g/a', { qos: 1 })
    await two.subscribe('$share/g/a', { qos: 1 })
    const publisher = await connect()
    for (const payload of ['1', '2', '3', '4']) {
      publisher.publish('a', payload, { qos: 1 })
      await publisher.next('puback')
    }
    const ofOne = [(await one.next('publish')).payload.toString(), (await one.next('publish')).payload.toString()]
    const ofTwo = [await two.next('publish'), await two.next('publish')]
    for (const { packetId } of ofTwo) two.acknowledge('puback', packetId)
    assert.deepEqual([...ofOne, ...ofTwo.map(({ payload }) => payload.toString())].toSorted(), ['1', '2', '3', '4'])
    one.drop()
    const again = [(await two.next('publish')).payload.toString(), (await two.next('publish')).payload.toString()]
    assert.deepEqual(again.toSorted(), ofOne)
  })
})

describe('the observer', () => {
  test('is told once of each message that was routed, and of none that was refused', async () => {
    const seen: string[] = []
    const observer = {
      observe: ({ topicName, payload }: RoutedMessage) => seen.push(`${topicName} ${String(payload)}`),
    }
    const { connect, policy } = await createHarness({ observer })
    const publisher = await connect()
    policy.permits[0]!.publish = (topicName) =>
      topicName === 'mine'
        ? ALLOWED
        : { allowed: false, reasonCode: ReasonCodes.notAuthorized, reason: 'no', code: 'no', untold: 'discard' }
    publisher.publish('mine', 'zero')
    publisher.publish('mine', 'one', { qos: 1 })
    publisher.publish('theirs', 'refused', { qos: 1 })
    const packetId = publisher.publish('mine', 'two', { qos: 2 })
    publisher.publish('mine', 'two', { qos: 2, dup: true, packetId })
    await publisher.sync()
    assert.deepEqual(seen, ['mine zero', 'mine one', 'mine two'])
  })
})

describe('retained messages', () => {
  test('a new subscription gets the last one, with RETAIN set, and none after an empty payload [MQTT-3.3.1-5], [MQTT-3.3.1-6]', async () => {
    const { connect } = await createHarness()
    const publisher = await connect()
    publisher.publish('a/b', 'old', { retain: true, qos: 1 })
    publisher.publish('a/b', 'new', { retain: true, qos: 1 })
    const subscriber = await connect()
    await publisher.next('puback')
    await publisher.next('puback')
    await subscriber.subscribe('a/+', { qos: 1 })
    const message = await subscriber.next('publish')
    assert.deepEqual([message.payload.toString(), message.retain], ['new', true])
    publisher.publish('a/b', '', { retain: true, qos: 1 })
    await publisher.next('puback')
    const later = await connect()
    await later.subscribe('a/+')
    assert.deepEqual(await later.sync(), [])
  })
})

describe('Sessions', () => {
  test('the same Client Identifier of another tenant or user is another Session, and nobody is taken over', async () => {
    const { connect } = await createHarness()
    const fields = { clientId: 'same', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 100 } }
    const mine = await connect({ ...fields, userName: 'a/alice' })
    await mine.subscribe('t', { qos: 1 })
    const others = [await connect({ ...fields, userName: 'b/alice' }), await connect({ ...fields, userName: 'a/bob' })]
    for (const other of others) assert.equal(other.sessionPresent, false)
    assert.deepEqual(await mine.sync(), [])
  })

  test('a second connection of the same Session takes it over, and the first is told [MQTT-3.1.4-3]', async () => {
    const { connect } = await createHarness()
    const first = await connect({ clientId: 'same' })
    await connect({ clientId: 'same' })
    assert.equal((await first.next('disconnect')).reasonCode, 0x8e)
    await first.closed()
  })

  test('a Session ends when its expiry has passed', async () => {
    const { connect, broker, clock } = await createHarness()
    const fields = { clientId: 'short', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 10 } }
    const first = await connect(fields)
    await first.subscribe('t', { qos: 1 })
    first.drop()
    clock.advance(broker, 9)
    assert.equal(broker.counters.sessions, 1)
    clock.advance(broker, 2)
    assert.equal(broker.counters.sessions, 0)
    assert.equal(broker.counters.subscriptions, 0)
    assert.equal((await connect(fields)).sessionPresent, false)
  })
})

describe('permits', () => {
  test('a refused subscription says why and grants nothing; the others of the packet are granted', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect()
    const permit = policy.permits[0]
    assert.ok(permit)
    const refusal = {
      allowed: false,
      reasonCode: 0x87,
      reason: 'not yours',
      code: 'not_yours',
      untold: 'close',
    } as const
    permit.subscribe = (topicFilter) => (topicFilter.startsWith('mine/') ? { allowed: true } : refusal)
    const request = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
    client.send({
      type: 'subscribe',
      packetId: 5,
      subscriptions: [
        { topicFilter: 'mine/+', ...request },
        { topicFilter: '#', ...request },
      ],
    })
    const suback = await client.next('suback')
    assert.deepEqual(suback.reasonCodes, [1, 0x87])
    assert.equal(suback.properties?.reasonString, '#: not yours')
  })

  test('a granted Topic Filter that nothing matches is told in the Reason String, behind what is refused', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect()
    const silent = await connect({ properties: { requestProblemInformation: false } })
    const small = await connect({ properties: { maximumPacketSizeBytes: 40 } })
    let looks = 0
    for (const permit of policy.permits) {
      permit.whyUnmatched = async (topicFilter) => {
        looks += 1
        return topicFilter.startsWith('no/') ? { code: 'unknown', reason: 'there is none' } : undefined
      }
    }
    const told = async (of: typeof client, ...topicFilters: string[]): Promise<unknown> => {
      const request = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
      const subscriptions = topicFilters.map((topicFilter) => ({ topicFilter, ...request }))
      of.send({ type: 'subscribe', packetId: 5, subscriptions })
      const { reasonCodes, properties } = await of.next('suback')
      assert.deepEqual(
        [...reasonCodes],
        Array.from(topicFilters, () => 1),
      )
      return properties?.reasonString
    }
    assert.equal(await told(client, 'yes'), undefined)
    assert.equal(await told(client, '$share/g/no/1'), 'granted, but nothing matches $share/g/no/1: there is none')
    assert.match(String(await told(client, 'yes', 'no/1', 'no/2')), /matches no\/1: there is none \(and 1 more/)
    looks = 0
    await told(client, ...Array.from({ length: 50 }, (_, index) => `yes/${index}`))
    assert.equal(looks, 20)
    // The DISCONNECT has not a byte too many, and a client that takes no packet so large gets no
    // word.
    assert.equal(await told(small, 'no/1'), undefined)
    looks = 0
    assert.equal(await told(silent, 'no/1'), undefined)
    assert.equal(looks, 0)
  })

  test('a look-up that fails keeps no subscription from being granted', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect()
    for (const permit of policy.permits) permit.whyUnmatched = () => Promise.reject(new Error('the disk is gone'))
    assert.equal(await client.subscribe('a'), 0)
  })

  test('a permit that ends, ends its connection with the reason', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect()
    policy.permits[0]?.changed({ reasonCode: 0x98, reason: 'the token was revoked', code: 'token_revoked' })
    const disconnect = await client.next('disconnect')
    assert.equal(disconnect.reasonCode, 0x98)
    assert.equal(disconnect.properties?.reasonString, 'the token was revoked')
    await client.closed()
  })

  test('a permit that narrows ends a connection that subscribed to more, and its Session keeps only the rest', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect({
      clientId: 'c',
      cleanStart: false,
      properties: { sessionExpiryIntervalSeconds: 100 },
    })
    await client.subscribe('one/+')
    await client.subscribe('two/+')
    const permit = policy.permits[0]
    assert.ok(permit)
    permit.subscribe = (topicFilter) =>
      topicFilter === 'one/+'
        ? { allowed: true }
        : { allowed: false, reasonCode: 0x87, reason: '', code: 'gone', untold: 'close' }
    permit.changed()
    assert.equal((await client.next('disconnect')).reasonCode, 0x87)
  })

  test('the token expires at its second', async () => {
    const { connect, policy, broker, clock } = await createHarness()
    const admit = policy.admit
    policy.admit = async (credentials) => {
      const admission = await admit(credentials)
      const permit = policy.permits.at(-1)
      assert.ok(permit)
      permit.expiresAtMs = clock.now() + 5000
      return admission
    }
    const client = await connect()
    clock.advance(broker, 4)
    assert.deepEqual(await client.sync(), [])
    clock.advance(broker, 1)
    assert.equal((await client.next('disconnect')).reasonCode, 0x87)
  })

  test('a refused PUBLISH is told: PUBACK and PUBREC in MQTT 5, a closed connection elsewhere', async () => {
    const { connect, policy } = await createHarness()
    const refusal = { allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold: 'close' } as const
    const refused = async (protocolVersion: 4 | 5): Promise<Awaited<ReturnType<typeof connect>>> => {
      const client = await connect({ protocolVersion })
      const permit = policy.permits.at(-1)
      assert.ok(permit)
      permit.publish = () => Promise.resolve(refusal)
      return client
    }
    const five = await refused(5)
    five.publish('t', 'x', { qos: 1 })
    assert.equal((await five.next('puback')).reasonCode, 0x87)
    five.publish('t', 'x', { qos: 2 })
    assert.equal((await five.next('pubrec')).properties?.reasonString, 'no')
    five.publish('t', 'x')
    assert.equal((await five.next('disconnect')).reasonCode, 0x87)
    await five.closed()
    const four = await refused(4)
    four.publish('t', 'x', { qos: 1 })
    await four.closed()
  })
})

describe('Will Messages', () => {
  const will = { topicName: 'w', payload: Buffer.from('gone'), qos: 1, retain: false, delayIntervalSeconds: 0 } as const

  test('sent when the connection is lost, not after DISCONNECT [MQTT-3.1.2-8], [MQTT-3.1.2-10]', async () => {
    const { connect } = await createHarness()
    const watcher = await connect()
    await watcher.subscribe('w', { qos: 1 })
    const polite = await connect({ will })
    polite.disconnect()
    await polite.closed()
    assert.deepEqual(await watcher.sync(), [])
    const rude = await connect({ will })
    rude.drop()
    assert.equal((await watcher.next('publish')).payload.toString(), 'gone')
  })

  test('waits for its delay, and is not sent when the client is back in time [MQTT-3.1.3-9]', async () => {
    const { connect, clock, broker } = await createHarness()
    const watcher = await connect()
    await watcher.subscribe('w', { qos: 1 })
    const fields = { clientId: 'c', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 100 } }
    const client = await connect({ ...fields, will: { ...will, delayIntervalSeconds: 10 } })
    client.drop()
    clock.advance(broker, 9)
    assert.deepEqual(await watcher.sync(), [])
    const back = await connect({ ...fields, will: { ...will, delayIntervalSeconds: 10 } })
    clock.advance(broker, 20)
    assert.deepEqual(await watcher.sync(), [])
    back.drop()
    clock.advance(broker, 10)
    assert.equal((await watcher.next('publish')).payload.toString(), 'gone')
  })
})
