/** Retained messages of topics that belonged to another tenant before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness, ManualClock } from '../../../test/support/broker-harness.ts'
import type { Harness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'

const TOPIC_FILTER = 'application/5/device/+/event/+'
const QOS = [0, 1] as const

function eventOf(qos: 0 | 1): string {
  return `application/5/device/0102030405060708/event/${qos === 0 ? 'up' : 'status'}`
}

async function retain({ connect }: Harness, payload: string): Promise<void> {
  const publisher = await connect()
  for (const qos of QOS) publisher.publish(eventOf(qos), payload, { qos, retain: true })
  await publisher.next('puback')
  await publisher.sync()
}

/**
 * The payloads that a subscription brings to a client whose topics have belonged to its tenant
 * since `sinceMs`; undefined: always.
 */
async function retainedFor({ connect, policy }: Harness, sinceMs: number | undefined): Promise<string[]> {
  const reader = await connect()
  const permit = policy.permits.at(-1)
  assert.ok(permit)
  if (sinceMs !== undefined) permit.belongsSinceMs = () => Promise.resolve(sinceMs)
  await reader.subscribe(TOPIC_FILTER, { qos: 0 })
  const packets = await reader.sync()
  return packets.map((packet) => (packet.type === 'publish' ? packet.payload.toString() : packet.type))
}

test('what was retained before the topics belonged to its tenant does not go with a subscription, nor after a restart', async () => {
  const clock = new ManualClock()
  const engine = new SurvivingEngine({ clock })
  let harness = await createHarness({ engine, clock })
  await retain(harness, 'theirs')
  clock.advance(harness.broker, 10)
  const sinceMs = clock.now()
  for (let life = 1; life <= 2; life += 1) {
    assert.deepEqual(await retainedFor(harness, undefined), ['theirs', 'theirs'], `life ${life}`)
    assert.deepEqual(await retainedFor(harness, sinceMs), [], `life ${life}`)
    harness = await createHarness({ engine, clock })
  }
  clock.advance(harness.broker, 10)
  await retain(harness, 'own')
  for (let life = 1; life <= 2; life += 1) {
    assert.deepEqual(await retainedFor(harness, sinceMs), ['own', 'own'], `life ${life}`)
    harness = await createHarness({ engine, clock })
  }
})
