import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'

const REQUEST = { method: 'POST', url: '/api/internal/drain', remoteAddress: '127.0.0.1', payload: {} } as const

test('a node drains once, tells how many clients are left, and the audit log has who asked', async () => {
  const begun: number[] = []
  let connections = 7
  const begin = (seconds: number): boolean => begun.push(seconds) === 1
  const deployment = await openTestDeployment({ drain: { begin, connections: () => connections } })
  const session = await deployment.session('globalAdmin')
  for (const left of [7, 3]) {
    connections = left
    const { statusCode, body } = await deployment.ask(session, REQUEST)
    assert.deepEqual([statusCode, JSON.parse(body)], [200, { connections: left }])
  }
  assert.equal(begun[0], 10)
  const viewer = { userId: deployment.userIds.globalAdmin, isAdmin: true }
  const { items } = await deployment.registry.audit.list(viewer, { limit: 10, offset: 0 })
  const entries = items.filter(({ action }) => action === 'node.drained')
  assert.deepEqual(
    entries.map(({ actorUserId, detail }) => [actorUserId, detail]),
    [[deployment.userIds.globalAdmin, { seconds: 10 }]],
  )
  await deployment.close()
})

test('nobody on another machine drains a node, be it through a proxy on its own', async () => {
  const deployment = await openTestDeployment()
  const session = await deployment.session('globalAdmin')
  for (const more of [{ remoteAddress: '203.0.113.7' }, { headers: { 'x-forwarded-for': '203.0.113.7' } }]) {
    const { statusCode, body } = await deployment.ask(session, { ...REQUEST, ...more })
    assert.equal(statusCode, 403)
    assert.match(body, /drain_not_local/)
  }
  await deployment.close()
})

test('a time to drain of less than nothing, or of more than an hour, is refused', async () => {
  const deployment = await openTestDeployment()
  const session = await deployment.session('globalAdmin')
  for (const seconds of [-1, 3_601, 1.5, 'soon']) {
    assert.equal((await deployment.ask(session, { ...REQUEST, payload: { seconds } })).statusCode, 400)
  }
  await deployment.close()
})
