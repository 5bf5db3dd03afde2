/** Messages that a consumer judges for a while. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import { TAKEN } from '../ports/consumer.ts'
import type { PublishConsumer } from '../ports/consumer.ts'
import { ALLOWED } from '../ports/policy.ts'
import type { Decision } from '../ports/policy.ts'

const REFUSED: Decision = { allowed: false, reasonCode: 0x99, reason: 'no', code: 'no', untold: 'discard' }

/** Judges the messages below `judged/` when the test says so. */
class SlowConsumer implements PublishConsumer {
  readonly keepsOrder: boolean
  readonly waiting: ((decision: Decision) => void)[] = []

  constructor(keepsOrder: boolean) {
    this.keepsOrder = keepsOrder
  }

  wants(topicName: string): boolean {
    return topicName.startsWith('judged/')
  }

  consume(): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>()
    this.waiting.push(resolve)
    return promise
  }
}

describe('a message whose consumer keeps the order', () => {
  it('holds up no other packet of its connection while it is judged', async () => {
    const consumer = new SlowConsumer(true)
    const { connect } = await createHarness({ consumers: [consumer] })
    const client = await connect()
    const first = client.publish('judged/1', '1', { qos: 1 })
    const second = client.publish('judged/2', '2', { qos: 1 })
    assert.deepEqual(await client.sync(), [])
    assert.equal(consumer.waiting.length, 2)
    consumer.waiting[1]?.(REFUSED)
    consumer.waiting[0]?.(TAKEN)
    const answers = [await client.next('puback'), await client.next('puback')]
    assert.deepEqual(
      answers.map(({ packetId, reasonCode }) => [packetId, reasonCode]),
      [
        [second, 0x99],
        [first, 0],
      ],
    )
  })

  it('counts against Receive Maximum until it is answered', async () => {
    const consumer = new SlowConsumer(true)
    const { connect } = await createHarness({ consumers: [consumer], limits: { receiveMaximum: 2 } })
    const client = await connect()
    for (const topicName of ['judged/1', 'judged/2', 'judged/3']) client.publish(topicName, '', { qos: 1 })
    assert.equal((await client.next('disconnect')).reasonCode, 0x93)
  })

  it('is not judged twice when its client comes back with it at QoS 2, and is answered there', async () => {
    const consumer = new SlowConsumer(true)
    const { connect, clock, broker } = await createHarness({ consumers: [consumer], engine: new SurvivingEngine() })
    const kept = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } }
    const client = await connect(kept)
    const packetId = client.publish('judged/1', '1', { qos: 2 })
    await client.sync()
    client.drop()
    const again = await connect(kept)
    again.publish('judged/1', '1', { qos: 2, dup: true, packetId })
    assert.deepEqual(await again.sync(), [])
    consumer.waiting[0]?.(TAKEN)
    assert.equal((await again.next('pubrec')).packetId, packetId)
    assert.equal(consumer.waiting.length, 1)
    clock.advance(broker, 1)
  })

  it('that its consumer fails on is refused, and its connection lives', async () => {
    const consumer: PublishConsumer = {
      keepsOrder: true,
      wants: () => true,
      consume: () => Promise.reject(new Error('out of order')),
    }
    const { connect } = await createHarness({ consumers: [consumer] })
    const client = await connect()
    client.publish('judged/1', '1', { qos: 1 })
    assert.equal((await client.next('puback')).reasonCode, 0x80)
    assert.deepEqual(await client.sync(), [])
  })
})

describe('a message whose consumer keeps no order', () => {
  it('is decided on before the next packet is looked at', async () => {
    const consumer = new SlowConsumer(false)
    const { connect } = await createHarness({ consumers: [consumer] })
    const client = await connect()
    client.publish('judged/1', '1', { qos: 1 })
    client.publish('judged/2', '2', { qos: 1 })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(consumer.waiting.length, 1)
    consumer.waiting[0]?.(TAKEN)
    await client.next('puback')
    consumer.waiting[1]?.(TAKEN)
    await client.next('puback')
  })
})

describe('room to retain a message', () => {
  it('is asked for only when permit and consumer have decided', async () => {
    const consumer: PublishConsumer = { wants: (name) => name === 'taken', keepsOrder: false, consume: () => TAKEN }
    const { connect, policy } = await createHarness({
      consumers: [consumer],
      limits: { maximumRetainedMessages: 0 },
    })
    const client = await connect()
    for (const permit of policy.permits) permit.publish = (name) => (name === 'refused' ? REFUSED : ALLOWED)
    const answers = []
    for (const topicName of ['refused', 'taken', 'other']) {
      client.publish(topicName, 'x', { qos: 1, retain: true })
      answers.push((await client.next('puback')).reasonCode)
    }
    assert.deepEqual(answers, [0x99, 0, 0x97])
  })
})
