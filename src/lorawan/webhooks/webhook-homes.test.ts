import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { MemoryEngine } from '../../engine/memory/memory.ts'
import { LocalDeployment } from '../../nodes.testing.ts'
import type { LocalNode } from '../../nodes.testing.ts'
import { MemoryState } from '../commands/downlinks.testing.ts'
import { HomesOfWebhooks } from './webhook-homes.ts'
import { answerOf, devEui, TEST_WEBHOOK, TestWebhooks } from './webhooks.testing.ts'

const ID = TEST_WEBHOOK.id

interface TestNode {
  readonly node: LocalNode
  readonly hooks: TestWebhooks
  readonly state: MemoryState
}

test('one node runs each webhook, and its heir goes on where it was stored last', async () => {
  const clock = new TestClock()
  const deployment = new LocalDeployment(clock)
  const engine = new MemoryEngine({ retainedMessages: 10_000, clock })
  const nodes: TestNode[] = []
  await engine.open(
    { lowestNeeded: () => Infinity },
    { arrived: (message) => nodes.forEach(({ hooks }) => hooks.webhooks.arrived(message)) },
  )
  const join = async (name: string): Promise<TestNode> => {
    const node = deployment.join(name)
    const state = new MemoryState()
    const homes = new HomesOfWebhooks(node, clock)
    const hooks = new TestWebhooks({ clock, engine, homes, state })
    hooks.register({})
    node.onInherited((inheritance) => hooks.webhooks.load((prefix) => inheritance.load(prefix)))
    node.onGone(() => void hooks.webhooks.settle())
    const joined = { node, hooks, state }
    nodes.push(joined)
    await hooks.webhooks.open()
    await hooks.rest()
    return joined
  }
  const a = await join('a')
  const b = await join('b')
  const first = [await a.hooks.publish('10', devEui(1)), await a.hooks.publish('10', devEui(2))]
  await b.hooks.rest()
  assert.deepEqual(new Set(a.hooks.takeIds()), new Set(first))
  assert.deepEqual(b.hooks.takeIds(), [])
  assert.ok(a.hooks.webhooks.view(ID) !== undefined && b.hooks.webhooks.view(ID) === undefined)
  a.hooks.webhooks.tick()
  await a.hooks.rest()

  // The node dies with a request that nobody answers.
  a.hooks.answer = () => new Promise(() => {})
  const lost = await a.hooks.publish('10', devEui(1))
  await a.hooks.rest()
  assert.deepEqual(a.hooks.takeIds(), [lost])
  deployment.silence(a.node)
  nodes.shift()
  const meanwhile = await b.hooks.publish('10', devEui(1))
  await b.hooks.rest()
  assert.deepEqual(b.hooks.takeIds(), [])
  const entries = Array.from(a.state.entries, ([key, value]) => ({ key, value }))
  assert.deepEqual(
    entries.map(({ key }) => key),
    [`webhook/${ID}`],
  )
  await deployment.kill(a.node, { heir: b.node, entries })
  await b.hooks.webhooks.settle()
  await b.hooks.rest()
  assert.deepEqual(b.hooks.takeIds(), [lost, meanwhile])
  const later = await b.hooks.publish('10', devEui(1))
  await b.hooks.rest()
  assert.deepEqual(b.hooks.takeIds(), [later])

  // A webhook that is removed frees its home.
  b.hooks.answer = () => answerOf(200)
  b.hooks.registered.delete(ID)
  await b.hooks.webhooks.changed(ID)
  await b.hooks.rest()
  assert.equal((await b.node.homes.find(`webhook/${ID}`, 1_000)).node, undefined)
})
