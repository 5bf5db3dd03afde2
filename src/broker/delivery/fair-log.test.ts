/** One tenant floods the log; the messages of other tenants go to the log all the same. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SlowEngine } from '../../../test/support/slow-engine.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { BrokerOptions } from '../broker.ts'
import type { AppendRequest } from '../ports/engine.ts'

const MAXIMUM_BYTES = 100_000
const FLOOD = 300
const KILOBYTE = 'x'.repeat(1_000)

/** A slow engine that remembers the bytes of the payloads that it was given, by Topic Name. */
class ObservedEngine extends SlowEngine {
  readonly given = new Map<string, number>()

  override append(partition: number, request: AppendRequest): void {
    const { topicName, payload } = request.message
    this.given.set(topicName, this.bytesOf(topicName) + payload.length)
    super.append(partition, request)
  }

  bytesOf(topicName: string): number {
    return this.given.get(topicName) ?? 0
  }
}

interface Scene extends Harness {
  readonly engine: ObservedEngine
  readonly flooder: TestClient
  readonly neighbour: TestClient
}

const keepsQoS0 = ({ name }: Topic): boolean => name.startsWith('flood')

async function setUp(options: Partial<BrokerOptions> = {}): Promise<Scene> {
  const engine = new ObservedEngine(new SurvivingEngine())
  const limits = { maximumBytesTowardLog: MAXIMUM_BYTES, ...options.limits }
  const harness = await createHarness({ engine, keepsQoS0, ...options, limits })
  const flooder = await harness.connect({ userName: 'flooder' })
  const neighbour = await harness.connect({ userName: 'neighbour' })
  return { ...harness, engine, flooder, neighbour }
}

/** Waits until everything that was begun is asked, told and written. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await setImmediate()
}

/** The disk owns everything, until nobody waits any more. */
async function syncAll({ engine }: Scene): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) {
    engine.sync()
    await turn()
  }
}

function flood(client: TestClient, qos: 0 | 1 | 2, count = FLOOD): void {
  for (let number = 0; number < count; number += 1) client.publish('flood', KILOBYTE, { qos })
}

describe('while one tenant floods a slow log', () => {
  for (const qos of [0, 1, 2] as const) {
    it(`takes at most half of the room at QoS ${qos}, and the rest waits in its socket; nothing is lost or refused`, async () => {
      const scene = await setUp()
      const { engine, flooder, broker } = scene
      flood(flooder, qos)
      await turn()
      const bytes = engine.bytesOf('flood')
      assert.ok(bytes > 0.25 * MAXIMUM_BYTES && bytes <= MAXIMUM_BYTES / 2, `${bytes} bytes`)
      assert.equal(flooder.transport.paused, true)
      await syncAll(scene)
      assert.equal(engine.bytesOf('flood'), FLOOD * KILOBYTE.length)
      assert.equal(flooder.transport.paused, false)
      assert.equal(broker.counters.publishesRefused, 0)
      const answers = flooder.takeAll()
      assert.equal(answers.length, qos === 0 ? 0 : FLOOD)
    })

    it(`owns the neighbour’s messages while the flood is of QoS ${qos}`, async () => {
      const scene = await setUp()
      const { engine, flooder, neighbour } = scene
      for (let round = 0; round < 5; round += 1) {
        flood(flooder, qos, 200)
        await turn()
        neighbour.publish(`good/${round}`, KILOBYTE, { qos: 1 })
        assert.equal(engine.bytesOf(`good/${round}`), KILOBYTE.length, 'the log has it at once')
        engine.sync()
        await turn()
        assert.equal((await neighbour.next('puback')).reasonCode, ReasonCodes.noMatchingSubscribers)
      }
    })
  }

  it('reads none of the tenant’s other connections, and the messages of each stay in order', async () => {
    const scene = await setUp()
    const { flooder, connect } = scene
    const second = await connect({ userName: 'flooder' })
    const reader = await connect({ userName: 'reader' })
    await reader.subscribe('#', { qos: 0 })
    flood(flooder, 1)
    await turn()
    for (const payload of ['1', '2', '3']) second.publish('second', payload, { qos: 1 })
    second.send({ type: 'pingreq' })
    await turn()
    assert.deepEqual(second.takeAll(), [])
    await syncAll(scene)
    const types = second.takeAll().map(({ type }) => type)
    assert.deepEqual(types.toSorted(), ['pingresp', 'puback', 'puback', 'puback'])
    const received = reader.takeAll().flatMap((packet) => (packet.type === 'publish' ? [packet] : []))
    const payloads = received.filter(({ topicName }) => topicName === 'second').map(({ payload }) => payload.toString())
    assert.deepEqual(payloads, ['1', '2', '3'])
    assert.equal(received.length, FLOOD + 3)
  })

  it('gives the log the messages that wait before the broker closes', async () => {
    const scene = await setUp()
    const { engine, flooder, broker } = scene
    flood(flooder, 1, 50)
    const before = engine.bytesOf('flood')
    const closed = broker.close()
    assert.equal(engine.bytesOf('flood') - before, KILOBYTE.length, 'the message that was read and had no room')
    await syncAll(scene)
    await closed
  })

  it('takes a message that is larger than the room where the tenant has nothing on its way', async () => {
    const { engine, flooder, neighbour } = await setUp({ limits: { maximumBytesTowardLog: 10_000 } })
    flooder.publish('flood', 'x'.repeat(50_000), { qos: 1 })
    assert.equal(engine.bytesOf('flood'), 50_000)
    neighbour.publish('good', 'x'.repeat(50_000), { qos: 1 })
    assert.equal(engine.bytesOf('good'), 0, 'it waits, and is not refused')
    engine.sync()
    await turn()
    assert.equal(engine.bytesOf('good'), 50_000)
  })
})
