/** Subscriptions to all branches of a tenant, on several nodes: shared, moved, and inherited. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestClient } from '../../../test/support/broker-harness.ts'
import { TestDeployment, publish, take } from '../../../test/support/broker-nodes.ts'
import type { TestNode } from '../../../test/support/broker-nodes.ts'
import { TestReach } from '../../../test/support/test-reach.ts'

const ALL = 'application/+/device/+/event/+'
const KEPT = { clientId: 'reader', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const
const FOREIGN = 'application/7/device/0102030405060708/event/up'

/** Three nodes, which know application 5 as acme's and application 7 as zenith's. */
async function nodes(): Promise<{ deployment: TestDeployment; a: TestNode; b: TestNode; c: TestNode }> {
  const { deployment, started } = await TestDeployment.of(['a', 'b', 'c'], {}, () => {
    const reach = new TestReach()
    reach.add('acme', '5')
    reach.add('zenith', '7')
    return reach
  })
  const [a, b, c] = started as [TestNode, TestNode, TestNode]
  return { deployment, a, b, c }
}

async function publishForeign(client: TestClient): Promise<void> {
  client.publish(FOREIGN, 'foreign', { qos: 1 })
  await client.next('puback')
}

async function texts(client: TestClient, count: number): Promise<readonly string[]> {
  const packets = await take(client, count)
  assert.deepEqual(await client.sync(), [])
  return packets.map(({ payload }) => payload.toString())
}

describe('a subscription to all own branches', () => {
  it('brings what is published at other nodes, and no other tenant’s messages', async () => {
    const { a, b } = await nodes()
    const acme = await b.connect({ userName: 'acme' })
    const zenith = await b.connect({ userName: 'zenith' })
    for (const client of [acme, zenith]) await client.subscribe(ALL, { qos: 1 })
    const publisher = await a.connect({ userName: 'server' })
    await publishForeign(publisher)
    await publish(publisher, 'own')
    assert.deepEqual(await texts(acme, 1), ['own'])
    assert.deepEqual(await texts(zenith, 1), ['foreign'])
  })

  it('goes on at an heir where its node has died, with what came meanwhile', async () => {
    const { deployment, a, b } = await nodes()
    const reader = await b.connect({ ...KEPT, userName: 'acme' })
    await reader.subscribe(ALL, { qos: 1 })
    reader.drop()
    const publisher = await a.connect({ userName: 'server' })
    await publish(publisher, 'one')
    await publishForeign(publisher)
    await deployment.kill(b, a)
    await publish(publisher, 'two')
    const again = await a.connect({ ...KEPT, userName: 'acme' })
    assert.equal(again.sessionPresent, true)
    assert.deepEqual(await texts(again, 2), ['one', 'two'])
  })

  it('is shared by members at several nodes, each message once', async () => {
    const { a, b, c } = await nodes()
    const members = [await a.connect({ userName: 'acme/one' }), await b.connect({ userName: 'acme/two' })]
    for (const member of members) await member.subscribe(`$share/group/${ALL}`, { qos: 1 })
    const publisher = await c.connect({ userName: 'server' })
    for (const payload of ['1', '2', '3', '4']) {
      await publish(publisher, payload)
      await publishForeign(publisher)
    }
    const got = await Promise.all(members.map((member) => texts(member, 2)))
    assert.deepEqual(got.flat().toSorted(), ['1', '2', '3', '4'])
  })
})
