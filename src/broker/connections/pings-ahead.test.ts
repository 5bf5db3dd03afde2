/**
 * PINGREQ is answered while packets before it wait: for the log, which may have lost its quorum, or
 * for an answer of the policy.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { connectPacket, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SlowEngine } from '../../../test/support/slow-engine.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { encodePacket } from '../../mqtt/encode-packet.ts'
import type { Admission } from '../ports/policy.ts'

/** A PINGREQ waits for so long. */
const LONG_SECONDS = 4
const KEPT = { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const
const PING = encodePacket({ type: 'pingreq' }, 5)

interface Scene extends Harness {
  readonly engine: SlowEngine
  /** A client whose Session is kept. The engine owns nothing more from here on. */
  readonly client: TestClient
}

async function setUp(): Promise<Scene> {
  const engine = new SlowEngine(new SurvivingEngine())
  const harness = await createHarness({ engine })
  const client = await harness.connect({ ...KEPT, keepAliveSeconds: 10 })
  return { ...harness, engine, client }
}

function subscribe(client: TestClient): void {
  const request = { topicFilter: 'a', qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  client.send({ type: 'subscribe', packetId: client.nextPacketId(), subscriptions: [request] })
}

/** The types of the packets that have come, in order. */
function taken(client: TestClient): string[] {
  return client.takeAll().map(({ type }) => type)
}

/** Lets the engine own everything, and the broker handle what waited for it. */
async function ownAll(engine: SlowEngine): Promise<void> {
  for (let turns = 0; turns < 6; turns += 1) {
    engine.sync()
    await setImmediate()
  }
}

describe('PINGREQ behind a SUBSCRIBE that waits for the log', () => {
  it('is answered, and its client is not taken for a silent one [MQTT-3.12.4-1] [MQTT311-3.12.4-1]', async () => {
    const { client, clock, broker } = await setUp()
    subscribe(client)
    for (let round = 0; round < 5; round += 1) {
      client.send({ type: 'pingreq' })
      clock.advance(broker, LONG_SECONDS)
      await setImmediate()
      assert.deepEqual(taken(client), ['pingresp'])
    }
    assert.equal(client.transport.ended, false)
  })

  it('waits a moment, as it stands behind what was sent before it', async () => {
    const { client, clock, broker, engine } = await setUp()
    subscribe(client)
    client.send({ type: 'pingreq' })
    clock.advance(broker, LONG_SECONDS - 1)
    await setImmediate()
    assert.deepEqual(taken(client), [])
    await ownAll(engine)
    assert.deepEqual(taken(client), ['suback', 'pingresp'])
  })

  it('is answered within half of a short Keep Alive', async () => {
    const { connect, clock, broker } = await setUp()
    const hasty = await connect({ ...KEPT, keepAliveSeconds: 2 })
    subscribe(hasty)
    hasty.send({ type: 'pingreq' })
    clock.advance(broker, 1)
    await setImmediate()
    assert.deepEqual(taken(hasty), ['pingresp'])
  })

  it('is answered once, and all other packets keep their order', async () => {
    const { client, clock, broker, engine } = await setUp()
    subscribe(client)
    client.publish('a', 'one', { qos: 1 })
    client.send({ type: 'pingreq' })
    client.publish('a', 'two', { qos: 1 })
    client.send({ type: 'pingreq' })
    clock.advance(broker, LONG_SECONDS)
    await setImmediate()
    assert.deepEqual(taken(client), ['pingresp', 'pingresp'])
    await ownAll(engine)
    const packets = client.takeAll()
    assert.equal(packets[0]?.type, 'suback')
    const payloads = packets.flatMap((packet) => (packet.type === 'publish' ? [packet.payload.toString()] : []))
    assert.deepEqual(payloads, ['one', 'two'])
    const pubacks = packets.flatMap((packet) => (packet.type === 'puback' ? [packet.packetId] : []))
    assert.deepEqual(pubacks, [2, 3])
    assert.ok(!packets.some(({ type }) => type === 'pingresp'))
    assert.deepEqual(await client.sync(), [])
  })

  it('is answered, also when it came in the chunk of the SUBSCRIBE and in pieces', async () => {
    const { client, clock, broker, engine } = await setUp()
    const request = { topicFilter: 'a', qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
    const packet = encodePacket({ type: 'subscribe', packetId: 1, subscriptions: [request] }, 5)
    client.sendBytes(Buffer.concat([packet, PING, PING.subarray(0, 1)]))
    clock.advance(broker, LONG_SECONDS)
    await setImmediate()
    assert.deepEqual(taken(client), ['pingresp'])
    client.sendBytes(PING.subarray(1))
    clock.advance(broker, 1)
    await setImmediate()
    assert.deepEqual(taken(client), ['pingresp'])
    await ownAll(engine)
    assert.deepEqual(taken(client), ['suback'])
  })

  it('is answered each time, and a flood of it a bounded number of times a second', async () => {
    const { client, clock, broker, engine } = await setUp()
    subscribe(client)
    clock.advance(broker, LONG_SECONDS)
    client.sendBytes(Buffer.concat(Array.from({ length: 1000 }, () => PING)))
    clock.advance(broker, LONG_SECONDS)
    await setImmediate()
    const ahead = taken(client)
    assert.ok(ahead.length > 0 && ahead.length < 1000, String(ahead.length))
    await ownAll(engine)
    for (let turns = 0; turns < 200 && client.unread < 1000 - ahead.length + 1; turns += 1) await setImmediate()
    const all = taken(client)
    assert.equal(all.filter((type) => type === 'pingresp').length + ahead.length, 1000)
    assert.deepEqual(await client.sync(), [])
  })

  it('waits with the others behind very many packets or pieces', async () => {
    const { client, clock, broker, engine } = await setUp()
    subscribe(client)
    for (let count = 0; count < 300; count += 1) client.publish('a', 'x')
    client.send({ type: 'pingreq' })
    clock.advance(broker, LONG_SECONDS)
    await setImmediate()
    assert.deepEqual(taken(client), [])
    await ownAll(engine)
    assert.equal(taken(client).at(-1), 'pingresp')
  })

  it('of another connection is answered as ever', async () => {
    const { client, connect } = await setUp()
    subscribe(client)
    const other = await connect()
    assert.deepEqual(await other.sync(), [])
    assert.deepEqual(taken(client), [])
  })
})

it('PINGREQ behind a CONNECT waits for CONNACK', async () => {
  const { broker, policy, clock, open } = await createHarness()
  const { promise, resolve } = Promise.withResolvers<Admission>()
  const admit = policy.admit
  policy.admit = () => promise
  const client = open()
  client.send(connectPacket())
  client.send({ type: 'pingreq' })
  clock.advance(broker, LONG_SECONDS)
  await setImmediate()
  assert.deepEqual(taken(client), [])
  resolve(admit({ userName: undefined, password: undefined } as Parameters<typeof admit>[0]))
  await client.next('connack')
  await client.next('pingresp')
})

it('PINGREQ behind a PUBLISH that the policy judges is answered [MQTT-3.12.4-1]', async () => {
  const { broker, policy, clock, connect } = await createHarness()
  const client = await connect()
  const { promise, resolve } = Promise.withResolvers<{ readonly allowed: true }>()
  const [permit] = policy.permits
  assert.ok(permit !== undefined)
  permit.publish = () => promise
  client.publish('a', 'x', { qos: 1 })
  client.send({ type: 'pingreq' })
  clock.advance(broker, LONG_SECONDS)
  await client.next('pingresp')
  resolve({ allowed: true })
  await client.next('puback')
  assert.deepEqual(await client.sync(), [])
})
