import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'

const REQUEST = { method: 'POST', url: '/api/internal/backup', remoteAddress: '127.0.0.1' } as const

test('a global admin of this machine gets the backup, and the audit log tells of it', async () => {
  const deployment = await openTestDeployment()
  const session = await deployment.session('globalAdmin')
  const { statusCode, headers, body } = await deployment.ask(session, REQUEST)
  assert.deepEqual([statusCode, headers['content-type'], body], [200, 'application/octet-stream', 'the backup'])
  const { items } = await deployment.registry.audit.list(
    { userId: deployment.userIds.globalAdmin, isAdmin: true },
    { limit: 1, offset: 0 },
  )
  assert.deepEqual(
    items.map(({ action, actorUserId }) => [action, actorUserId]),
    [['backup.made', deployment.userIds.globalAdmin]],
  )
  await deployment.close()
})

test('nobody on another machine gets a backup, be it through a proxy on this one', async () => {
  const deployment = await openTestDeployment()
  const session = await deployment.session('globalAdmin')
  for (const more of [{ remoteAddress: '203.0.113.7' }, { headers: { 'x-forwarded-for': '203.0.113.7' } }]) {
    const { statusCode, body } = await deployment.ask(session, { ...REQUEST, ...more })
    assert.equal(statusCode, 403)
    assert.match(body, /backup_not_local/)
  }
  await deployment.close()
})

test('while one backup is being made there is no second one, and its end makes room', async () => {
  const { promise: end, resolve: finish } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  let made = 0
  const make = async function* () {
    made += 1
    yield Buffer.from('some')
    begin()
    if (made === 1) await end
  }
  const deployment = await openTestDeployment({ backups: { make } })
  const session = await deployment.session('globalAdmin')
  const first = deployment.ask(session, REQUEST)
  await begun
  const second = await deployment.ask(session, REQUEST)
  assert.equal(second.statusCode, 429)
  assert.match(second.body, /backup_busy/)
  finish()
  assert.equal((await first).body, 'some')
  assert.equal((await deployment.ask(session, REQUEST)).statusCode, 200)
  await deployment.close()
})
