import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import type { SessionView } from '../broker/delivery/session-view.ts'
import type { SessionViews } from '../http/operation/session-views.ts'
import type { Presence } from '../lorawan/commands/command-waits.ts'
import { LocalDeployment } from '../nodes.testing.ts'
import { createSessionViews } from './session-views.ts'

/** The members that the views read of a Session. */
function sessionOf(clientId: string, userId: string, reads: string): SessionView {
  const view = {
    clientId,
    tenant: 'organization:1',
    identity: `user:${userId}/ab12`,
    ground: `token:t-${clientId}`,
    isConnected: true,
    awaySinceMs: undefined,
    expirySeconds: 60,
    topicFilterCount: 1,
    topicFilters: () => [reads],
    sharedTopicFilters: () => [],
    reads: (topicName: string) => topicName === reads,
    unacknowledged: 0,
    unacknowledgedSinceMs: undefined,
    sendMaximum: 10,
    isCongested: false,
    waiting: async () => ({ messages: 3, isAll: true }),
  }
  return view as unknown as SessionView
}

interface TestNode {
  readonly sessions: SessionView[]
  readonly presence: Map<string, Presence>
  readonly all: SessionViews
}

let a: TestNode
let b: TestNode

beforeEach(() => {
  const deployment = new LocalDeployment(new TestClock())
  a = join(deployment, 'a')
  b = join(deployment, 'b')
})

function join(deployment: LocalDeployment, name: string): TestNode {
  const sessions: SessionView[] = []
  const presence = new Map<string, Presence>()
  const broker = {
    *sessions(tenant?: string): Generator<SessionView> {
      for (const session of sessions) if (tenant === undefined || session.tenant === tenant) yield session
    },
  }
  const { bus } = deployment.join(name)
  return { sessions, presence, all: createSessionViews({ broker, presence: { of: (key) => presence.get(key) }, bus }) }
}

test('Sessions of all nodes are found by client, by user and by the topic that they read', async () => {
  a.sessions.push(sessionOf('one', '7', 'x'), sessionOf('two', '8', 'y'))
  b.sessions.push(sessionOf('one', '9', 'x'), sessionOf('three', '7', 'y'))
  for (const { all } of [a, b]) {
    const found = async (asked: object) =>
      (await all.sessions({ organizationId: '1', limit: 10, ...asked })).items
        .map(({ clientId, holder }) => `${clientId} ${holder.userId} ${holder.tokenId}`)
        .toSorted()
    assert.deepEqual(await found({ clientId: 'one' }), ['one 7 t-one', 'one 9 t-one'])
    assert.deepEqual(await found({ userId: '7' }), ['one 7 t-one', 'three 7 t-three'])
    assert.deepEqual(await found({ reads: 'y' }), ['three 7 t-three', 'two 8 t-two'])
    assert.deepEqual(await found({ organizationId: '2' }), [])
  }
  // Messages are counted only for a client that is asked for: it takes reading.
  const [counted] = (await a.all.sessions({ clientId: 'one', limit: 10 })).items
  const [others] = (await a.all.sessions({ reads: 'x', limit: 1 })).items
  assert.deepEqual([counted?.waiting.messages, others?.waiting.messages], [3, 0])
})

test('a network server that is connected at any node is connected, and else the latest end counts', async () => {
  a.presence.set('organization:1', 1_000)
  b.presence.set('organization:1', 2_000)
  assert.deepEqual(await a.all.networkServers('1'), { ofOrganization: 2_000, ofDeployment: undefined })
  b.presence.set('organization:1', 'connected')
  b.presence.set('deployment', 5)
  assert.deepEqual(await a.all.networkServers('1'), { ofOrganization: 'connected', ofDeployment: 5 })
  assert.deepEqual(await b.all.networkServers('2'), { ofOrganization: undefined, ofDeployment: 5 })
})

test('an answer of another node stays below the bound of a message, and has the first Sessions', async () => {
  const long = 'x'.repeat(1_000)
  for (let count = 0; count < 100; count += 1) {
    const view = Object.assign(sessionOf('one', String(count), long), { topicFilters: () => Array(50).fill(long) })
    b.sessions.push(view)
  }
  const { items } = await a.all.sessions({ clientId: 'one', limit: 100 })
  assert.ok(items.length > 5 && items.length < 15, `${items.length} Sessions`)
})
