import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ApiKeyRight } from '../../identity/store/api-key-rights.ts'
import { must, newApplication, newDevice, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

const ALL: readonly ApiKeyRight[] = [
  'events.read',
  'commands.send',
  'devices.read',
  'devices.write',
  'applications.write',
  'codecs.write',
]
const OF_DEVICES: readonly ApiKeyRight[] = ['events.read', 'commands.send', 'devices.read', 'devices.write']
const NOBODY = { userId: null }
const OTHER_DEVICE = '0303030303030303'

let deployment: TestDeployment
let otherApplicationId: string
let serial = 0

before(async () => {
  deployment = await openTestDeployment()
  const { registry, organizationId } = deployment
  otherApplicationId = await newApplication(registry, organizationId, 'other')
  await newDevice(registry, otherApplicationId, OTHER_DEVICE)
  must(await registry.devices.update(deployment.devEui, { tags: { site: 'north' } }, { userId: null }))
})

after(async () => {
  await deployment.close()
})

interface Made {
  readonly id: string
  readonly key: string
}

/** A key of the first organization, made by its admin over HTTP. */
async function make(rights: readonly ApiKeyRight[], fields: object = {}): Promise<Made> {
  serial += 1
  const payload = { apiKey: { name: `key ${serial}`, rights, ...fields } }
  const url = `/api/organizations/${deployment.organizationId}/api-keys`
  const answer = await deployment.ask(await deployment.session('organizationAdmin'), { method: 'POST', url, payload })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}

async function ask(token: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
  const answer = await deployment.ask(token, {
    method,
    url,
    ...(payload === undefined ? {} : { payload }),
  })
  const body: { details?: readonly { readonly reason: string }[] } & Record<string, unknown> = answer.json()
  return { status: answer.statusCode, body, reason: body.details?.[0]?.reason ?? '', headers: answer.headers }
}

async function listed(token: string, url: string, member: string): Promise<readonly unknown[]> {
  const { body } = await ask(token, 'GET', url)
  const { result, totalCount } = body as { result: readonly Record<string, unknown>[]; totalCount: string }
  assert.equal(totalCount, String(result.length))
  return result.map((item) => item[member])
}

test('a key is told once, and is taken in both headers', async () => {
  const { organizationId } = deployment
  const { id, key } = await make(['devices.read'], { expiresAt: '2030-01-01T00:00:00Z' })
  assert.match(key, /^fg_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/)
  for (const header of ['authorization', 'grpc-metadata-authorization']) {
    const headers = { [header]: `Bearer ${key}` }
    const { statusCode } = await deployment.app.inject({ url: '/api/devices', headers })
    assert.equal(statusCode, 200, header)
  }
  const admin = await deployment.session('organizationAdmin')
  const { body } = await ask(admin, 'GET', `/api/organizations/${organizationId}/api-keys/${id}`)
  assert.deepEqual(
    { ...body, name: '', createdAt: '', lastUsedAt: '' },
    {
      id,
      organizationID: organizationId,
      name: '',
      rights: ['devices.read'],
      scope: null,
      expiresAt: '2030-01-01T00:00:00.000Z',
      state: 'in_force',
      makerUserID: deployment.userIds.organizationAdmin,
      makerName: 'organization-admin@example.org',
      createdAt: '',
      rotatedAt: null,
      oldSecretUntil: null,
      lastUsedAt: '',
      lastUsedAddress: '127.0.0.1',
    },
  )
  assert.equal(JSON.stringify(deployment.logLines).includes(key.slice(16)), false)
})

test('a key that is cut, wrong, unknown, revoked or expired gets one and the same answer', async () => {
  const { organizationId, registry, clock } = deployment
  const { id, key } = await make(['devices.read'])
  const expiring = await make(['devices.read'], { expiresAt: new Date(clock.now() + 60_000).toISOString() })
  const admin = await deployment.session('organizationAdmin')
  assert.equal((await ask(key, 'GET', '/api/devices')).status, 200)
  const revoked = await ask(admin, 'DELETE', `/api/organizations/${organizationId}/api-keys/${id}`)
  assert.equal(revoked.status, 200)
  clock.advance(60_000)
  const other = key.endsWith('0') ? '1' : '0'
  const answers = []
  for (const wrong of [key, expiring.key, key.slice(0, -1), key.slice(0, -1) + other, 'fg_', `fg_${'A'.repeat(62)}`]) {
    const { statusCode, body, headers } = await deployment.ask(wrong, { url: '/api/devices' })
    answers.push({ statusCode, body, challenge: headers['www-authenticate'] })
  }
  assert.equal(answers[0]?.statusCode, 401)
  assert.match(answers[0]?.body ?? '', /api_key_wrong/)
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.equal((await registry.apiKeys.get(id)) === undefined, true)
})

test('a key whose maker, or whose organization, is removed is answered like an unknown one', async () => {
  const { registry } = deployment
  const owner = must(
    await registry.organizations.create({ name: 'short', displayName: 'short', canHaveGateways: false }, NOBODY),
  ).id
  const roles = { isAdmin: true, isDeviceAdmin: false, isGatewayAdmin: false }
  const made = async (name: string): Promise<{ readonly userId: string; readonly key: string }> => {
    const user = { email: `${name}@example.org`, password: 'a long password', isAdmin: false, isActive: true, note: '' }
    const userId = must(await registry.users.create(user, NOBODY)).id
    must(await registry.members.add(owner, userId, roles, NOBODY))
    const fields = { organizationId: owner, makerUserId: userId, rights: ['devices.read'], scope: undefined } as const
    return { userId, key: must(await registry.apiKeys.create({ ...fields, expiresAtMs: null, name }, NOBODY)).key }
  }
  const answer = async (key: string) => {
    const { statusCode, body, headers } = await deployment.ask(key, { url: '/api/devices' })
    return { statusCode, body, challenge: headers['www-authenticate'] }
  }
  const unknown = await answer(`fg_${'A'.repeat(62)}`)
  assert.equal(unknown.statusCode, 401)
  const [removed, deactivated, noMember, homeless] = [
    await made('a'),
    await made('b'),
    await made('c'),
    await made('d'),
  ]
  for (const { key } of [removed, deactivated, noMember, homeless]) assert.equal((await answer(key)).statusCode, 200)
  must(await registry.users.remove(removed.userId, NOBODY))
  must(await registry.users.update(deactivated.userId, { isActive: false }, NOBODY))
  must(await registry.members.remove(owner, noMember.userId, NOBODY))
  for (const { key } of [removed, deactivated, noMember]) assert.deepEqual(await answer(key), unknown)
  assert.equal((await answer(homeless.key)).statusCode, 200)
  must(await registry.organizations.remove(owner, NOBODY))
  assert.deepEqual(await answer(homeless.key), unknown)
})

test('routes about a person, and those that widen rights, take no key', async () => {
  const { organizationId } = deployment
  const { key } = await make([...ALL, 'members.write'])
  const refused = [
    ['GET', '/api/internal/profile'],
    ['POST', '/api/internal/sign-out-everywhere'],
    ['POST', '/api/internal/console-session'],
    ['GET', `/api/organizations/${organizationId}/api-keys`],
    ['GET', `/api/service-credentials?organizationID=${organizationId}`],
    ['GET', `/api/audit-log?organizationID=${organizationId}`],
    ['GET', '/api/users'],
    ['GET', '/api/status'],
  ] as const
  for (const [method, url] of refused) {
    const { status, reason } = await ask(key, method, url)
    assert.deepEqual([status, reason], [403, 'api_key_not_accepted'], url)
  }
  const body = { apiKey: { name: 'child', rights: ['events.read'] } }
  const made = await ask(key, 'POST', `/api/organizations/${organizationId}/api-keys`, body)
  assert.equal(made.reason, 'api_key_not_accepted')
})

test('lists show a key what it reaches, and nothing of other organizations', async () => {
  const { applicationId, organizationId, devEui } = deployment
  const whole = await make(ALL)
  assert.deepEqual(await listed(whole.key, '/api/organizations', 'id'), [organizationId])
  assert.deepEqual(await listed(whole.key, '/api/applications', 'id'), [applicationId, otherApplicationId])
  assert.deepEqual(await listed(whole.key, '/api/devices', 'devEUI'), [devEui, OTHER_DEVICE])
  for (const restriction of [
    { applicationIds: [applicationId] },
    { devEuis: [devEui.toUpperCase()] },
    { tags: { site: 'north' } },
  ]) {
    const { key } = await make(OF_DEVICES, restriction)
    assert.deepEqual(await listed(key, '/api/devices', 'devEUI'), [devEui], JSON.stringify(restriction))
    assert.deepEqual(await listed(key, `/api/devices?organizationID=${organizationId}`, 'devEUI'), [devEui])
    assert.deepEqual(await listed(key, '/api/devices?search=device', 'devEUI'), [devEui])
    assert.equal((await ask(key, 'GET', `/api/devices/${devEui}`)).status, 200)
    const hidden = await ask(key, 'GET', `/api/devices/${OTHER_DEVICE}`)
    assert.deepEqual(hidden.body, (await ask(key, 'GET', '/api/devices/fedcba9876543210')).body)
    const applications = await listed(key, '/api/applications', 'id')
    assert.deepEqual(applications, 'tags' in restriction ? [applicationId, otherApplicationId] : [applicationId])
  }
})

test('a restricted key makes and moves no device out of its reach', async () => {
  const { applicationId, devEui } = deployment
  const tagged = await make(OF_DEVICES, { tags: { site: 'north' } })
  const device = (devEUI: string, tags: object) => ({
    device: { devEUI, name: devEUI, applicationID: applicationId, tags },
  })
  const made = async (devEUI: string, tags: object) =>
    (await ask(tagged.key, 'POST', '/api/devices', device(devEUI, tags))).reason
  assert.equal(await made('0404040404040404', {}), 'api_key_restricted')
  assert.equal(await made('0404040404040404', { site: 'south' }), 'api_key_restricted')
  assert.equal(await made('0404040404040404', { site: 'north', floor: '1' }), '')
  const change = async (key: string, changes: object) =>
    (await ask(key, 'PUT', `/api/devices/${devEui}`, { device: changes })).reason
  assert.equal(await change(tagged.key, { tags: {} }), 'api_key_restricted')
  assert.equal(await change(tagged.key, { description: 'read every hour' }), '')
  const own = await make(OF_DEVICES, { applicationIds: [applicationId] })
  assert.equal(await change(own.key, { applicationID: otherApplicationId }), 'object_not_found')
  const imported = await deployment.ask(tagged.key, {
    method: 'POST',
    url: `/api/devices/import?applicationID=${applicationId}`,
    headers: { 'content-type': 'text/csv' },
    payload: `devEUI,name,tag:site\n0505050505050505,a,north\n0606060606060606,b,south\n`,
  })
  const report: { createdCount: string; errors: readonly { reason: string }[] } = imported.json()
  assert.deepEqual([report.createdCount, report.errors.map(({ reason }) => reason)], ['1', ['api_key_restricted']])
})

test('codecs and applications are rights of their own', async () => {
  const { organizationId, applicationId } = deployment
  const [codecs, applications] = [await make(['codecs.write']), await make(['applications.write'])]
  const change = async (key: string, application: object) =>
    (await ask(key, 'PUT', `/api/applications/${applicationId}`, { application })).reason
  assert.equal(await change(codecs.key, { payloadCodec: 'CAYENNE_LPP' }), '')
  assert.equal(await change(codecs.key, { description: 'x' }), 'api_key_right_missing')
  assert.equal(await change(codecs.key, { payloadCodec: '', description: 'x' }), 'api_key_right_missing')
  assert.equal(await change(applications.key, { description: 'x' }), '')
  assert.equal(await change(applications.key, { payloadCodec: '' }), 'api_key_right_missing')
  const create = async (key: string, more: object) => {
    const application = { name: `made by a key ${Object.keys(more).length}`, organizationID: organizationId, ...more }
    return (await ask(key, 'POST', '/api/applications', { application })).reason
  }
  assert.equal(await create(applications.key, { payloadCodec: 'CAYENNE_LPP' }), 'api_key_right_missing')
  const restricted = await make(['applications.write'], { applicationIds: [applicationId] })
  assert.equal(await create(restricted.key, {}), 'api_key_restricted')
})

test('a key makes no member who may do more than itself, and touches none', async () => {
  const { organizationId, userIds, registry } = deployment
  const created = { isAdmin: false, isActive: true, note: '', password: 'correct horse battery' }
  const email = 'newcomer@example.org'
  const newcomer = must(await registry.users.create({ ...created, email }, { userId: null })).id
  const reading = await make(['members.write', 'events.read', 'devices.read'])
  const sending = await make(['members.write', 'events.read', 'devices.read', 'commands.send'])
  const url = `/api/organizations/${organizationId}/users`
  const add = async (key: string, roles: object) =>
    (await ask(key, 'POST', url, { organizationUser: { email, ...roles } })).reason
  assert.equal(await add(reading.key, {}), 'api_key_too_narrow')
  assert.equal(await add(sending.key, { isAdmin: true }), 'api_key_too_narrow')
  assert.equal(await add(sending.key, { isDeviceAdmin: true }), 'api_key_too_narrow')
  assert.equal(await add(reading.key, { isReadOnly: true }), '')
  const change = async (key: string, userId: string, organizationUser: object) =>
    (await ask(key, 'PUT', `${url}/${userId}`, { organizationUser })).reason
  assert.equal(await change(reading.key, newcomer, { isReadOnly: false }), 'api_key_too_narrow')
  assert.equal(await change(sending.key, newcomer, { isReadOnly: false }), '')
  assert.equal(await change(sending.key, userIds.organizationAdmin, { isAdmin: false }), 'api_key_too_narrow')
  const removed = await ask(sending.key, 'DELETE', `${url}/${userIds.organizationAdmin}`)
  assert.equal(removed.reason, 'api_key_too_narrow')
  assert.equal((await ask(sending.key, 'DELETE', `${url}/${newcomer}`)).reason, '')
})

test('endpoint 4 gives a key a token that is never wider than the key', async () => {
  const { organizationId, applicationId, devEui, registry } = deployment
  const { id, key } = await make(['events.read', 'devices.read'], { applicationIds: [applicationId] })
  const login = (token: string, more: object = {}) =>
    ask(token, 'POST', '/api/mosquitto-auth/login', { organizationId, ttlInSeconds: '60', ...more })
  const { body } = await login(key, { devEuis: [devEui] })
  const verified = must(await registry.tokens.verifyBrokerAccess(body['jwtMqttAuth'] as string))
  assert.deepEqual(verified.scope, { applicationIds: [applicationId], devEuis: [devEui], isReadOnly: true })
  assert.equal(verified.apiKeyId, id)
  for (const beyond of [
    { applicationIds: [otherApplicationId] },
    { devEuis: [OTHER_DEVICE] },
    { applicationIds: ['987654321'] },
  ]) {
    const { status, reason } = await login(key, beyond)
    assert.deepEqual([status, reason], [404, 'object_not_found'], JSON.stringify(beyond))
  }
  const foreign = await ask(key, 'POST', '/api/mosquitto-auth/login', {
    organizationId: deployment.foreignOrganizationId,
    ttlInSeconds: '60',
  })
  assert.equal(foreign.status, 404)
  assert.equal((await login((await make(['commands.send'])).key)).reason, 'api_key_right_missing')

  const stranger = await make(['events.read'])
  const [tokenId = ''] = (await listed(key, '/api/broker-tokens', 'id')) as readonly string[]
  assert.deepEqual(await listed(stranger.key, '/api/broker-tokens', 'id'), [])
  assert.equal((await ask(stranger.key, 'DELETE', `/api/broker-tokens/${tokenId}`)).status, 404)
  assert.equal((await ask(key, 'DELETE', `/api/broker-tokens/${tokenId}`)).status, 200)
})

test('the audit names the key that did it', async () => {
  const { organizationId, applicationId } = deployment
  const { id, key } = await make(['applications.write'])
  assert.equal(
    (await ask(key, 'PUT', `/api/applications/${applicationId}`, { application: { description: 'y' } })).status,
    200,
  )
  const admin = await deployment.session('organizationAdmin')
  const { body } = await ask(admin, 'GET', `/api/audit-log?organizationID=${organizationId}&limit=1`)
  const { result } = body as { result: readonly Record<string, unknown>[] }
  const { actor, actorApiKeyID, actorUserID, actorName, action } = result[0] ?? {}
  assert.deepEqual(
    { actor, actorApiKeyID, actorUserID, actorName, action },
    { actor: 'apiKey', actorApiKeyID: id, actorUserID: '', actorName: `key ${serial}`, action: 'application.updated' },
  )
})

test('a key of the deployment reaches every organization, and reads the metrics', async () => {
  const { foreignDevEui, devEui } = deployment
  const admin = await deployment.session('globalAdmin')
  const payload = { apiKey: { name: 'operations', rights: ['devices.read', 'metrics.read'] } }
  const { body } = await ask(admin, 'POST', '/api/api-keys', payload)
  const key = body['key'] as string
  for (const eui of [devEui, foreignDevEui]) assert.equal((await ask(key, 'GET', `/api/devices/${eui}`)).status, 200)
  assert.equal((await deployment.ask(key, { url: '/metrics' })).statusCode, 200)
  assert.equal((await ask(key, 'GET', '/api/users')).reason, 'api_key_not_accepted')
  const organizationKey = await make(['devices.read'])
  assert.equal((await deployment.ask(organizationKey.key, { url: '/metrics' })).statusCode, 403)
  assert.equal((await ask(admin, 'DELETE', `/api/api-keys/${organizationKey.id}`)).status, 404)
})

test('a change, a rotation and a hand-over answer as they should', async () => {
  const { organizationId, userIds } = deployment
  const admin = await deployment.session('organizationAdmin')
  const { id, key } = await make(['devices.read'], { tags: { site: 'north' } })
  const url = `/api/organizations/${organizationId}/api-keys/${id}`
  const change = async (apiKey: object) => (await ask(admin, 'PUT', url, { apiKey })).reason
  assert.equal(await change({ isUnrestricted: true, tags: { a: 'b' } }), 'invalid_argument')
  assert.equal(await change({ expiresAt: 'tomorrow' }), 'invalid_argument')
  assert.equal(await change({ rights: [] }), 'invalid_argument')
  assert.equal(await change({ rights: ['metrics.read'] }), 'api_key_rights_invalid')
  assert.equal(await change({ isUnrestricted: true, expiresAt: null }), '')
  assert.equal((await listed(key, '/api/devices', 'devEUI')).includes(OTHER_DEVICE), true)
  const { body } = await ask(admin, 'POST', `${url}/rotate`, { overlapSeconds: 0 })
  assert.equal((await ask(key, 'GET', '/api/devices')).reason, 'api_key_wrong')
  assert.equal((await ask(body['key'] as string, 'GET', '/api/devices')).status, 200)
  const over = await ask(admin, 'POST', `${url}/hand-over`, { userID: userIds.member })
  assert.deepEqual([over.status, over.reason], [400, 'api_key_maker'])
})

test('a restricted key reads the stored events of what it reaches alone', async () => {
  const { devEui } = deployment
  const { key } = await make(['events.read'], { devEuis: [devEui] })
  assert.equal((await ask(key, 'GET', `/api/devices/${devEui}/events`)).status, 200)
  assert.equal((await ask(key, 'GET', `/api/devices/${OTHER_DEVICE}/events`)).status, 404)
  assert.equal((await ask(key, 'GET', `/api/applications/${otherApplicationId}/events`)).status, 404)
})
