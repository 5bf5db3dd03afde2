/** Messages that the broker retains by the wish of its service, and not of their sender. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness, ManualClock } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import type { BrokerOptions } from '../broker.ts'
import type { PublishTransformer } from '../ports/consumer.ts'

/** Wishes that each message below `last/` is retained, in another form. */
const lasting: PublishTransformer = {
  holds: ({ name }) => name.startsWith('last/'),
  transform({ payload }, goOn) {
    goOn(Buffer.from(payload.length === 0 ? '' : `${payload.toString()} completed`), true)
    return undefined
  },
}

function create(options: Partial<BrokerOptions> = {}): Promise<Harness> {
  return createHarness({ transformer: lasting, ...options })
}

async function publish(client: TestClient, topicName: string, payload: string, qos: 0 | 1 | 2 = 1): Promise<void> {
  client.publish(topicName, payload, { qos })
  if (qos === 1) await client.next('puback')
  else assert.deepEqual(await client.sync(), [])
}

/** The retained messages that a new subscriber gets: the payload and RETAIN of each. */
async function lastOf({ connect }: Harness, topicFilter: string): Promise<readonly (readonly [string, boolean])[]> {
  const client = await connect()
  await client.subscribe(topicFilter)
  const packets = await client.sync()
  return packets.map((packet) => {
    assert.equal(packet.type, 'publish')
    return [packet.payload.toString(), packet.retain] as const
  })
}

describe('a message that the service has retained', () => {
  it('comes to a new subscription with RETAIN, as it went on, and to others without it [MQTT-3.3.1-8]', async () => {
    const harness = await create()
    const reader = await harness.connect()
    await reader.subscribe('last/+')
    const sender = await harness.connect()
    for (const qos of [0, 1] as const) {
      await publish(sender, `last/${qos}`, 'early', qos)
      await publish(sender, `last/${qos}`, `late ${qos}`, qos)
    }
    await publish(sender, 'other/1', 'passes')
    const live = (await reader.sync()).map((packet) => packet.type === 'publish' && packet.retain)
    assert.deepEqual(live, [false, false, false, false])
    assert.deepEqual(await lastOf(harness, '#'), [
      ['late 0 completed', true],
      ['late 1 completed', true],
    ])
  })

  it('stays through a restart of the broker', async () => {
    const engine = new SurvivingEngine()
    const first = await create({ engine })
    await publish(await first.connect(), 'last/1', 'kept')
    const second = await create({ engine })
    assert.deepEqual(await lastOf(second, 'last/1'), [['kept completed', true]])
  })

  it('ends with its Message Expiry Interval [MQTT-3.3.2-5]', async () => {
    const clock = new ManualClock()
    const harness = await create({ clock })
    const sender = await harness.connect()
    sender.publish('last/1', 'short', { qos: 1, properties: { messageExpiryIntervalSeconds: 5 } })
    await sender.next('puback')
    clock.advance(harness.broker, 4)
    assert.equal((await lastOf(harness, 'last/1')).length, 1)
    clock.advance(harness.broker, 2)
    assert.deepEqual(await lastOf(harness, 'last/1'), [])
  })

  it('goes on unretained where its tenant has no room, and takes an older one away', async () => {
    const harness = await create({
      limits: { maximumRetainedMessagesPerTenant: 2, maximumRetainedBytesPerTenant: 400 },
    })
    const reader = await harness.connect()
    await reader.subscribe('last/+')
    const sender = await harness.connect()
    await publish(sender, 'last/1', 'small')
    await publish(sender, 'last/2', 'small')
    await publish(sender, 'last/3', 'one too many')
    await publish(sender, 'last/1', 'x'.repeat(300))
    assert.equal((await reader.sync()).length, 4)
    assert.deepEqual(await lastOf(harness, 'last/+'), [['small completed', true]])
    // Room came back with the older message.
    await publish(sender, 'last/1', 'small again')
    assert.equal((await lastOf(harness, 'last/1')).length, 1)
    assert.equal(harness.broker.usageOf('tenant').retainedMessages, 2)
  })

  it('is not taken away by a message without a payload, which its sender did not retain', async () => {
    const harness = await create()
    const sender = await harness.connect()
    await publish(sender, 'last/1', 'value')
    await publish(sender, 'last/1', '')
    assert.deepEqual(await lastOf(harness, 'last/1'), [['value completed', true]])
  })

  it('may be the service’s own', async () => {
    const harness = await create()
    const own = { qos: 1, tenant: 'tenant' } as const
    await harness.broker.publish({ ...own, topicName: 'own/1', payload: Buffer.from('retained'), retains: true })
    await harness.broker.publish({ ...own, topicName: 'own/2', payload: Buffer.from('passes') })
    assert.deepEqual(await lastOf(harness, 'own/+'), [['retained', true]])
  })

  it('goes with the others of its prefix, also where it was on its way, and no other does', async () => {
    const clock = new ManualClock()
    const harness = await create({ clock })
    const sender = await harness.connect()
    for (const name of ['last/1', 'last/2', 'last-of-all/1']) {
      sender.publish(name, 'x', { qos: 1, retain: true })
      await sender.next('puback')
    }
    harness.broker.removeRetainedOf('last/', (topicName) => topicName === 'last/1')
    const left = (): readonly string[] => [...harness.broker.retained.topicNames('')].toSorted()
    assert.deepEqual(left(), ['last-of-all/1', 'last/2'])
    await publish(sender, 'last/1', 'was on its way')
    clock.advance(harness.broker, 29)
    assert.equal(left().length, 3)
    clock.advance(harness.broker, 1)
    assert.deepEqual(left(), ['last-of-all/1', 'last/2'])
  })
})
