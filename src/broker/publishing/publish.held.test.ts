/** Messages that a transformer holds back between their acceptance and their ownership. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { encodePacket } from '../../mqtt/encode-packet.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { BrokerOptions } from '../broker.ts'
import type { HeldMessage, PublishTransformer } from '../ports/consumer.ts'
import type { ConnectPacket, QoS } from '../../mqtt/packet.ts'

/** Holds back the messages below `held/` until a test lets them go on. */
class Holder implements PublishTransformer {
  readonly held: { readonly message: HeldMessage; readonly goOn: (payload: Buffer) => void }[] = []

  holds({ name }: Topic): boolean {
    return name.startsWith('held/')
  }

  transform(message: HeldMessage, goOn: (payload: Buffer) => void): undefined {
    this.held.push({ message, goOn })
  }

  /** Lets the first message that is held back go on, with a mark. */
  release(): void {
    const first = this.held.shift()
    assert.ok(first)
    first.goOn(Buffer.from(`${first.message.payload.toString()} completed`))
  }
}

interface Scene extends Harness {
  readonly holder: Holder
  readonly reader: TestClient
  /** The next payloads that the reader gets: this number, and no more until now. */
  readonly receive: (count: number) => Promise<string[]>
}

async function setUp(options: Partial<BrokerOptions> = {}): Promise<Scene> {
  const holder = new Holder()
  const harness = await createHarness({ ...options, transformer: holder })
  const reader = await harness.connect()
  await reader.subscribe('#')
  const receive = async (count: number): Promise<string[]> => {
    const texts: string[] = []
    while (texts.length < count) texts.push((await reader.next('publish')).payload.toString())
    assert.deepEqual(await reader.sync(), [])
    return texts
  }
  return { ...harness, holder, reader, receive }
}

const KEPT = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } } as const
const ANSWERS = { 1: 'puback', 2: 'pubrec' } as const

/** A client publishes at QoS 2, and is gone before its message went on. */
async function lose({ connect }: Scene): Promise<{ readonly packetId: number }> {
  const client = await connect(KEPT)
  const packetId = client.publish('held/1', 'one', { qos: 2 })
  client.drop()
  return { packetId }
}

describe('a message that is held back', () => {
  for (const protocolVersion of [4, 5] as const) {
    for (const qos of [0, 1, 2] as const) {
      it(`holds up no other of its connection, at QoS ${qos} of version ${protocolVersion}, and goes on as its transformer has it`, async () => {
        const { connect, holder, receive } = await setUp()
        const client = await connect({ protocolVersion })
        const packetId = client.publish('held/1', 'one', { qos })
        const otherPacketId = client.publish('other', 'two', { qos: 1 })
        const answer = await client.next('puback')
        assert.equal(answer.packetId, otherPacketId)
        assert.deepEqual(await client.sync(), [])
        assert.deepEqual(await receive(1), ['two'])
        holder.release()
        if (qos > 0) assert.equal((await client.next(ANSWERS[qos as 1 | 2])).packetId, packetId)
        assert.deepEqual(await receive(1), ['one completed'])
      })
    }
  }

  it('does not keep the chunk in memory that it came in', async () => {
    const { connect, holder, receive } = await setUp()
    const client = await connect()
    const publish = { type: 'publish', topicName: 'held/1', qos: 1, packetId: 1, retain: false, dup: false } as const
    const chunk = Buffer.alloc(65_536)
    const length = encodePacket({ ...publish, payload: Buffer.from('one') }, 5).copy(chunk)
    client.sendBytes(chunk.subarray(0, length))
    chunk.fill(0)
    assert.notEqual(holder.held[0]?.message.payload.buffer, chunk.buffer)
    holder.release()
    assert.deepEqual(await receive(1), ['one completed'])
  })

  for (const qos of [0, 1, 2] as const) {
    it(`is routed at QoS ${qos} though its connection has ended`, async () => {
      const { connect, holder, receive } = await setUp()
      const client = await connect()
      client.publish('held/1', 'one', { qos })
      client.drop()
      holder.release()
      assert.deepEqual(await receive(1), ['one completed'])
    })
  }

  it('is refused when others took the room for retained messages meanwhile', async () => {
    const { connect, holder, receive } = await setUp({ limits: { maximumRetainedMessages: 1 } })
    const client = await connect()
    for (const qos of [1, 2, 0] as const) client.publish(`held/${qos}`, 'one', { qos, retain: true })
    client.publish('other', 'two', { retain: true })
    holder.release()
    assert.equal((await client.next('puback')).reasonCode, 0x97)
    holder.release()
    assert.equal((await client.next('pubrec')).reasonCode, 0x97)
    holder.release()
    assert.equal((await client.next('disconnect')).reasonCode, 0x97)
    assert.deepEqual(await receive(1), ['two'])
  })

  it('is as old as when it was received [MQTT-3.3.2-6]', async () => {
    const { connect, holder, reader, clock, broker } = await setUp()
    const client = await connect()
    client.publish('held/1', 'one', { properties: { messageExpiryIntervalSeconds: 10 } })
    clock.advance(broker, 3)
    holder.release()
    assert.equal((await reader.next('publish')).properties?.messageExpiryIntervalSeconds, 7)
  })
})

describe('what is held back', () => {
  it('counts against Receive Maximum in MQTT 5, and its transformer knows how much is left [MQTT-3.3.4-7]', async () => {
    const { connect, holder } = await setUp({ limits: { receiveMaximum: 3 } })
    const client = await connect()
    const rooms: number[] = []
    for (const qos of [1, 2, 1] as const) {
      client.publish('held/1', 'x', { qos })
      rooms.push(holder.held.at(-1)?.message.room ?? Number.NaN)
    }
    assert.deepEqual(rooms, [2, 1, 0])
    holder.release()
    await client.next('puback')
    assert.equal(holder.held.at(-1)?.message.room, 1)
    client.publish('held/1', 'x', { qos: 1 })
    assert.deepEqual(await client.sync(), [])
    client.publish('held/1', 'x', { qos: 1 })
    assert.equal((await client.next('disconnect')).reasonCode, 0x93)
  })

  it('stops its connection from being read at Receive Maximum in MQTT 3.1.1 and at QoS 0, which have no such bound', async () => {
    for (const protocolVersion of [4, 5] as const) {
      const { connect, holder, receive } = await setUp({ limits: { receiveMaximum: 2 } })
      const client = await connect({ protocolVersion })
      const qos = protocolVersion === 4 ? 1 : 0
      for (let index = 0; index < 3; index += 1) client.publish('held/1', 'x', { qos })
      client.publish('other', 'two', { qos: 1 })
      assert.equal(holder.held.length, 2)
      assert.deepEqual(await receive(0), [])
      holder.release()
      assert.deepEqual(await receive(1), ['x completed'])
      assert.equal(holder.held.length, 2)
      holder.release()
      assert.deepEqual((await receive(2)).toSorted(), ['two', 'x completed'])
      holder.release()
    }
  })

  it('stops its connection from being read for as long as its transformer has no room', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const transformer: PublishTransformer = {
      holds: ({ name }) => name === 'held/1',
      transform: ({ payload }, goOn) => promise.then(() => goOn(payload)),
    }
    const { connect } = await createHarness({ transformer })
    const reader = await connect()
    await reader.subscribe('#')
    const client = await connect()
    client.publish('held/1', 'one', { qos: 1 })
    client.publish('other', 'two', { qos: 1 })
    assert.deepEqual(await reader.sync(), [])
    resolve()
    for (const payload of ['one', 'two']) assert.equal((await reader.next('publish')).payload.toString(), payload)
  })

  it('knows whether its connection is shared, and whether its sender is gone and sends it again', async () => {
    const { connect, holder, policy } = await setUp()
    for (const backPressure of ['own', 'shared', undefined] as const) {
      const { admit } = policy
      policy.admit = async (credentials) => {
        const admission = await admit(credentials)
        const permit = policy.permits.at(-1)
        if (permit !== undefined) permit.backPressure = backPressure
        return admission
      }
      const client = await connect(KEPT)
      for (const qos of [0, 1, 2] as const) client.publish('held/1', `${qos}`, { qos })
      const held = holder.held.splice(0).map(({ message }) => message)
      assert.deepEqual(
        held.map(({ isShared }) => isShared),
        Array.from({ length: 3 }, () => backPressure !== 'own'),
      )
      assert.deepEqual(
        held.map(({ isGone }) => isGone),
        [false, false, false],
      )
      client.drop()
      const isWaited = backPressure !== undefined
      assert.deepEqual(
        held.map(({ isGone }) => isGone),
        [false, isWaited, false],
      )
      assert.deepEqual(
        held.map((message) => message.giveBack()),
        [false, isWaited, false],
      )
      policy.admit = admit
      await connect({ ...KEPT, cleanStart: true })
    }
  })
})

describe('a QoS 2 message that is held back', () => {
  it('is not accepted twice when it is sent again on another connection, which gets its PUBREC [MQTT-4.3.3-10]', async () => {
    const scene = await setUp()
    const { holder, receive } = scene
    const { packetId } = await lose(scene)
    const again = await scene.connect(KEPT)
    again.publish('held/1', 'one', { qos: 2, packetId, dup: true })
    assert.deepEqual(await again.sync(), [])
    assert.equal(holder.held.length, 1)
    holder.release()
    assert.deepEqual(await again.next('pubrec'), { type: 'pubrec', packetId, reasonCode: 0, properties: undefined })
    again.publish('held/1', 'one', { qos: 2, packetId, dup: true })
    await again.next('pubrec')
    again.acknowledge('pubrel', packetId)
    assert.equal((await again.next('pubcomp')).reasonCode, 0)
    assert.deepEqual(await receive(1), ['one completed'])
    assert.equal(holder.held.length, 0)
  })

  it('is answered when it went on before its client came back', async () => {
    const scene = await setUp()
    const { packetId } = await lose(scene)
    scene.holder.release()
    assert.deepEqual(await scene.receive(1), ['one completed'])
    const again = await scene.connect(KEPT)
    again.publish('held/1', 'one', { qos: 2, packetId, dup: true })
    await again.next('pubrec')
    assert.deepEqual(await scene.receive(0), [])
  })

  it('leaves its Packet Identifier to the Session that took the place of its own, over a restart too', async () => {
    const engine = new SurvivingEngine()
    const scene = await setUp({ engine })
    const { packetId } = await lose(scene)
    const other = await scene.connect({ ...KEPT, cleanStart: true })
    scene.holder.release()
    assert.deepEqual(await scene.receive(1), ['one completed'])
    assert.deepEqual(await other.sync(), [])
    await scene.broker.close()

    const next = await setUp({ engine })
    const again = await next.connect(KEPT)
    again.publish('other', 'two', { qos: 2, packetId })
    await again.next('pubrec')
    assert.deepEqual(await next.receive(1), ['two'])
  })
})

/** A CONNECT whose Will Message the transformer holds back. */
function withWill(qos: QoS, retain = false): Pick<ConnectPacket, 'will'> {
  return { will: { topicName: 'held/1', payload: Buffer.from('gone'), qos, retain, delayIntervalSeconds: 0 } }
}

describe('a Will Message that its transformer holds back', () => {
  for (const qos of [0, 1, 2] as const) {
    it(`goes out as its transformer has it, at QoS ${qos}`, async () => {
      const { connect, holder, receive } = await setUp()
      const client = await connect(withWill(qos))
      client.drop()
      assert.deepEqual(await receive(0), [])
      holder.release()
      assert.deepEqual(await receive(1), ['gone completed'])
    })
  }

  it('must go on: nobody sends it again, and no connection waits for it', async () => {
    const { connect, holder } = await setUp()
    const client = await connect(withWill(1))
    client.drop()
    const other = await connect()
    await other.sync()
    const message = holder.held[0]?.message
    assert.ok(message)
    const { topicName, payload, room, isShared, isGone } = message
    assert.deepEqual([topicName, payload.toString()], ['held/1', 'gone'])
    assert.deepEqual({ room, isShared, isGone }, { room: 0, isShared: true, isGone: false })
    assert.equal(message.giveBack(), false)
  })

  it('is refused when others took the room for retained messages meanwhile', async () => {
    const { broker, connect, holder, receive } = await setUp({ limits: { maximumRetainedMessages: 1 } })
    const client = await connect(withWill(1, true))
    client.drop()
    const other = await connect()
    other.publish('other', 'two', { retain: true })
    assert.deepEqual(await other.sync(), [])
    holder.release()
    assert.deepEqual(await receive(1), ['two'])
    assert.deepEqual([...broker.refusals], [['will:retained_quota', 1]])
  })
})
