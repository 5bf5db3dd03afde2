/** The bounds of a tenant after a restart: what was stored is kept and counted. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connectPacket, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'

const KEPT = { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const

async function codeOfConnect({ open }: Harness, clientId: string, userName: string): Promise<number> {
  const client = open()
  client.send(connectPacket({ ...KEPT, clientId, userName }))
  return (await client.next('connack')).reasonCode
}

function tenantOfTopic(topicName: string): string | undefined {
  return topicName.startsWith('of-t/') ? 't' : undefined
}

async function retain(client: TestClient, topicName: string, payload: string): Promise<number> {
  client.publish(topicName, payload, { qos: 1, retain: true })
  return (await client.next('puback')).reasonCode
}

describe('after a restart with lower bounds of a tenant', () => {
  it('all its Sessions are there, none is added, and each may come back', async () => {
    const engine = new SurvivingEngine()
    const first = await createHarness({ engine })
    for (const [clientId, userName] of [
      ['a', 't/one'],
      ['b', 't/one'],
      ['c', 't/two'],
    ] as const) {
      ;(await first.connect({ ...KEPT, clientId, userName })).drop()
    }
    await first.broker.store?.checkpoint()
    const second = await createHarness({
      engine,
      limits: { maximumSessionsPerTenant: 2, maximumSessionsPerIdentity: 1 },
    })
    assert.equal(second.broker.counters.sessions, 3)
    assert.equal(await codeOfConnect(second, 'd', 't/three'), 0x97)
    assert.equal((await second.connect({ ...KEPT, clientId: 'b', userName: 't/one' })).sessionPresent, true)
    // Two Sessions have to end before there is room for one.
    for (const [clientId, userName] of [
      ['b', 't/one'],
      ['c', 't/two'],
    ] as const) {
      assert.equal(await codeOfConnect(second, 'd', 't/three'), 0x97)
      ;(await second.connect({ clientId, userName, cleanStart: true })).drop()
    }
    assert.equal(await codeOfConnect(second, 'd', 't/three'), 0)
  })

  it('all its subscriptions are there, and none is added', async () => {
    const engine = new SurvivingEngine()
    const first = await createHarness({ engine })
    const reader = await first.connect({ ...KEPT, clientId: 'reader' })
    for (const topicFilter of ['a', 'b', '$share/g/c']) assert.equal(await reader.subscribe(topicFilter, { qos: 1 }), 1)
    const second = await createHarness({ engine, limits: { maximumSubscriptionsPerTenant: 3 } })
    assert.equal(second.broker.counters.subscriptions, 3)
    const again = await second.connect({ ...KEPT, clientId: 'reader' })
    assert.equal(await again.subscribe('d'), 0x97)
    assert.equal(await again.subscribe('a', { qos: 1 }), 1)
    again.send({ type: 'unsubscribe', packetId: 1, topicFilters: ['$share/g/c'] })
    await again.next('unsuback')
    assert.equal(await again.subscribe('d'), 0)
  })

  it('its retained messages are there, count for the tenant that they counted for, and none is added', async () => {
    const engine = new SurvivingEngine()
    const first = await createHarness({ engine, tenantOf: tenantOfTopic })
    const server = await first.connect({ userName: 'deployment/server' })
    for (const topicName of ['of-t/1', 'of-t/2', 'x']) assert.equal(await retain(server, topicName, 'hello'), 0x10)
    // The tenants of topics are not at hand right after a start.
    const second = await createHarness({ engine, limits: { maximumRetainedMessagesPerTenant: 1 } })
    assert.equal(second.broker.retained.count, 3)
    const client = await second.connect({ userName: 't/one' })
    assert.equal(await retain(client, 'y', 'hello'), 0x97)
    assert.equal(await retain(client, 'of-t/1', 'hallo'), 0x10)
    for (const topicName of ['of-t/1', 'of-t/2']) assert.equal(await retain(client, topicName, ''), 0x10)
    assert.equal(await retain(client, 'y', 'hello'), 0x10)
  })
})
