import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addApplication,
  addOrganization,
  addUser,
  nobody,
  openTestRegistry,
  reasonOf,
  testStartMs,
  valueOf,
} from '../registry.testing.ts'
import type { Registry } from '../registry.ts'
import type { Change } from '../store/changes.ts'
import { writeApiKey } from './api-key-text.ts'
import type { NewApiKey } from './api-keys.ts'

const all = { limit: 1000, offset: 0 }
const ADMIN = { isAdmin: true, isDeviceAdmin: false, isGatewayAdmin: false, isReadOnly: false }
const DAY_MS = 86_400_000

/** A registry with an organization, its admin, and a way to make keys of that admin. */
async function open() {
  const opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const adminId = await addUser(registry, 'admin@example.org')
  valueOf(await registry.members.add(organizationId, adminId, ADMIN, nobody))
  const plain: NewApiKey = {
    organizationId,
    makerUserId: adminId,
    name: 'bridge',
    rights: ['events.read', 'commands.send'],
    scope: undefined,
    expiresAtMs: null,
  }
  const make = async (fields: Partial<NewApiKey> = {}) =>
    valueOf(await registry.apiKeys.create({ ...plain, ...fields }, { userId: adminId }))
  const refused = async (fields: Partial<NewApiKey>) =>
    reasonOf(await registry.apiKeys.create({ ...plain, ...fields }, { userId: adminId }))
  const heard: Change[] = []
  registry.changes.subscribe((change) => heard.push(change))
  return { ...opened, organizationId, adminId, plain, make, refused, heard }
}

async function isGood(registry: Registry, key: string): Promise<boolean> {
  return (await registry.apiKeys.authenticate(key, '198.51.100.7')) !== undefined
}

test('a key is told once, is kept as a hash, and authenticates with its rights', async () => {
  const { registry, organizationId, adminId, make } = await open()
  const { id, key } = await make({ scope: { tags: { site: 'north' } } })
  const found = await registry.apiKeys.authenticate(key, '198.51.100.7')
  assert.deepEqual(
    { ...found, makerRoles: undefined },
    {
      id,
      name: 'bridge',
      organizationId,
      rights: ['events.read', 'commands.send'],
      scope: { tags: { site: 'north' } },
      expiresAtMs: null,
      makerUserId: adminId,
      makerRoles: undefined,
      generation: 1,
      secretUntilMs: null,
    },
  )
  const seen = JSON.stringify([
    await registry.audit.list({ userId: '0', isAdmin: true }, all),
    await registry.apiKeys.list(organizationId, all),
    await registry.apiKeys.get(id),
  ])
  assert.equal(seen.includes(key.slice(16)), false)
  await registry.close()
})

test('a wrong secret, a wrong checksum and an unknown id are no key', async () => {
  const { registry, make } = await open()
  const { id, key } = await make()
  const wrong = [
    writeApiKey({ id, secret: 'A'.repeat(43) }),
    writeApiKey({ id: 'A'.repeat(12), secret: key.slice(16, 59) }),
    `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
    key.slice(0, -1),
    'x'.repeat(1_000_000),
    '',
  ]
  for (const text of wrong) assert.equal(await isGood(registry, text), false, text.slice(0, 70))
  await registry.close()
})

test('a key is refused that nobody may make', async () => {
  const { registry, organizationId, adminId, refused, make } = await open()
  const foreign = await addOrganization(registry, 'zenith')
  const foreignApplication = await addApplication(registry, foreign, 'barns')
  const memberId = await addUser(registry, 'member@example.org')
  valueOf(await registry.members.add(organizationId, memberId, { ...ADMIN, isAdmin: false }, nobody))
  await make()
  const table: readonly (readonly [Partial<NewApiKey>, string])[] = [
    [{ name: '' }, 'invalid_name'],
    [{ name: 'a\nb' }, 'invalid_name'],
    [{ name: 'BRIDGE' }, 'api_key_exists'],
    [{ name: 'a', rights: [] }, 'api_key_rights_invalid'],
    [{ name: 'a', rights: ['events.read', 'events.read'] }, 'api_key_rights_invalid'],
    [{ name: 'a', rights: ['metrics.read'] }, 'api_key_rights_invalid'],
    [{ name: 'a', scope: { isReadOnly: true } }, 'scope_invalid'],
    [{ name: 'a', scope: { eventKinds: ['up'] } }, 'scope_invalid'],
    [{ name: 'a', scope: { applicationIds: [foreignApplication] } }, 'object_not_found'],
    [{ name: 'a', scope: { applicationIds: ['987654321'] } }, 'object_not_found'],
    [{ name: 'a', scope: { devEuis: ['0101010101010101'] } }, 'object_not_found'],
    [{ name: 'a', rights: ['members.write'], scope: { tags: { a: 'b' } } }, 'api_key_not_restrictable'],
    [{ name: 'a', rights: ['codecs.write'], scope: { tags: { a: 'b' } } }, 'api_key_not_restrictable'],
    [{ name: 'a', expiresAtMs: testStartMs }, 'api_key_expiry_invalid'],
    [{ name: 'a', expiresAtMs: Infinity }, 'api_key_expiry_invalid'],
    [{ name: 'a', makerUserId: memberId }, 'api_key_maker'],
    [{ name: 'a', makerUserId: '987654321' }, 'api_key_maker'],
    [{ name: 'a', organizationId: foreign }, 'api_key_maker'],
    [{ name: 'a', organizationId: '987654321' }, 'organization_not_found'],
    [{ name: 'a', organizationId: null, makerUserId: adminId }, 'api_key_maker'],
  ]
  for (const [fields, reason] of table) assert.equal(await refused(fields), reason, JSON.stringify(fields))
  await registry.close()
})

test('an organization has a hundred keys at most, and another one has its own', async () => {
  const { registry, make, refused } = await open()
  for (let count = 0; count < 100; count += 1) await make({ name: `key ${count}` })
  assert.equal(await refused({ name: 'one more' }), 'too_many_api_keys')
  const operator = await addUser(registry, 'operator@example.org', { isAdmin: true })
  await make({ name: 'key 1', organizationId: null, makerUserId: operator, rights: ['metrics.read'] })
  await registry.close()
})

test('a rotated key has a new secret, and the old one for the overlap', async () => {
  const { registry, clock, make, heard } = await open()
  const { id, key: first } = await make()
  const second = valueOf(await registry.apiKeys.rotate(id, 60, nobody)).key
  assert.deepEqual(heard.at(-1), { kind: 'api_key_changed', apiKeyId: id })
  assert.deepEqual([await isGood(registry, first), await isGood(registry, second)], [true, true])
  assert.equal((await registry.apiKeys.authenticate(first, ''))?.secretUntilMs, testStartMs + 60_000)
  assert.equal((await registry.apiKeys.get(id))?.oldSecretUntilMs, testStartMs + 60_000)
  clock.advance(60_000)
  assert.deepEqual([await isGood(registry, first), await isGood(registry, second)], [false, true])
  const third = valueOf(await registry.apiKeys.rotate(id, 0, nobody)).key
  assert.deepEqual([await isGood(registry, second), await isGood(registry, third)], [false, true])
  assert.equal((await registry.apiKeys.authenticate(third, ''))?.generation, 2)
  for (const overlap of [-1, 0.5, NaN, 2_592_001]) {
    assert.equal(reasonOf(await registry.apiKeys.rotate(id, overlap, nobody)), 'api_key_overlap_invalid')
  }
  assert.equal(reasonOf(await registry.apiKeys.rotate('nothing', 0, nobody)), 'api_key_not_found')
  await registry.close()
})

test('a revoked key is unknown at once, and an expired one at its time', async () => {
  const { registry, clock, make, heard } = await open()
  const { id, key } = await make()
  const { id: expiring, key: expiringKey } = await make({ name: 'trial', expiresAtMs: testStartMs + DAY_MS })
  assert.deepEqual([await isGood(registry, key), await isGood(registry, expiringKey)], [true, true])
  valueOf(await registry.apiKeys.revoke(id, nobody))
  assert.deepEqual(heard.at(-1), { kind: 'api_key_revoked', apiKeyId: id })
  assert.equal(await isGood(registry, key), false)
  assert.equal(reasonOf(await registry.apiKeys.revoke(id, nobody)), 'api_key_not_found')
  clock.advance(DAY_MS)
  assert.equal(await isGood(registry, expiringKey), false)
  assert.equal((await registry.apiKeys.get(expiring))?.state, 'expired')
  valueOf(await registry.apiKeys.update(expiring, { expiresAtMs: null }, nobody))
  assert.equal(await isGood(registry, expiringKey), true)
  await registry.close()
})

test('changed rights count at the next use, and nobody widens a key beyond its maker', async () => {
  const { registry, organizationId, adminId, make } = await open()
  const { id, key } = await make()
  assert.ok(await isGood(registry, key))
  const change = async (fields: Parameters<typeof registry.apiKeys.update>[1]) =>
    reasonOf(await registry.apiKeys.update(id, fields, nobody))
  assert.equal(await change({ rights: ['events.read'], scope: { tags: { site: 'north' } } }), 'ok')
  const found = await registry.apiKeys.authenticate(key, '')
  assert.deepEqual([found?.rights, found?.scope], [['events.read'], { tags: { site: 'north' } }])
  assert.equal(await change({ rights: ['members.write'] }), 'api_key_not_restrictable')
  assert.equal(await change({ scope: undefined }), 'ok')
  valueOf(await registry.members.update(organizationId, adminId, { ...ADMIN, isAdmin: false }, nobody))
  assert.equal(await change({ rights: ['events.read', 'devices.write'] }), 'api_key_maker')
  assert.equal(await change({ name: 'other' }), 'ok')
  await registry.close()
})

test('a key stands with its maker: role, membership, activity and the user itself', async () => {
  const { registry, organizationId, adminId, make } = await open()
  const { members, users, apiKeys } = registry
  const { key } = await make()
  const { id, key: writer } = await make({ name: 'writer', rights: ['devices.write'] })
  const good = async () => [await isGood(registry, key), await isGood(registry, writer)]
  const state = async () => (await apiKeys.get(id))?.state
  assert.deepEqual(await good(), [true, true])
  valueOf(await members.update(organizationId, adminId, { ...ADMIN, isAdmin: false }, nobody))
  assert.deepEqual([await good(), await state()], [[true, false], 'maker_role_too_small'])
  const reader = { ...ADMIN, isAdmin: false, isReadOnly: true }
  valueOf(await members.update(organizationId, adminId, reader, nobody))
  assert.deepEqual(await good(), [false, false])
  valueOf(await members.update(organizationId, adminId, ADMIN, nobody))
  assert.deepEqual([await good(), await state()], [[true, true], 'in_force'])
  valueOf(await members.remove(organizationId, adminId, nobody))
  assert.deepEqual([await good(), await state()], [[false, false], 'without_maker'])
  valueOf(await members.add(organizationId, adminId, ADMIN, nobody))
  assert.deepEqual(await good(), [true, true])
  valueOf(await users.update(adminId, { isActive: false }, nobody))
  assert.deepEqual(await good(), [false, false])
  valueOf(await users.update(adminId, { isActive: true }, nobody))
  assert.deepEqual(await good(), [true, true])
  valueOf(await users.remove(adminId, nobody))
  assert.deepEqual([await good(), await state()], [[false, false], 'without_maker'])
  const heir = await addUser(registry, 'heir@example.org')
  assert.equal(reasonOf(await apiKeys.handOver(id, heir, nobody)), 'api_key_maker')
  valueOf(await members.add(organizationId, heir, ADMIN, nobody))
  valueOf(await apiKeys.handOver(id, heir, nobody))
  assert.deepEqual(await good(), [false, true])
  assert.equal((await apiKeys.get(id))?.makerEmail, 'heir@example.org')
  await registry.close()
})

test('the keys of a removed organization are gone, and one is told of each', async () => {
  const { registry, organizationId, make, heard } = await open()
  const { id, key } = await make()
  assert.ok(await isGood(registry, key))
  valueOf(await registry.organizations.remove(organizationId, nobody))
  assert.equal(await isGood(registry, key), false)
  assert.ok(heard.some((change) => change.kind === 'api_key_revoked' && change.apiKeyId === id))
  assert.equal((await registry.apiKeys.list(organizationId, all)).totalCount, 0)
  await registry.close()
})

test('the audit names the key as the actor, and never its maker', async () => {
  const { registry, organizationId, adminId, make } = await open()
  const { id } = await make()
  const actor = { userId: adminId, apiKey: { id } }
  await registry.audit.record(actor, { action: 'a.b', subject: 's', organizationId, detail: {} })
  const { items } = await registry.audit.list({ userId: '0', isAdmin: true }, { limit: 1, offset: 0 })
  assert.deepEqual(
    items.map((entry) => [entry.actor, entry.actorUserId, entry.actorApiKeyId]),
    [['apiKey', null, id]],
  )
  assert.deepEqual([...(await registry.apiKeys.namesOf([id, 'nothing']))], [[id, 'bridge']])
  await registry.close()
})

test('keys are listed by name, for one owner alone', async () => {
  const { registry, organizationId, make } = await open()
  await make({ name: 'b' })
  await make({ name: 'A' })
  const names = async (owner: string | null, search?: string) =>
    (await registry.apiKeys.list(owner, { ...all, ...(search === undefined ? {} : { search }) })).items.map(
      (k) => k.name,
    )
  assert.deepEqual(await names(organizationId), ['A', 'b'])
  assert.deepEqual(await names(organizationId, 'B'), ['b'])
  assert.deepEqual(await names(await addOrganization(registry, 'zenith')), [])
  assert.deepEqual(await names(null), [])
  await registry.close()
})
