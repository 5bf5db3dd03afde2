import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectPacket, createHarness } from '../../../test/support/broker-harness.ts'
import type { TestClient } from '../../../test/support/broker-harness.ts'

/** Lets the broker look at its clock: each look takes a few turns of the event loop. */
async function look(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve))
}

function endedOf(clients: readonly TestClient[]): number {
  return clients.filter(({ transport }) => transport.ended).length
}

test('a broker that drains ends its connections evenly over the time, with 0x8B [MQTT-4.13.1-1]', async () => {
  const { broker, clock, connect } = await createHarness()
  const clients: TestClient[] = []
  for (let number = 0; number < 10; number += 1) {
    clients.push(await connect({ clientId: `c${number}`, protocolVersion: number % 2 === 0 ? 5 : 4 }))
  }
  const drained = broker.drain(5_000)
  await look()
  assert.equal(endedOf(clients), 0)
  for (const ended of [2, 4, 6, 8, 10]) {
    clock.advance(broker, 1)
    await look()
    assert.equal(endedOf(clients), ended)
  }
  await drained
  for (const client of clients) {
    const packets = client.takeAll()
    assert.deepEqual(
      packets.map((packet) => packet.type === 'disconnect' && packet.reasonCode),
      client.version === 5 ? [0x8b] : [],
    )
  }
})

test('a broker that drains refuses a CONNECT with 0x88, MQTT 3.1.1 with 3, and goes on with its clients', async () => {
  const { broker, clock, connect, open } = await createHarness()
  const reader = await connect({ clientId: 'reader' })
  await reader.subscribe('a', { qos: 1 })
  const drained = broker.drain(2_000)
  assert.equal(broker.isDraining, true)
  const client = open()
  client.send(connectPacket({ clientId: 'reader' }))
  assert.equal((await client.next('connack')).reasonCode, 0x88)
  const older = open(4)
  older.send(connectPacket({ clientId: 'reader', protocolVersion: 4 }))
  await older.closed()
  assert.deepEqual(Buffer.concat(older.receivedBytes), Buffer.of(0x20, 2, 0, 3))
  assert.deepEqual(
    broker.recentRefusals.list().map(({ code }) => code),
    ['node_draining'],
  )
  reader.publish('a', 'still here', { qos: 1 })
  await reader.nextOf('publish', 'puback')
  clock.advance(broker, 2)
  await look()
  await drained
})

test('a CONNECT that is judged when the broker begins to drain is refused as well', async () => {
  const { broker, policy, open } = await createHarness()
  const { promise, resolve } = Promise.withResolvers<void>()
  const { admit } = policy
  policy.admit = async (credentials) => {
    await promise
    return admit(credentials)
  }
  const client = open()
  client.send(connectPacket())
  await look()
  await broker.drain(0)
  resolve()
  assert.equal((await client.next('connack')).reasonCode, 0x88)
})

test('a broker without connections has drained at once', async () => {
  const { broker } = await createHarness()
  await broker.drain(600_000)
  assert.equal(broker.isDraining, true)
})
