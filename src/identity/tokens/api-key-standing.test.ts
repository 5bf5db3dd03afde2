import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addOrganization, addUser, nobody, openTestRegistry, testStartMs, valueOf } from '../registry.testing.ts'

const ADDRESS = '2001:db8::7'

async function open() {
  const opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const makerUserId = await addUser(registry, 'admin@example.org', { isAdmin: true })
  const fields = { organizationId, makerUserId, name: 'bridge', scope: undefined, expiresAtMs: null }
  const made = valueOf(await registry.apiKeys.create({ ...fields, rights: ['events.read'] }, nobody))
  const lastUse = async () => {
    const found = await registry.apiKeys.get(made.id)
    return [found?.lastUsedAtMs ?? null, found?.lastUsedAddress ?? null]
  }
  return { ...opened, ...made, organizationId, lastUse }
}

test('the last use of a key is written with its address, at most once a minute', async () => {
  const { registry, clock, key, lastUse } = await open()
  assert.deepEqual(await lastUse(), [null, null])
  for (const [afterMs, address, seen] of [
    [0, ADDRESS, [testStartMs, ADDRESS]],
    [59_999, '192.0.2.1', [testStartMs, ADDRESS]],
    [1, '192.0.2.1', [testStartMs + 60_000, '192.0.2.1']],
  ] as const) {
    clock.advance(afterMs)
    assert.ok(await registry.apiKeys.authenticate(key, address))
    assert.deepEqual(await lastUse(), seen)
  }
  await registry.close()
})

test('a use that is refused is not noted', async () => {
  const { registry, id, key, lastUse } = await open()
  assert.equal(await registry.apiKeys.authenticate(`${key}x`, ADDRESS), undefined)
  assert.deepEqual(await lastUse(), [null, null])
  valueOf(await registry.apiKeys.revoke(id, nobody))
  assert.equal(await registry.apiKeys.authenticate(key, ADDRESS), undefined)
  await registry.close()
})

test('a key of a global admin acts in its organization with the roles of its maker', async () => {
  const { registry, key, organizationId } = await open()
  const found = await registry.apiKeys.authenticate(key, ADDRESS)
  assert.equal(found?.organizationId, organizationId)
  assert.equal(found?.makerRoles.isGlobalAdmin, true)
  await registry.close()
})

test('a key that is remembered is answered from memory: the database is not asked', async () => {
  const { registry, key } = await open()
  assert.ok(await registry.apiKeys.authenticate(key, ADDRESS))
  await registry.close()
  for (let count = 0; count < 100; count += 1) assert.ok(await registry.apiKeys.authenticate(key, ADDRESS))
  assert.equal(await registry.apiKeys.authenticate(key.replace(/.$/, '!'), ADDRESS), undefined)
})
