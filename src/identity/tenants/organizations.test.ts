import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../store/changes.ts'
import {
  addApplication,
  addMember,
  addOrganization,
  addUser,
  devEuiOf,
  nobody,
  openTestRegistry,
  reasonOf,
  valueOf,
} from '../registry.testing.ts'
import type { Registry } from '../registry.ts'

const all = { limit: 100, offset: 0 }

async function twoTenants(registry: Registry): Promise<{
  readonly admin: { readonly userId: string; readonly isAdmin: boolean }
  readonly member: { readonly userId: string; readonly isAdmin: boolean }
  readonly own: string
  readonly foreign: string
}> {
  const admin = { userId: await addUser(registry, 'admin', { isAdmin: true }), isAdmin: true }
  const member = { userId: await addUser(registry, 'member'), isAdmin: false }
  const own = await addOrganization(registry, 'own')
  const foreign = await addOrganization(registry, 'foreign')
  await addMember(registry, own, member.userId)
  return { admin, member, own, foreign }
}

test('a name is letters, digits, _ and -, and unique in any case until its owner is removed', async () => {
  await using opened = await openTestRegistry()
  const { organizations } = opened.registry
  const base = { displayName: 'Acme', canHaveGateways: false }
  for (const name of ['', 'with space', 'dot.ted', 'ünicode', 'a\0', 'a\n', 'x'.repeat(101)]) {
    assert.equal(reasonOf(await organizations.create({ ...base, name }, nobody)), 'invalid_name', name)
  }
  const { id } = valueOf(await organizations.create({ ...base, name: 'Acme_1-a' }, nobody))
  assert.equal(reasonOf(await organizations.create({ ...base, name: 'acme_1-A' }, nobody)), 'organization_exists')
  valueOf(await organizations.remove(id, nobody))
  assert.equal(reasonOf(await organizations.create({ ...base, name: '__proto__' }, nobody)), 'ok')
  assert.equal(reasonOf(await organizations.create({ ...base, name: 'acme_1-A' }, nobody)), 'ok')
})

test('a viewer sees its organizations, a global admin all of them, sorted by displayName', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { admin, member } = await twoTenants(registry)
  const names = async (viewer: typeof admin, search = ''): Promise<readonly string[]> =>
    (await registry.organizations.list(viewer, { ...all, search })).items.map(({ name }) => name)
  assert.deepEqual(await names(admin), ['foreign', 'own'])
  assert.deepEqual(await names(member), ['own'])
  assert.deepEqual(await names(member, 'foreign'), [])
  assert.deepEqual(await names({ userId: '0) or 1=1 --', isAdmin: false }), [])
  assert.deepEqual(await registry.organizations.list(admin, { limit: 0, offset: 0 }), { totalCount: 2, items: [] })
})

test('applications and devices of others are not listed, whatever is asked for', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { admin, member, own, foreign } = await twoTenants(registry)
  const mine = await addApplication(registry, own, 'mine')
  const theirs = await addApplication(registry, foreign, 'theirs')
  valueOf(await registry.devices.create({ devEui: devEuiOf(1), name: 'd1', applicationId: mine }, nobody))
  valueOf(await registry.devices.create({ devEui: devEuiOf(2), name: 'd2', applicationId: theirs }, nobody))
  const counts = async (viewer: typeof admin, filter: object): Promise<readonly number[]> => [
    (await registry.applications.list(viewer, { ...all, ...filter })).totalCount,
    (await registry.devices.list(viewer, { ...all, ...filter })).totalCount,
  ]
  assert.deepEqual(await counts(admin, {}), [2, 2])
  assert.deepEqual(await counts(member, {}), [1, 1])
  assert.deepEqual(await counts(member, { organizationId: foreign }), [0, 0])
  assert.deepEqual(await counts(admin, { organizationId: foreign }), [1, 1])
  assert.equal((await registry.devices.list(member, { ...all, applicationId: theirs })).totalCount, 0)
  assert.equal(
    (await registry.devices.list(member, { ...all, applicationId: mine, organizationId: foreign })).totalCount,
    0,
  )
  assert.equal((await registry.devices.list(member, { ...all, search: 'd2' })).totalCount, 0)
})

test('a removed organization takes everything of it along, and says so', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { admin, member, own, foreign } = await twoTenants(registry)
  const applicationId = await addApplication(registry, own, 'a')
  const devices = Array.from({ length: 450 }, (_, number) => ({
    devEui: devEuiOf(number),
    name: `d${number}`,
    applicationId,
  }))
  await registry.devices.createMany(devices, nobody)
  const kept = await addApplication(registry, foreign, 'kept')
  valueOf(await registry.devices.create({ devEui: devEuiOf(1000), name: 'kept', applicationId: kept }, nobody))
  const credential = valueOf(await registry.serviceCredentials.create({ name: 'ns', organizationId: own }, nobody))
  const access = { userId: member.userId, organizationId: own, ttlSeconds: 60 }
  const { jwt } = valueOf(await registry.tokens.issueBrokerAccess(access))
  const heard: Change[] = []
  registry.changes.subscribe((change) => heard.push(change))
  valueOf(await registry.organizations.remove(own, nobody))
  assert.deepEqual(heard, [
    { kind: 'organization_removed', organizationId: own },
    { kind: 'service_credential_revoked', id: credential.id },
    { kind: 'application_removed', applicationId, organizationId: own },
    { kind: 'member_removed', organizationId: own, userId: member.userId },
  ])
  assert.equal(await registry.organizations.get(own), undefined)
  assert.equal(await registry.applications.get(applicationId), undefined)
  assert.equal(await registry.devices.get(devEuiOf(0)), undefined)
  assert.equal(await registry.members.isMember(admin, own), false)
  assert.equal(
    await registry.serviceCredentials.authenticate(credential.userName, Buffer.from(credential.password)),
    undefined,
  )
  assert.equal(reasonOf(await registry.tokens.verifyBrokerAccess(jwt)), 'not_a_member')
  assert.equal((await registry.devices.list(admin, { ...all, search: 'd1' })).totalCount, 0)
  assert.deepEqual(
    (await registry.devices.list(admin, all)).items.map(({ name }) => name),
    ['kept'],
  )
  assert.equal(reasonOf(await registry.organizations.remove(own, nobody)), 'organization_not_found')
})

test('membership: added once, changed, listed both ways, and gone with its tokens', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { admin, member, own, foreign } = await twoTenants(registry)
  const { members } = registry
  const roles = { isAdmin: true, isDeviceAdmin: true, isGatewayAdmin: false }
  assert.equal(reasonOf(await members.add(own, member.userId, roles, nobody)), 'member_exists')
  assert.equal(reasonOf(await members.add('999', member.userId, roles, nobody)), 'organization_not_found')
  assert.equal(reasonOf(await members.add(own, '999', roles, nobody)), 'user_not_found')
  assert.equal(reasonOf(await members.add('1e1', '0x1', roles, nobody)), 'organization_not_found')
  valueOf(await members.update(own, member.userId, roles, nobody))
  assert.equal((await members.get(own, member.userId))?.isDeviceAdmin, true)
  assert.equal(reasonOf(await members.update(foreign, member.userId, roles, nobody)), 'member_not_found')
  assert.deepEqual(
    (await members.list(own, all)).items.map(({ email }) => email),
    ['member'],
  )
  assert.deepEqual(
    (await members.listOfUser(member.userId, all)).items.map(({ organizationName }) => organizationName),
    ['own'],
  )
  assert.equal(await members.isMember(member, own), true)
  assert.equal(await members.isMember(member, foreign), false)
  assert.equal(await members.isMember(admin, foreign), true)
  assert.equal(await members.isMember(admin, '999'), false)
  const { jwt } = valueOf(
    await registry.tokens.issueBrokerAccess({ userId: member.userId, organizationId: own, ttlSeconds: 60 }),
  )
  valueOf(await members.remove(own, member.userId, nobody))
  assert.equal(reasonOf(await registry.tokens.verifyBrokerAccess(jwt)), 'not_a_member')
  valueOf(await members.add(own, member.userId, roles, nobody))
  assert.equal(reasonOf(await registry.tokens.verifyBrokerAccess(jwt)), 'token_revoked')
})
