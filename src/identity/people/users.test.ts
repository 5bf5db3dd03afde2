import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../store/changes.ts'
import {
  addMember,
  addOrganization,
  addUser,
  nobody,
  openTestRegistry,
  reasonOf,
  valueOf,
} from '../registry.testing.ts'

const user = { email: 'ada@example.org', password: 'correct horse', isAdmin: false, isActive: true, note: '' }
const roles = { isAdmin: true, isDeviceAdmin: false, isGatewayAdmin: false }

test('a user name is unique in any case', async () => {
  await using opened = await openTestRegistry()
  const { users } = opened.registry
  valueOf(await users.create(user, nobody))
  const again = await users.create({ ...user, email: 'ADA@Example.org' }, nobody)
  assert.deepEqual(again, {
    ok: false,
    code: 'already_exists',
    reason: 'user_exists',
    message: 'object already exists',
  })
  assert.equal((await users.getByEmail('Ada@EXAMPLE.org'))?.email, 'ada@example.org')
})

test('names of many users are looked up at once; ids of nobody, and what is none, are left out', async () => {
  await using opened = await openTestRegistry()
  const { users } = opened.registry
  const { id } = valueOf(await users.create(user, nobody))
  const names = await users.emailsOf([id, '987654', '', 'x', "1'--", ...Array.from({ length: 3000 }, () => '5')])
  assert.deepEqual([...names], [[id, 'ada@example.org']])
  assert.equal((await users.emailsOf([])).size, 0)
})

test('two creations of one user name at the same time make one user', async () => {
  await using opened = await openTestRegistry()
  const { users } = opened.registry
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => users.create(user, nobody)))
  assert.equal(outcomes.filter(({ ok }) => ok).length, 1)
  assert.equal((await users.list({ limit: 0, offset: 0 })).totalCount, 1)
})

test('hostile user names and passwords are refused', async () => {
  await using opened = await openTestRegistry()
  const { users } = opened.registry
  const emails = [
    '',
    ' ',
    ' ada',
    'a\0b',
    'a\nb',
    '\ud800',
    'x'.repeat(101),
    'x'.repeat(5_000_000),
    'a\u2028b',
    '\u0085',
  ]
  for (const email of emails) {
    assert.equal(reasonOf(await users.create({ ...user, email }, nobody)), 'invalid_email', email.slice(0, 20))
  }
  for (const password of [
    '',
    'short12',
    'with\0nul-in-it',
    'tab\tin-the-middle',
    'x'.repeat(129),
    '\ud800 half a pair',
  ]) {
    assert.equal(reasonOf(await users.create({ ...user, password }, nobody)), 'invalid_password')
  }
  for (const email of ["'; drop table users; --", '"quoted"', '__proto__', 'constructor', 'ａda']) {
    assert.equal(reasonOf(await users.create({ ...user, email }, nobody)), 'ok')
  }
  assert.equal((await users.list({ limit: 100, offset: 0 })).totalCount, 5)
})

test('a user whose organization does not exist is not made at all', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const organizations = [
    { organizationId, ...roles },
    { organizationId: '99', ...roles },
  ]
  assert.equal(reasonOf(await registry.users.create({ ...user, organizations }, nobody)), 'organization_not_found')
  assert.equal((await registry.users.list({ limit: 0, offset: 0 })).totalCount, 0)
  assert.equal((await registry.members.list(organizationId, { limit: 0, offset: 0 })).totalCount, 0)
  const [first] = organizations
  assert.ok(first)
  const { id } = valueOf(await registry.users.create({ ...user, organizations: [first] }, nobody))
  assert.equal((await registry.members.get(organizationId, id))?.isAdmin, true)
})

test('fields that are no fields of a user change nothing', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const id = await addUser(registry, 'ada')
  const hostile = { note: 'new', id: '77', password_hash: 'x', session_epoch: 9 }
  valueOf(await registry.users.update(id, hostile, nobody))
  assert.equal((await registry.users.get(id))?.note, 'new')
  assert.equal(await registry.users.get('77'), undefined)
})

test('the last active global admin can be neither removed, deactivated nor demoted', async () => {
  await using opened = await openTestRegistry()
  const { users } = opened.registry
  const first = await addUser(opened.registry, 'first', { isAdmin: true })
  assert.equal(reasonOf(await users.remove(first, nobody)), 'last_admin')
  assert.equal(reasonOf(await users.update(first, { isActive: false }, nobody)), 'last_admin')
  assert.equal(reasonOf(await users.update(first, { isAdmin: false }, nobody)), 'last_admin')
  await addUser(opened.registry, 'second', { isAdmin: true })
  assert.equal(reasonOf(await users.remove(first, nobody)), 'ok')
})

test('users are sorted, paged and searched, and every character of a search stands for itself', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  for (const email of ['Bob', 'alice', 'carol_x', 'dave%y', 'Élodie', "o'neil", 'back\\slash'])
    await addUser(registry, email)
  const page = await registry.users.list({ limit: 2, offset: 1 })
  assert.deepEqual([page.totalCount, page.items.map(({ email }) => email)], [7, ['back\\slash', 'Bob']])
  const found = async (search: string): Promise<readonly string[]> =>
    (await registry.users.list({ limit: 10, offset: 0, search })).items.map(({ email }) => email)
  assert.deepEqual(await found('_'), ['carol_x'])
  assert.deepEqual(await found('%'), ['dave%y'])
  assert.deepEqual(await found("'"), ["o'neil"])
  assert.deepEqual(await found('\\'), ['back\\slash'])
  assert.deepEqual(await found('élo'), ['Élodie'])
  assert.deepEqual(await found('"'), [])
  assert.deepEqual(await found('\0'), [])
  assert.deepEqual(await found('x'.repeat(1_000_000)), [])
})

test('absurd limits and offsets are an empty or a bounded page', async () => {
  await using opened = await openTestRegistry()
  await addUser(opened.registry, 'ada')
  for (const [limit, offset, items] of [
    [-1, 0, 0],
    [0, 0, 0],
    [Number.NaN, 0, 0],
    [1e308, 0, 1],
    [10, -5, 1],
    [10, Number.MAX_SAFE_INTEGER, 0],
    [10, Infinity, 1],
    [1.5, 0.5, 1],
  ] as const) {
    const page = await opened.registry.users.list({ limit, offset })
    assert.deepEqual([page.totalCount, page.items.length], [1, items], `${limit} ${offset}`)
  }
})

test('what ends a user is told: deactivation, admin flag, password, removal; a note is not', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const id = await addUser(registry, 'ada')
  const organizationId = await addOrganization(registry, 'acme')
  await addMember(registry, organizationId, id)
  const heard: Change[] = []
  registry.changes.subscribe((change) => heard.push(change))
  await registry.users.update(id, { note: 'a note' }, nobody)
  assert.deepEqual(heard, [])
  const changed = { kind: 'user_changed', userId: id }
  for (const change of [
    () => registry.users.update(id, { isActive: false }, nobody),
    () => registry.users.update(id, { isAdmin: true }, nobody),
    () => registry.users.setPassword(id, 'another horse', nobody),
  ]) {
    valueOf(await change())
    assert.deepEqual(heard.splice(0), [changed])
  }
  valueOf(await registry.users.remove(id, nobody))
  assert.deepEqual(heard, [changed, { kind: 'member_removed', organizationId, userId: id }])
})

test('a listener that throws keeps neither the change nor the other listeners from theirs', async () => {
  const errors: object[] = []
  const log = { warn: () => undefined, error: (fields: object) => void errors.push(fields) }
  await using opened = await openTestRegistry({ log })
  const { registry } = opened
  const id = await addUser(registry, 'ada')
  let heard = 0
  registry.changes.subscribe(() => {
    throw new Error('broken')
  })
  const stop = registry.changes.subscribe(() => {
    heard += 1
  })
  valueOf(await registry.users.setPassword(id, 'another horse', nobody))
  stop()
  valueOf(await registry.users.setPassword(id, 'the third horse', nobody))
  assert.deepEqual([heard, errors.length], [1, 2])
})
