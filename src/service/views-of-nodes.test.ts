import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import type { BrokerViews, LiveConnection } from '../http/operation/broker-views.ts'
import { TestBrokerViews } from '../http/operation/broker-views.testing.ts'
import { settle } from '../lorawan/commands/nodes/nodes-with-commands.testing.ts'
import { LocalDeployment } from '../nodes.testing.ts'
import type { LocalNode } from '../nodes.testing.ts'
import { createViewsOfNodes } from './views-of-nodes.ts'

interface TestNode {
  readonly node: LocalNode
  readonly here: TestBrokerViews
  readonly all: BrokerViews
}

let clock: TestClock
let deployment: LocalDeployment
let a: TestNode
let b: TestNode

beforeEach(() => {
  clock = new TestClock()
  deployment = new LocalDeployment(clock)
  a = join('a')
  b = join('b')
})

function join(name: string): TestNode {
  const node = deployment.join(name)
  const here = new TestBrokerViews(`${node.bus.self.incarnation}-`)
  return { node, here, all: createViewsOfNodes(here, node.bus) }
}

/** Connects a client at a node, later than those before. */
function connect({ here }: TestNode, clientId: string, facts: Partial<LiveConnection['facts']> = {}): LiveConnection {
  clock.advance(1_000)
  const holder = { organizationId: '1', tokenId: 't' }
  return here.connect(holder, { clientId, openedAtMs: clock.now(), ...facts })
}

async function names(views: BrokerViews, offset: number, limit: number): Promise<readonly string[]> {
  const { items } = await views.connections({ offset, limit })
  return items.map(({ facts }) => facts.clientId)
}

test('a page has the connections of all nodes, the newest first', async () => {
  for (const [node, name] of [
    [a, 'one'],
    [b, 'two'],
    [a, 'three'],
    [b, 'four'],
  ] as const)
    connect(node, name)
  for (const { all } of [a, b]) {
    assert.deepEqual(await names(all, 0, 3), ['four', 'three', 'two'])
    assert.deepEqual(await names(all, 2, 3), ['two', 'one'])
    assert.equal((await all.connections({ offset: 0, limit: 0 })).totalCount, 4)
    assert.deepEqual(
      (await all.connectionsWith(['t', 'x'])).counts,
      new Map([
        ['t', 4],
        ['x', 0],
      ]),
    )
    const search = { text: 'THREE', userIds: [], credentialIds: [] }
    assert.equal((await all.connections({ search, offset: 0, limit: 9 })).totalCount, 1)
  }
})

test('a connection of another node has its details, and can be ended', async () => {
  const unmatched = [{ topicFilter: 'x', code: 'c', reason: 'r' }]
  const topicFilters = Array.from({ length: 70 }, (_, index) => `filter/${index}`)
  const { id } = connect(b, 'one', { topicFilters, unmatchedFilters: async () => unmatched })
  const found = await a.all.connection(id)
  assert.deepEqual([found?.id, found?.holder.organizationId, found?.holder.userId], [id, '1', undefined])
  assert.deepEqual([found?.facts.topicFilters.length, found?.facts.topicFilterCount], [50, 70])
  assert.deepEqual(await found?.facts.unmatchedFilters(50), unmatched)
  assert.equal(await a.all.endConnection(id), true)
  assert.equal(await a.all.endConnection(id), false)
  assert.equal(await a.all.connection(id), undefined)
})

test('a page of long connections takes several answers', async () => {
  const topicFilters = Array.from({ length: 50 }, (_, index) => `${index}/`.repeat(250))
  for (let index = 0; index < 60; index += 1) connect(b, `n${index}`, { topicFilters })
  assert.equal((await names(a.all, 0, 60)).length, 60)
})

test('refusals of all nodes are in the order of their times', async () => {
  a.here.refuse({ organizationId: '1' }, { code: 'one', atMs: 1 })
  b.here.refuse({ organizationId: '1' }, { code: 'two', atMs: 2 })
  b.here.refuse({ organizationId: '2' }, { code: 'other', atMs: 3 })
  const { items, missing } = await a.all.refusals({ organizationId: '1' })
  assert.deepEqual([items.map(({ code }) => code), missing], [['two', 'one'], []])
  assert.deepEqual(items[0]?.holder, {
    organizationId: '1',
    userId: undefined,
    serviceCredentialId: undefined,
    tokenId: undefined,
  })
})

test('a node that does not answer within 500 ms is named', async () => {
  connect(a, 'one')
  connect(b, 'two')
  deployment.silence(b.node)
  const asked = Promise.all([
    a.all.connections({ offset: 0, limit: 9 }),
    a.all.refusals({}),
    a.all.connectionsWith(['t']),
  ])
  await settle()
  clock.advance(500)
  const [connections, refusals, tokens] = await asked
  assert.deepEqual([connections.missing, refusals.missing, tokens.missing], [['b'], ['b'], ['b']])
  assert.deepEqual([connections.totalCount, tokens.counts.get('t')], [1, 1])
})
