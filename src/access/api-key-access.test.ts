import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LostAccess } from '../broker/ports/policy.ts'
import {
  addApplication,
  addOrganization,
  addUser,
  nobody,
  openTestRegistry,
  valueOf,
} from '../identity/registry.testing.ts'
import { tokenScopeOf } from '../identity/tokens/api-key-standing.ts'
import type { NewApiKey } from '../identity/tokens/api-keys.ts'
import { Topic } from '../mqtt/topic.ts'
import { AccessPolicy } from './policy.ts'

const ADMIN = { isAdmin: true, isDeviceAdmin: false, isGatewayAdmin: false, isReadOnly: false }
const CLIENT = {
  protocolVersion: 5,
  clientId: 'client',
  password: Buffer.from('default'),
  authenticationMethod: undefined,
  authenticationData: undefined,
  peer: { address: '192.0.2.1', listener: 'tls' },
} as const
const DEV_EUI = '0101010101010101'

/** A policy over a registry with one key, and ways to connect with tokens of the key. */
async function open(fields: Partial<NewApiKey> = {}) {
  const { registry, clock } = await openTestRegistry()
  const organizationId = await addOrganization(registry, 'acme')
  const makerUserId = await addUser(registry, 'admin@example.org')
  valueOf(await registry.members.add(organizationId, makerUserId, ADMIN, nobody))
  const applicationId = await addApplication(registry, organizationId, 'meters')
  valueOf(await registry.devices.create({ devEui: DEV_EUI, name: 'meter', applicationId }, nobody))
  const plain = { organizationId, makerUserId, name: 'bridge', scope: undefined, expiresAtMs: null }
  const rights = ['events.read', 'commands.send'] as const
  const made = valueOf(await registry.apiKeys.create({ ...plain, rights, ...fields }, nobody))
  const policy = new AccessPolicy(registry)
  const lost: LostAccess[] = []
  policy.watchAccess((one) => lost.push(one))

  /** A token of the key that the text is. */
  const tokenOf = async (text: string, ttlSeconds = 3600) => {
    const key = await registry.apiKeys.authenticate(text, '')
    assert.ok(key !== undefined)
    const scope = valueOf(tokenScopeOf(key, undefined))
    const untilMs = key.secretUntilMs ?? key.expiresAtMs
    const apiKey = { id: key.id, generation: key.generation, untilMs }
    const grant = { userId: key.makerUserId, organizationId, ttlSeconds, scope, apiKey }
    return valueOf(await registry.tokens.issueBrokerAccess(grant))
  }
  const admit = (jwt: string) => policy.authenticate({ ...CLIENT, userName: jwt })
  /** Connects, and returns what the connection is told. */
  const connect = async (jwt: string) => {
    const admission = await admit(jwt)
    assert.ok(admission.allowed)
    const { permit } = admission
    const told: (string | undefined)[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    permit.watch({
      permitChanged: (end) => {
        told.push(end?.code)
        resolve()
      },
    })
    return { permit, told, ended: promise }
  }
  const close = async () => {
    policy.close()
    await registry.close()
  }
  return { registry, clock, organizationId, makerUserId, applicationId, ...made, tokenOf, admit, connect, lost, close }
}

test('a token of a key connects as the key, and its Sessions are the key’s', async () => {
  const { id, key, tokenOf, connect, applicationId, registry, close } = await open()
  const { permit } = await connect((await tokenOf(key)).jwt)
  assert.equal(permit.identity, `api-key:${id}`)
  assert.equal(permit.maySubscribe(`application/${applicationId}/device/+/event/+`).allowed, true)
  const command = new Topic(`application/${applicationId}/device/${DEV_EUI}/command/down`)
  assert.equal((await permit.mayPublish(command)).allowed, true)
  const rotated = valueOf(await registry.apiKeys.rotate(id, 60, nobody)).key
  assert.equal((await connect((await tokenOf(rotated)).jwt)).permit.identity, `api-key:${id}`)
  await close()
})

test('a key without commands.send makes tokens that only read', async () => {
  const { key, tokenOf, connect, applicationId, close } = await open({ rights: ['events.read'] })
  const { permit } = await connect((await tokenOf(key)).jwt)
  const command = new Topic(`application/${applicationId}/device/${DEV_EUI}/command/down`)
  const decision = await permit.mayPublish(command)
  assert.equal(decision.allowed ? '' : decision.code, 'publish_read_only')
  await close()
})

test('a restricted key makes tokens with its restriction', async () => {
  const { key, tokenOf, connect, applicationId, registry, organizationId, close } = await open({
    scope: { devEuis: [DEV_EUI] },
  })
  const other = await addApplication(registry, organizationId, 'other')
  const { permit } = await connect((await tokenOf(key)).jwt)
  const mayReceive = (devEui: string) =>
    permit.mayReceive?.(new Topic(`application/${applicationId}/device/${devEui}/event/up`))
  assert.deepEqual([mayReceive(DEV_EUI), mayReceive('0202020202020202')], [true, false])
  assert.equal(permit.maySubscribe(`application/${other}/device/0202020202020202/event/up`).allowed, false)
  await close()
})

test('a revoked key ends its connections and its Sessions at once', async () => {
  const { id, key, registry, tokenOf, connect, admit, lost, close } = await open()
  const { jwt } = await tokenOf(key)
  const { told } = await connect(jwt)
  valueOf(await registry.apiKeys.revoke(id, nobody))
  assert.deepEqual(told, ['api_key_ended'])
  assert.deepEqual(
    lost.map(({ identity, end }) => [identity, end.code]),
    [[`api-key:${id}`, 'api_key_ended']],
  )
  const refused = await admit(jwt)
  assert.equal(refused.allowed ? '' : refused.code, 'api_key_ended')
  await close()
})

/** Each deed with the code that the connection hears, or undefined where it goes on. */
const DEEDS: readonly (readonly [string, (bench: Awaited<ReturnType<typeof open>>) => Promise<unknown>, string?])[] = [
  ['another name', ({ registry, id }) => registry.apiKeys.update(id, { name: 'other' }, nobody)],
  ['a wider right', ({ registry, id }) => registry.apiKeys.update(id, { rights: WIDE }, nobody)],
  [
    'an expiry',
    ({ registry, id, clock }) => registry.apiKeys.update(id, { expiresAtMs: clock.now() + 9e9 }, nobody),
    'token_revoked',
  ],
  [
    'a lost right',
    ({ registry, id }) => registry.apiKeys.update(id, { rights: ['events.read'] }, nobody),
    'token_revoked',
  ],
  [
    'a restriction',
    ({ registry, id }) => registry.apiKeys.update(id, { scope: { tags: { a: 'b' } } }, nobody),
    'token_revoked',
  ],
  ['a rotation with an overlap', ({ registry, id }) => registry.apiKeys.rotate(id, 60, nobody)],
  ['a rotation without one', ({ registry, id }) => registry.apiKeys.rotate(id, 0, nobody), 'token_revoked'],
  [
    'its maker made a reader',
    ({ registry, organizationId, makerUserId }) =>
      registry.members.update(organizationId, makerUserId, { ...ADMIN, isReadOnly: true }, nobody),
    'api_key_ended',
  ],
  [
    'its maker made a member',
    ({ registry, organizationId, makerUserId }) =>
      registry.members.update(organizationId, makerUserId, { ...ADMIN, isAdmin: false }, nobody),
  ],
  [
    'its maker gone from the organization',
    ({ registry, organizationId, makerUserId }) => registry.members.remove(organizationId, makerUserId, nobody),
    'api_key_ended',
  ],
  [
    'its maker deactivated',
    ({ registry, makerUserId }) => registry.users.update(makerUserId, { isActive: false }, nobody),
    'api_key_ended',
  ],
  ['its maker removed', ({ registry, makerUserId }) => registry.users.remove(makerUserId, nobody), 'api_key_ended'],
  [
    'its maker signed out everywhere',
    ({ registry, makerUserId }) => registry.tokens.signOutEverywhere(makerUserId, nobody),
  ],
]
const WIDE = ['events.read', 'commands.send', 'devices.read'] as const

for (const [name, deed, code] of DEEDS) {
  test(`a connection with a token of a key ${code === undefined ? 'goes on' : 'ends'}: ${name}`, async () => {
    const bench = await open()
    const { jwt } = await bench.tokenOf(bench.key)
    const { told, ended, permit } = await bench.connect(jwt)
    await deed(bench)
    if (code === undefined) {
      // The check of the permit has its answer once another check, which began later, has one.
      assert.equal(await (permit as unknown as { recheck(): Promise<unknown> }).recheck(), undefined)
      assert.deepEqual(told, [])
    } else {
      await ended
      assert.deepEqual(told, [code])
    }
    const again = await bench.admit(jwt)
    assert.equal(again.allowed ? undefined : again.code, code)
    await bench.close()
  })
}

test('a token does not outlive the overlap of the secret with which it was asked for, nor the key', async () => {
  const { id, key, registry, clock, tokenOf, close } = await open()
  valueOf(await registry.apiKeys.rotate(id, 60, nobody))
  assert.equal((await tokenOf(key)).expiresAtMs, clock.now() + 60_000)
  valueOf(await registry.apiKeys.update(id, { expiresAtMs: clock.now() + 30_000 }, nobody))
  const fresh = valueOf(await registry.apiKeys.rotate(id, 0, nobody)).key
  assert.equal((await tokenOf(fresh)).expiresAtMs, clock.now() + 30_000)
  assert.equal((await tokenOf(fresh, 10)).expiresAtMs, clock.now() + 10_000)
  await close()
})

test('a key that was handed over goes on, also when its old maker is removed', async () => {
  const bench = await open()
  const { registry, organizationId, id, makerUserId } = bench
  const heir = await addUser(registry, 'heir@example.org')
  valueOf(await registry.members.add(organizationId, heir, ADMIN, nobody))
  const { jwt } = await bench.tokenOf(bench.key)
  const { told } = await bench.connect(jwt)
  valueOf(await registry.apiKeys.handOver(id, heir, nobody))
  valueOf(await registry.users.remove(makerUserId, nobody))
  assert.equal((await bench.admit(jwt)).allowed, true)
  assert.deepEqual(told, [])
  await bench.close()
})

test('the living tokens of a key are bounded, and those of its maker are not counted with them', async () => {
  const { registry, key, makerUserId, organizationId, tokenOf, close } = await open()
  for (let count = 0; count < 2_000; count += 1) await tokenOf(key)
  await assert.rejects(tokenOf(key), /too_many_tokens/)
  valueOf(await registry.tokens.issueBrokerAccess({ userId: makerUserId, organizationId, ttlSeconds: 60 }))
  await close()
})
