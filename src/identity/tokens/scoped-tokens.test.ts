import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember, addOrganization, addUser, nobody, openTestRegistry, valueOf } from '../registry.testing.ts'
import type { Registry } from '../registry.ts'
import type { Scope } from './scope.ts'

async function openBench() {
  const opened = await openTestRegistry()
  const { registry } = opened
  const userId = await addUser(registry, 'ada')
  const organizationId = await addOrganization(registry, 'acme')
  await addMember(registry, organizationId, userId)
  return { ...opened, grant: { userId, organizationId, ttlSeconds: 3600 } }
}

async function scopeNow({ tokens }: Registry, jwt: string): Promise<Scope | undefined> {
  const verified = await tokens.verifyBrokerAccess(jwt)
  assert.ok(verified.ok)
  const again = valueOf(await tokens.recheckBrokerAccess(verified.value))
  assert.deepEqual(again, verified.value)
  return verified.value.scope
}

const READ_ONLY = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false, isReadOnly: true }

test('a token has the scope that it was made with, and the token itself does not tell it', async () => {
  await using bench = await openBench()
  const { registry, grant } = bench
  const scope: Scope = { devEuis: ['0101010101010101'], tags: { site: 'north' }, eventKinds: ['up'], isReadOnly: true }
  const { jwt, tokenId } = valueOf(await registry.tokens.issueBrokerAccess({ ...grant, scope }))
  assert.deepEqual(await scopeNow(registry, jwt), scope)
  const contents = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as object
  assert.deepEqual(Object.keys(contents).toSorted(), ['aud', 'exp', 'iat', 'iss', 'jti', 'org', 'sub'])
  const record = await registry.tokens.getBrokerAccess(tokenId)
  assert.deepEqual([record?.scope, record?.apiKeyId], [scope, null])
  const { items } = await registry.tokens.listBrokerAccess({ limit: 9, offset: 0 })
  assert.deepEqual(items, [record])
})

test('a token without a scope has no limit', async () => {
  await using bench = await openBench()
  const { registry, grant } = bench
  const { jwt, tokenId } = valueOf(await registry.tokens.issueBrokerAccess(grant))
  assert.equal(await scopeNow(registry, jwt), undefined)
  const record = await registry.tokens.getBrokerAccess(tokenId)
  assert.deepEqual([record?.scope, record?.apiKeyId], [undefined, null])
})

test('a member who becomes read-only has read-only tokens at once, and whole ones when that is taken back', async () => {
  await using bench = await openBench()
  const { registry, grant } = bench
  const { members, tokens } = registry
  const { organizationId, userId } = grant
  const whole = valueOf(await tokens.issueBrokerAccess(grant)).jwt
  const narrow = valueOf(await tokens.issueBrokerAccess({ ...grant, scope: { eventKinds: ['up'] } })).jwt
  assert.equal(await scopeNow(registry, whole), undefined)
  valueOf(await members.update(organizationId, userId, READ_ONLY, nobody))
  assert.deepEqual(await scopeNow(registry, whole), { isReadOnly: true })
  assert.deepEqual(await scopeNow(registry, narrow), { eventKinds: ['up'], isReadOnly: true })
  const { isReadOnly: _, ...others } = READ_ONLY
  valueOf(await members.update(organizationId, userId, others, nobody))
  assert.equal((await members.get(organizationId, userId))?.isReadOnly, true, 'a role that is left out stays')
  valueOf(await members.update(organizationId, userId, { ...READ_ONLY, isReadOnly: false }, nobody))
  assert.equal(await scopeNow(registry, whole), undefined)
  assert.deepEqual(await scopeNow(registry, narrow), { eventKinds: ['up'] })
})

test('a global admin is never read-only, whatever its membership says', async () => {
  await using bench = await openBench()
  const { registry, grant } = bench
  valueOf(await registry.users.update(grant.userId, { isAdmin: true }, nobody))
  valueOf(await registry.members.update(grant.organizationId, grant.userId, READ_ONLY, nobody))
  assert.equal(await scopeNow(registry, valueOf(await registry.tokens.issueBrokerAccess(grant)).jwt), undefined)
})
