/**
 * A refused PUBLISH of a client that no acknowledgement can tell: its effect on the client's other
 * packets, and its end.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { FullEngine } from '../../../test/support/full-engine.ts'
import { encodePacket } from '../../mqtt/encode-packet.ts'
import type { PublishPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { BrokerOptions } from '../broker.ts'
import { ALLOWED } from '../ports/policy.ts'
import type { Decision } from '../ports/policy.ts'

const REFUSED: Decision = {
  allowed: false,
  reasonCode: ReasonCodes.notAuthorized,
  reason: 'not granted',
  code: 'not_granted',
  untold: 'close',
}

/** Nobody may publish to `mistyped`. */
async function setUp(options: Partial<BrokerOptions> = {}): Promise<Harness> {
  const harness = await createHarness(options)
  const { admit } = harness.policy
  harness.policy.admit = async (credentials) => {
    const admission = await admit(credentials)
    const permit = harness.policy.permits.at(-1)
    if (permit !== undefined) permit.publish = (topicName) => (topicName === 'mistyped' ? REFUSED : ALLOWED)
    return admission
  }
  return harness
}

const connectOlder = ({ connect }: Harness, clientId = 'older'): Promise<TestClient> =>
  connect({ protocolVersion: 4, clientId, cleanStart: false })

const publishOf = (fields: Partial<PublishPacket>): Buffer => {
  const packet = {
    topicName: 'good',
    payload: Buffer.from('x'),
    qos: 1,
    packetId: 1,
    retain: false,
    dup: false,
  } as const
  return encodePacket({ type: 'publish', ...packet, ...fields }, 4)
}

describe('a refused message of MQTT 3.1.1', () => {
  for (const qos of [1, 2] as const) {
    it(`closes the connection the first time, and is acknowledged and dropped when it comes again with DUP, at QoS ${qos} [MQTT311-3.3.5-2]`, async () => {
      const scene = await setUp()
      const reader = await scene.connect()
      await reader.subscribe('#')
      const first = await connectOlder(scene)
      first.publish('mistyped', 'x', { qos, packetId: 7 })
      await first.closed()
      assert.equal(first.takeOne(), undefined)
      const second = await connectOlder(scene)
      second.publish('mistyped', 'x', { qos, packetId: 7, dup: true })
      assert.equal((await second.next(qos === 1 ? 'puback' : 'pubrec')).packetId, 7)
      if (qos === 2) {
        second.acknowledge('pubrel', 7)
        assert.equal((await second.next('pubcomp')).packetId, 7)
      }
      assert.deepEqual(await second.sync(), [])
      assert.deepEqual(await reader.sync(), [])
      const [refusal] = scene.broker.recentRefusals.list()
      assert.deepEqual([refusal?.topic, refusal?.count], ['mistyped', 2])
    })
  }

  it('that comes with DUP and was not refused before closes the connection, so that the client learns of it', async () => {
    const scene = await setUp()
    const other = await connectOlder(scene, 'another')
    other.publish('mistyped', 'x', { qos: 1 })
    await other.closed()
    const client = await connectOlder(scene)
    client.publish('mistyped', 'x', { qos: 1, dup: true })
    await client.closed()
  })

  it('that comes again without DUP is acknowledged the third time, in a Session of its own or in another', async () => {
    const scene = await setUp()
    for (const clientId of ['lasting', 'fresh']) {
      const connect = (): Promise<TestClient> =>
        scene.connect({ protocolVersion: 4, clientId, cleanStart: clientId === 'fresh' })
      for (let times = 0; times < 2; times += 1) {
        const client = await connect()
        client.publish('mistyped', 'x', { qos: 1, packetId: 7 })
        await client.closed()
      }
      const client = await connect()
      client.publish('mistyped', 'x', { qos: 1, packetId: 7 })
      assert.equal((await client.next('puback')).packetId, 7)
      client.publish('mistyped', 'x', { qos: 1, packetId: 8 })
      await client.closed()
    }
  })

  it('is never dropped for a reason that passes', async () => {
    const engine = new FullEngine()
    const scene = await setUp({ engine })
    for (const dup of [false, true, true]) {
      const client = await connectOlder(scene)
      client.publish('good', 'x', { qos: 1, packetId: 7, dup })
      await client.closed()
      assert.equal(client.takeOne(), undefined)
    }
    engine.room = 1
    const client = await connectOlder(scene)
    client.publish('good', 'x', { qos: 1, packetId: 7, dup: true })
    await client.next('puback')
  })
})

describe('a connection that ends for a refused message', () => {
  for (const protocolVersion of [4, 5] as const) {
    it(`loses nothing of what came with it in version ${protocolVersion}: it is owned, acknowledged and delivered first`, async () => {
      const scene = await setUp()
      const reader = await scene.connect()
      await reader.subscribe('#')
      const client = await scene.connect({ protocolVersion })
      const qos = protocolVersion === 4 ? 1 : 0
      const mistyped = {
        type: 'publish',
        topicName: 'mistyped',
        payload: Buffer.from('x'),
        qos,
        packetId: 1,
        retain: false,
        dup: false,
      } as const
      const good = { ...mistyped, topicName: 'good', packetId: 2, qos: 1 } as const
      const untold = { ...good, qos: 0, payload: Buffer.from('y') } as const
      client.sendBytes(Buffer.concat([mistyped, good, untold].map((packet) => encodePacket(packet, protocolVersion))))
      assert.equal((await client.next('puback')).packetId, 2)
      if (protocolVersion === 5) assert.equal((await client.next('disconnect')).reasonCode, ReasonCodes.notAuthorized)
      await client.closed()
      const payloads = (await reader.sync()).map((packet) =>
        packet.type === 'publish' ? packet.payload.toString() : '',
      )
      assert.deepEqual(payloads, ['y', 'x'])
    })
  }

  it('reads no more, and ends after a second though something is not owned yet', async () => {
    const scene = await setUp()
    const { promise } = Promise.withResolvers<Decision>()
    const client = await connectOlder(scene)
    const permit = scene.policy.permits.at(-1)
    assert.ok(permit)
    permit.publish = (topicName) => (topicName === 'mistyped' ? REFUSED : promise)
    client.sendBytes(Buffer.concat([publishOf({ topicName: 'mistyped' }), publishOf({ packetId: 2 })]))
    assert.equal(client.transport.paused, true)
    scene.clock.advance(scene.broker, 2)
    await client.closed()
  })
})
