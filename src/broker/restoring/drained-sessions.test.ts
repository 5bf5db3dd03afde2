/**
 * A node that drains keeps the Sessions of its last clients until other nodes have taken them. A
 * client whose node ends before that waits for the heir of the node.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { TestDeployment, TOPIC_FILTER, publish, take, texts, three } from '../../../test/support/broker-nodes.ts'
import type { TestNode } from '../../../test/support/broker-nodes.ts'

const KEPT = { clientId: 'reader', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const

/** Lets the brokers look at their clock. */
async function look(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await setImmediate()
}

/** The node drains within a second. Tells whether the node may end now. */
function drain({ broker }: TestNode): { readonly isOver: () => boolean; readonly drained: Promise<void> } {
  let isOver = false
  const drained = broker.drain(1_000).then(() => {
    isOver = true
  })
  return { isOver: () => isOver, drained }
}

describe('a node that drains', () => {
  it('ends once another node has taken the Session of its last client', async () => {
    const { deployment, a, b } = await three()
    const reader = await a.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    const { isOver, drained } = drain(a)
    deployment.clock.advance(a.broker, 1)
    await look()
    assert.equal(reader.transport.ended, true)
    assert.equal(isOver(), false, 'the Session is still here')
    const again = await b.connect(KEPT)
    assert.equal(again.sessionPresent, true)
    await drained
    await publish(await b.connect(), '1')
    assert.deepEqual(texts(await take(again, 1)), ['1'])
  })

  it('ends once another node has asked for the Session that ended with its connection', async () => {
    const { deployment, a, b } = await three()
    // A home is released half a minute after its Session.
    deployment.nodes.losesReleases = true
    await a.connect({ clientId: 'short' })
    const { isOver, drained } = drain(a)
    deployment.clock.advance(a.broker, 1)
    await look()
    assert.equal(isOver(), false)
    await b.connect({ clientId: 'short' })
    await drained
  })

  it('waits 2 s for a client that does not come back, and no time for one that has gone before', async () => {
    const { deployment, a } = await three()
    await a.connect(KEPT)
    const gone = await a.connect({ clientId: 'gone' })
    gone.drop()
    const { isOver, drained } = drain(a)
    deployment.clock.advance(a.broker, 1)
    await look()
    deployment.clock.advance(a.broker, 1)
    await look()
    assert.equal(isOver(), false)
    deployment.clock.advance(a.broker, 1)
    await drained
    const empty = drain((await three()).a)
    await empty.drained
  })

  it('does not wait when no other node takes clients', async () => {
    const { deployment, started } = await TestDeployment.of(['alone'])
    const [alone] = started as [TestNode]
    await alone.connect(KEPT)
    const { drained } = drain(alone)
    deployment.clock.advance(alone.broker, 1)
    await drained
  })
})
