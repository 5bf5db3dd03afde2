import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addApplication,
  addMember,
  addOrganization,
  addUser,
  nobody,
  openTestRegistry,
  testStartMs,
  valueOf,
} from '../registry.testing.ts'

const admin = { userId: '1', isAdmin: true }
const all = { limit: 1000, offset: 0 }

test('who did what is noted with the change, newest first, and seen by those whose it is', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const own = await addOrganization(registry, 'own')
  const foreign = await addOrganization(registry, 'foreign')
  const userId = await addUser(registry, 'ada')
  await addMember(registry, own, userId)
  await addApplication(registry, foreign, 'theirs')
  const fields = { name: 'mine', displayName: 'Mine' }
  valueOf(await registry.organizations.update(own, fields, { userId }))
  const entries = await registry.audit.list(admin, all)
  assert.deepEqual(
    entries.items.map(({ action }) => action),
    [
      'organization.updated',
      'application.created',
      'member.added',
      'user.created',
      'organization.created',
      'organization.created',
      'signing_key.rotated',
    ],
  )
  assert.deepEqual(
    { ...entries.items[0], id: '' },
    {
      id: '',
      atMs: testStartMs,
      actor: 'user',
      actorUserId: userId,
      actorApiKeyId: null,
      action: 'organization.updated',
      subject: own,
      organizationId: own,
      detail: { name: 'mine' },
    },
  )
  const seen = await registry.audit.list({ userId, isAdmin: false }, all)
  assert.deepEqual(new Set(seen.items.map(({ organizationId }) => organizationId)), new Set([own]))
  assert.equal(
    (await registry.audit.list({ userId, isAdmin: false }, { ...all, organizationId: foreign })).totalCount,
    0,
  )
  assert.equal((await registry.audit.list(admin, { ...all, search: 'APPLICATION' })).totalCount, 1)
  assert.equal((await registry.audit.list(admin, { limit: 1, offset: 2 })).items[0]?.action, 'member.added')
})

test('a refused change leaves no entry', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const before = (await registry.audit.list(admin, all)).totalCount
  await registry.organizations.create({ name: 'no good', displayName: 'x', canHaveGateways: false }, nobody)
  await registry.users.remove('99', nobody)
  assert.equal((await registry.audit.list(admin, all)).totalCount, before)
})

test('neither a password nor a token nor a code ever gets into the audit', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const userId = await addUser(registry, 'ada')
  const organizationId = await addOrganization(registry, 'acme')
  await addMember(registry, organizationId, userId)
  valueOf(await registry.users.setPassword(userId, 'another horse', nobody))
  const { jwt } = valueOf(await registry.tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 60 }))
  const { password } = valueOf(await registry.serviceCredentials.create({ name: 'ns', organizationId }, nobody))
  const { secret, recoveryCodes } = valueOf(await registry.secondFactor.configure(userId, 100, nobody))
  const text = JSON.stringify(await registry.audit.list(admin, all))
  for (const word of ['horse', jwt, password, secret, recoveryCodes[0] ?? '']) assert.equal(text.includes(word), false)
})

test('what the operator of the machine does stands as the operator’s, not as that of the user acted for', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const userId = await addUser(registry, 'ada')
  const [made] = (await registry.audit.list(admin, { limit: 1, offset: 0 })).items
  assert.deepEqual([made?.actor, made?.actorUserId], ['service', null])
  for (const isOperator of [true, false]) {
    valueOf(await registry.users.update(userId, { note: String(isOperator) }, { userId, isOperator }))
    const [entry] = (await registry.audit.list(admin, { limit: 1, offset: 0 })).items
    assert.deepEqual([entry?.actor, entry?.actorUserId], isOperator ? ['operator', null] : ['user', userId])
  }
})

test('entries go after 90 days, and detail without end is left out', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const entry = { action: 'test.done', subject: 'x'.repeat(10_000), organizationId: null }
  await registry.audit.record(nobody, { ...entry, detail: { text: 'x'.repeat(1_000_000) } })
  const [first] = (await registry.audit.list(admin, { limit: 1, offset: 0 })).items
  assert.deepEqual([first?.subject.length, first?.detail], [300, { omitted: 'too long' }])
  for (let count = 0; count < 600; count += 1) await registry.audit.record(nobody, { ...entry, detail: {} })
  clock.advance(90 * 86_400_000)
  await registry.audit.record(nobody, { ...entry, subject: 'new', detail: {} })
  await registry.pruneExpired()
  assert.equal((await registry.audit.list(admin, all)).totalCount, 602 + 1)
  clock.advance(1)
  await registry.pruneExpired()
  assert.deepEqual(
    (await registry.audit.list(admin, all)).items.map(({ subject }) => subject),
    ['new'],
  )
})
