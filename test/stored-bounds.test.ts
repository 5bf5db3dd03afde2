import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MISSED_TOPIC_NAME } from '../src/broker/delivery/missed-notice.ts'
import { TestClock } from '../src/clock.testing.ts'
import { EmbeddedEngine } from '../src/engine/embedded.ts'
import { SimulatedDisk } from '../src/engine/ports/simulated-disk.testing.ts'
import { createHarness } from './support/broker-harness.ts'
import type { TestClient } from './support/broker-harness.ts'

const KEPT = { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 600 } } as const
const ROUNDS = 100

/**
 * The tenants a and b have one application each. Their messages are in one partition of the log.
 */
function openEngine(): EmbeddedEngine {
  return new EmbeddedEngine({
    disk: new SimulatedDisk(),
    directory: '/data',
    partitions: 1,
    clock: new TestClock(),
    gatherMs: 0,
    segmentBytes: 4_000,
    tailBytes: 0,
    decodedBytes: 0,
    tenants: {
      tenantOf: (branch) => branch.slice('application/'.length),
      maximumStoredBytesOf: (tenant) => (tenant === 'a' ? 8_000 : Infinity),
    },
  })
}

function topicOf(tenant: string): string {
  return `application/${tenant}/device/0102030405060708/event/up`
}

/**
 * Takes the messages for a client up to the one with the last number, and counts the missed ones.
 */
async function takeUpTo(client: TestClient, last: number): Promise<{ events: number[]; missed: number }> {
  const events: number[] = []
  let missed = 0
  while (events.at(-1) !== last) {
    const { topicName, payload, packetId } = await client.next('publish')
    if (topicName === MISSED_TOPIC_NAME) missed += JSON.parse(payload.toString()).missedAtMost
    else events.push(Number(payload.toString()))
    client.send({ type: 'puback', packetId, reasonCode: 0, properties: undefined })
  }
  return { events, missed }
}

test('when an organization is above its bound, its Session that is away is told what it missed, and the Session of another gets everything', async () => {
  const engine = openEngine()
  const { connect, broker } = await createHarness({ engine })
  const readers = ['a', 'b'] as const
  for (const tenant of readers) {
    const reader = await connect({ ...KEPT, clientId: `reader ${tenant}`, userName: tenant })
    await reader.subscribe(topicOf(tenant), { qos: 1 })
    await reader.subscribe(MISSED_TOPIC_NAME, { qos: 1 })
    reader.drop()
  }
  const publisher = await connect({ clientId: 'publisher', userName: 'ns' })
  for (let number = 0; number < ROUNDS; number += 1) {
    for (const tenant of ['a', 'a', 'b'] as const) {
      publisher.publish(topicOf(tenant), String(number).padEnd(100), { qos: 1 })
      await publisher.next('puback')
    }
    if (number % 20 === 0) await engine.maintain()
  }
  await engine.maintain()
  const all = Array.from({ length: ROUNDS }, (_, number) => number)
  const again = await connect({ ...KEPT, clientId: 'reader b', userName: 'b' })
  assert.deepEqual(await takeUpTo(again, ROUNDS - 1), { events: all, missed: 0 })
  const ofA = await takeUpTo(await connect({ ...KEPT, clientId: 'reader a', userName: 'a' }), ROUNDS - 1)
  // The reader stops at the first of the two messages with the last number.
  const expected = all.flatMap((number) => [number, number]).slice(0, -1)
  assert.ok(ofA.events.length > 20 && ofA.events.length < 150, `${ofA.events.length} of 200 are left`)
  assert.deepEqual(ofA.events, expected.slice(-ofA.events.length))
  assert.equal(ofA.missed, expected.length - ofA.events.length)
  await broker.close()
})
