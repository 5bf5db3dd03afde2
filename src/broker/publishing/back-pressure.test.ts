/**
 * Connections that wait where the reason passes: none of their messages is refused for it,
 * overtaken or lost.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { FullEngine } from '../../../test/support/full-engine.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { BrokerOptions } from '../broker.ts'
import type { PublishTransformer } from '../ports/consumer.ts'
import { ALLOWED } from '../ports/policy.ts'
import type { Decision } from '../ports/policy.ts'

const ROOM = Infinity
const KEPT = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 600 } } as const
const ANSWERS = { 1: 'puback', 2: 'pubrec' } as const

interface Scene extends Harness {
  readonly engine: FullEngine
  /** The payloads that the reader gets until now. */
  readonly receive: () => Promise<string[]>
}

const keepsQoS0 = ({ name }: Topic): boolean => name.startsWith('kept/')

/** Connections of the identity `server` wait. Topics below `kept/` are kept at QoS 0 as well. */
async function setUp(options: Partial<BrokerOptions> = {}): Promise<Scene> {
  const engine = new FullEngine()
  const harness = await createHarness({ engine, keepsQoS0, ...options })
  const { policy, connect } = harness
  const { admit } = policy
  policy.admit = async (credentials) => {
    const admission = await admit(credentials)
    const permit = policy.permits.at(-1)
    if (permit?.identity === 'server') permit.backPressure = 'own'
    return admission
  }
  const reader = await connect({ clientId: 'reader' })
  await reader.subscribe('#', { qos: 0 })
  const receive = async (): Promise<string[]> =>
    (await reader.sync()).map((packet) => (packet.type === 'publish' ? packet.payload.toString() : packet.type))
  return { ...harness, engine, receive }
}

const connectServer = ({ connect }: Scene, fields: object = {}): Promise<TestClient> =>
  connect({ userName: 'tenant/server', ...fields })

/** The packets that the client has received and the test has not asked for, as text. */
const texts = (client: TestClient): string[] =>
  client.takeAll().map((packet) => ('packetId' in packet ? `${packet.type} ${packet.packetId}` : packet.type))

/** Waits until everything that was begun is asked, told and written. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await setImmediate()
}

/** This number of seconds passes, one by one. */
async function seconds({ clock, broker }: Scene, count: number): Promise<void> {
  for (let passed = 0; passed < count; passed += 1) {
    clock.advance(broker, 1)
    await turn()
  }
}

describe('while the engine has no room', () => {
  for (const protocolVersion of [4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      it(`messages wait at QoS ${qos} of version ${protocolVersion}, nothing more is read, and all are owned in their order`, async () => {
        const scene = await setUp()
        const { engine, broker, receive } = scene
        const client = await connectServer(scene, { protocolVersion })
        for (const payload of ['1', '2', '3']) client.publish('kept/1', payload, { qos })
        await turn()
        client.publish('kept/1', '4', { qos })
        client.send({ type: 'pingreq' })
        await seconds(scene, 3)
        assert.deepEqual([texts(client), await receive()], [[], []])
        engine.room = ROOM
        await seconds(scene, 1)
        assert.deepEqual(await receive(), ['1', '2', '3', '4'])
        const answers = qos === 0 ? [] : [1, 2, 3, 4].map((packetId) => `${ANSWERS[qos]} ${packetId}`)
        assert.deepEqual(texts(client).toSorted(), [...answers, 'pingresp'].toSorted())
        assert.equal(broker.counters.publishesRefused, 0)
      })
    }
  }

  it('others are told at once', async () => {
    const { connect, broker } = await setUp()
    const client = await connect()
    client.publish('kept/1', '1', { qos: 1 })
    assert.equal((await client.next('puback')).reasonCode, ReasonCodes.quotaExceeded)
    const older = await connect({ protocolVersion: 4 })
    older.publish('kept/1', '1', { qos: 1 })
    await older.closed()
    assert.equal(broker.counters.publishesRefused, 2)
  })

  it('a buffer is read of who waits, and no more', async () => {
    const scene = await setUp()
    const client = await connectServer(scene)
    client.publish('kept/1', '1', { qos: 1 })
    await turn()
    client.publish('kept/1', 'x'.repeat(100_000), { qos: 1 })
    assert.equal(client.transport.paused, true)
    scene.engine.room = ROOM
    await seconds(scene, 1)
    assert.equal(client.transport.paused, false)
    assert.equal((await scene.receive()).length, 2)
  })

  it('who waits is not ended for its silence [MQTT-3.1.2-22]', async () => {
    const scene = await setUp()
    const client = await connectServer(scene, { keepAliveSeconds: 10 })
    client.publish('kept/1', '1', { qos: 1 })
    await turn()
    await seconds(scene, 55)
    assert.equal(client.transport.ended, false)
    scene.engine.room = ROOM
    await seconds(scene, 1)
    await client.next('puback')
    await seconds(scene, 17)
    assert.equal((await client.next('disconnect')).reasonCode, ReasonCodes.keepAliveTimeout)
  })

  it('a connection waits for a minute and is closed; its client finds its Session, sends again and is owned once', async () => {
    const scene = await setUp()
    const { engine, receive } = scene
    const client = await connectServer(scene, KEPT)
    const packetId = client.publish('kept/1', '1', { qos: 2 })
    await turn()
    await seconds(scene, 61)
    const { reasonCode, properties } = await client.next('disconnect')
    assert.equal(reasonCode, ReasonCodes.serverBusy)
    assert.match(properties?.reasonString ?? '', /sent again/)
    engine.room = ROOM
    await seconds(scene, 1)
    assert.deepEqual(await receive(), [])
    const again = await connectServer(scene, KEPT)
    assert.equal(again.sessionPresent, true)
    again.publish('kept/1', '1', { qos: 2, packetId, dup: true })
    await again.next('pubrec')
    assert.deepEqual(await receive(), ['1'])
  })

  it('a client of MQTT 3.1.1 is closed after 25 s, before it stops trying to write', async () => {
    const scene = await setUp()
    const { engine, receive } = scene
    const client = await connectServer(scene, { ...KEPT, protocolVersion: 4 })
    const packetId = client.publish('kept/1', '1', { qos: 1 })
    await turn()
    await seconds(scene, 25)
    assert.equal(client.transport.ended, false)
    await seconds(scene, 1)
    assert.equal(client.transport.ended, true)
    engine.room = ROOM
    const again = await connectServer(scene, { ...KEPT, protocolVersion: 4 })
    assert.equal(again.sessionPresent, true)
    again.publish('kept/1', '1', { qos: 1, packetId, dup: true })
    await again.next('puback')
    assert.deepEqual(await receive(), ['1'])
  })

  it('a client of MQTT 3.1.1 that sends nothing again is not closed before the minute', async () => {
    const scene = await setUp()
    const { engine, receive } = scene
    const client = await connectServer(scene, { ...KEPT, protocolVersion: 4 })
    client.publish('kept/1', '1', { qos: 0 })
    await turn()
    await seconds(scene, 59)
    assert.equal(client.transport.ended, false)
    engine.room = ROOM
    await seconds(scene, 1)
    assert.deepEqual(await receive(), ['1'])
  })

  it('a connection that ends leaves nothing behind but what no one sends again', async () => {
    const scene = await setUp()
    const client = await connectServer(scene)
    for (const qos of [0, 1, 2] as const) client.publish('kept/1', `${qos}`, { qos })
    await turn()
    client.drop()
    assert.deepEqual(await scene.receive(), ['0'])
    scene.engine.room = ROOM
    await seconds(scene, 1)
    assert.deepEqual(await scene.receive(), [])
  })

  it('a connection that ends while the engine is asked again is not answered', async () => {
    const scene = await setUp()
    const client = await connectServer(scene)
    for (const qos of [0, 1, 2] as const) client.publish('kept/1', `${qos}`, { qos })
    await turn()
    scene.engine.room = 1
    scene.clock.advance(scene.broker, 1)
    client.drop()
    await turn()
    assert.deepEqual(await scene.receive(), ['0'])
  })
})

describe('what waits', () => {
  it('is tried again at once for as long as some of it is owned', async () => {
    const scene = await setUp()
    const client = await connectServer(scene)
    scene.engine.room = 2
    for (const payload of ['1', '2', '3', '4', '5']) client.publish('kept/1', payload, { qos: 1 })
    await turn()
    assert.deepEqual(texts(client), ['puback 1', 'puback 2'])
    scene.engine.room = 2
    await seconds(scene, 1)
    assert.deepEqual(texts(client), ['puback 3', 'puback 4'])
    scene.engine.room = ROOM
    await seconds(scene, 1)
    assert.deepEqual(await scene.receive(), ['1', '2', '3', '4', '5'])
  })

  it('is not overtaken by a message that was being judged', async () => {
    const scene = await setUp()
    const client = await connectServer(scene)
    const { promise, resolve } = Promise.withResolvers<Decision>()
    const permit = scene.policy.permits.at(-1)
    assert.ok(permit)
    client.publish('kept/1', '1', { qos: 1 })
    permit.publish = () => promise
    client.publish('kept/2', '2', { qos: 1 })
    await turn()
    scene.engine.room = ROOM
    resolve(ALLOWED)
    await turn()
    assert.deepEqual(texts(client), [])
    await seconds(scene, 1)
    assert.deepEqual(texts(client), ['puback 1', 'puback 2'])
    assert.deepEqual(await scene.receive(), ['1', '2'])
  })

  it('is not overtaken by a message that its transformer lets go on', async () => {
    const goOn: (() => void)[] = []
    const transformer: PublishTransformer = {
      holds: ({ name }) => name === 'kept/held',
      transform: ({ payload }, go) => void goOn.push(() => go(payload)),
    }
    const scene = await setUp({ transformer })
    const client = await connectServer(scene)
    client.publish('kept/held', '2', { qos: 1 })
    client.publish('kept/held', '3', { qos: 0 })
    client.publish('kept/1', '1', { qos: 1 })
    await turn()
    scene.engine.room = ROOM
    for (const go of goOn) go()
    await turn()
    assert.deepEqual(texts(client), [])
    await seconds(scene, 1)
    assert.deepEqual(texts(client), ['puback 2', 'puback 1'])
    assert.deepEqual(await scene.receive(), ['1', '2', '3'])
  })

  it('goes before what waits at Receive Maximum in MQTT 3.1.1', async () => {
    const scene = await setUp({ limits: { receiveMaximum: 1 } })
    const client = await connectServer(scene, { protocolVersion: 4 })
    for (const payload of ['1', '2', '3']) client.publish('kept/1', payload, { qos: 1 })
    await turn()
    scene.engine.room = ROOM
    await seconds(scene, 1)
    assert.deepEqual(await scene.receive(), ['1', '2', '3'])
  })
})

describe('a connection that waits for what passes', () => {
  it('may use all Packet Identifiers, and no more is read of it than Receive Maximum while that is not owned', async () => {
    const scene = await setUp({ limits: { receiveMaximum: 2 } })
    const client = await connectServer(scene)
    assert.equal(client.connack?.properties?.receiveMaximum, 65_535)
    assert.equal((await scene.connect()).connack?.properties?.receiveMaximum, 2)
    for (const payload of ['1', '2', '3', '4']) client.publish('kept/1', payload, { qos: 1 })
    assert.equal(scene.engine.asked, 2)
    scene.engine.room = ROOM
    await seconds(scene, 1)
    assert.deepEqual(await scene.receive(), ['1', '2', '3', '4'])
  })

  it('is told of what does not: a message that can’t be stored', async () => {
    const scene = await setUp()
    const client = await connectServer(scene)
    scene.engine.reasonCode = ReasonCodes.implementationSpecificError
    client.publish('kept/1', '1', { qos: 1 })
    assert.equal((await client.next('puback')).reasonCode, ReasonCodes.implementationSpecificError)
    scene.engine.reasonCode = ReasonCodes.quotaExceeded
    client.publish('kept/1', '2', { qos: 1 })
    client.publish('kept/1', '3', { qos: 0 })
    await turn()
    scene.engine.reasonCode = ReasonCodes.implementationSpecificError
    await seconds(scene, 1)
    assert.equal((await client.next('puback')).reasonCode, ReasonCodes.implementationSpecificError)
    assert.deepEqual(await scene.receive(), ['3'])
  })

  it('loses no message for want of room to retain it: it goes on without, and that is told as a refusal', async () => {
    const scene = await setUp({ limits: { maximumRetainedMessages: 0 } })
    scene.engine.room = ROOM
    for (const protocolVersion of [4, 5] as const) {
      const client = await connectServer(scene, { protocolVersion })
      client.publish('kept/1', '1', { qos: 1, retain: true })
      assert.ok((await client.next('puback')).reasonCode < 0x80)
      assert.deepEqual(await scene.receive(), ['1'])
    }
    assert.equal(scene.broker.refusals.get('publish:retained_quota'), 2)
  })
})
