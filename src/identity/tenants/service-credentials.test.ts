import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../store/changes.ts'
import { addOrganization, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'

test('a service credential lets in with exactly its user name and password', async () => {
  await using opened = await openTestRegistry()
  const { serviceCredentials } = opened.registry
  const organizationId = await addOrganization(opened.registry, 'acme')
  const { id, userName, password } = valueOf(await serviceCredentials.create({ name: 'north', organizationId }, nobody))
  assert.equal(userName, `network-server-${id}`)
  assert.equal(Buffer.from(password, 'base64url').length, 32)
  const right = Buffer.from(password)
  assert.deepEqual(await serviceCredentials.authenticate(userName, right), { id, organizationId, name: 'north' })
  for (const [name, given] of [
    [userName, Buffer.from(`${password}\0`)],
    [userName, right.subarray(1)],
    [userName, Buffer.alloc(0)],
    [userName, Buffer.alloc(10_000_000)],
    [`${userName}\0`, right],
    [userName.toUpperCase(), right],
    [id, right],
    [`network-server-${id} `, right],
    ['network-server-', right],
    ["network-server-' or '1'='1", right],
    ['x'.repeat(1_000_000), right],
    ['', right],
  ] as const) {
    assert.equal(await serviceCredentials.authenticate(name, given), undefined, name.slice(0, 60))
  }
})

test('credentials are listed without their passwords, and end when they are revoked', async () => {
  await using opened = await openTestRegistry()
  const { serviceCredentials, changes } = opened.registry
  const organizationId = await addOrganization(opened.registry, 'acme')
  const south = valueOf(await serviceCredentials.create({ name: 'South', organizationId }, nobody))
  const whole = valueOf(await serviceCredentials.create({ name: 'north', organizationId: null }, nobody))
  assert.equal(
    reasonOf(await serviceCredentials.create({ name: 'n', organizationId: '99' }, nobody)),
    'organization_not_found',
  )
  assert.equal(reasonOf(await serviceCredentials.create({ name: 'n\0', organizationId: null }, nobody)), 'invalid_name')
  const page = { limit: 10, offset: 0 }
  const listed = await serviceCredentials.list(page)
  assert.deepEqual(
    listed.items.map(({ name }) => name),
    ['north', 'South'],
  )
  assert.equal(JSON.stringify(listed).includes(south.password), false)
  assert.deepEqual(
    (await serviceCredentials.list({ ...page, organizationId })).items.map(({ id }) => id),
    [south.id],
  )
  assert.deepEqual(
    (await serviceCredentials.list({ ...page, organizationId: null })).items.map(({ id }) => id),
    [whole.id],
  )
  assert.equal((await serviceCredentials.list({ ...page, search: 'OUT' })).totalCount, 1)
  const heard: Change[] = []
  changes.subscribe((change) => heard.push(change))
  valueOf(await serviceCredentials.revoke(south.id, nobody))
  assert.deepEqual(heard, [{ kind: 'service_credential_revoked', id: south.id }])
  assert.equal(await serviceCredentials.authenticate(south.userName, Buffer.from(south.password)), undefined)
  assert.equal(reasonOf(await serviceCredentials.revoke(south.id, nobody)), 'service_credential_not_found')
})
