import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { openTestDeployment, PASSWORD } from './broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from './broker-access/deployment.testing.ts'

let deployment: TestDeployment

beforeEach(async () => {
  deployment = await openTestDeployment()
})

afterEach(async () => {
  await deployment.close()
})

async function send(person: Person, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
  const answer = await deployment.ask(await deployment.session(person), {
    method,
    url,
    ...(payload === undefined ? {} : { payload }),
  })
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() }
}

const at = '2026-01-15T12:00:00.000Z'

test('a deployment is set up by HTTP alone', async () => {
  const organization = await send('globalAdmin', 'POST', '/api/organizations', {
    organization: { name: 'nova', displayName: 'Nova', canHaveGateways: false },
  })
  const organizationID = String(organization.body.id)
  const user = await send('globalAdmin', 'POST', '/api/users', {
    user: { email: 'nova-admin@example.org', isActive: true },
    password: PASSWORD,
    organizations: [{ organizationID, isAdmin: true }],
  })
  assert.deepEqual(user.status, 200)
  const login = await deployment.ask(undefined, {
    method: 'POST',
    url: '/api/internal/login',
    payload: { username: 'nova-admin@example.org', password: PASSWORD },
  })
  const session = login.json<{ jwt: string }>().jwt
  const post = async (url: string, payload: object) =>
    (await deployment.ask(session, { method: 'POST', url, payload })).json<Record<string, string>>()
  const application = await post('/api/applications', {
    application: { name: 'pipes', description: 'x', organizationID, payloadCodec: 'CAYENNE_LPP' },
  })
  const device = await post('/api/devices', {
    device: { devEUI: '0xAABBCCDDEEFF0011', name: 'pipe 1', applicationID: application.id, tags: { floor: '3' } },
  })
  assert.deepEqual(device, { devEUI: 'aabbccddeeff0011' })
  const credential = await post('/api/service-credentials', { serviceCredential: { name: 'gateway', organizationID } })
  assert.deepEqual(Object.keys(credential), ['id', 'userName', 'password'])
  const token = await post('/api/mosquitto-auth/login', { organizationId: organizationID })
  assert.ok(token.jwtMqttAuth)
})

test('an organization reads and changes in the shapes of the API family', async () => {
  const url = `/api/organizations/${deployment.organizationId}`
  deployment.clock.advance(1000)
  assert.deepEqual((await send('organizationAdmin', 'PUT', url, { organization: { displayName: 'Acme!' } })).body, {})
  assert.deepEqual((await send('member', 'GET', url)).body, {
    organization: { id: deployment.organizationId, name: 'acme', displayName: 'Acme!', canHaveGateways: true },
    createdAt: at,
    updatedAt: '2026-01-15T12:00:01.000Z',
  })
})

test('an organization’s admin can’t change what a global admin governs', async () => {
  const url = `/api/organizations/${deployment.organizationId}`
  for (const organization of [{ name: 'other' }, { canHaveGateways: false }]) {
    assert.equal((await send('organizationAdmin', 'PUT', url, { organization })).status, 403)
  }
  const same = { organization: { name: 'acme', canHaveGateways: true } }
  assert.equal((await send('organizationAdmin', 'PUT', url, same)).status, 200)
})

test('nobody can raise the own roles', async () => {
  const { organizationId, userIds } = deployment
  const url = `/api/organizations/${organizationId}/users`
  for (const person of ['member', 'deviceAdmin'] as const) {
    const organizationUser = { isAdmin: true, isDeviceAdmin: true }
    assert.equal((await send(person, 'PUT', `${url}/${userIds[person]}`, { organizationUser })).status, 403)
    assert.equal((await send(person, 'PUT', `/api/users/${userIds[person]}`, { user: { isAdmin: true } })).status, 403)
    const admin = { email: `${person}2@example.org`, isAdmin: true }
    assert.equal((await send(person, 'POST', '/api/users', { user: admin, password: PASSWORD })).status, 403)
  }
})

test('members a body must not have are ignored, not obeyed', async () => {
  const { organizationId, foreignOrganizationId, devEui, applicationId } = deployment
  await send('organizationAdmin', 'PUT', `/api/devices/${devEui}`, {
    device: { devEUI: 'ffffffffffffffff', organizationID: foreignOrganizationId, lastSeenAt: at, name: 'renamed' },
    organizationID: foreignOrganizationId,
  })
  const { body } = await send('member', 'GET', `/api/devices/${devEui}`)
  assert.equal(body.organizationID, organizationId)
  assert.equal(body.lastSeenAt, null)
  assert.deepEqual(body.device, {
    devEUI: devEui,
    name: 'renamed',
    applicationID: applicationId,
    description: '',
    deviceProfileID: '',
    deviceProfileName: '',
    tags: {},
    variables: {},
    isDisabled: false,
  })
})

test('an application stays with its organization', async () => {
  const { applicationId, organizationId, foreignOrganizationId } = deployment
  const url = `/api/applications/${applicationId}`
  const moved = await send('organizationAdmin', 'PUT', url, {
    application: { organizationID: foreignOrganizationId, name: 'taken along' },
  })
  assert.equal(moved.status, 400)
  const kept = await send('organizationAdmin', 'PUT', url, {
    application: {
      organizationID: Number(organizationId),
      description: 'new',
      eventShape: 'NORMALIZED',
      retainsLastEvents: true,
    },
  })
  assert.equal(kept.status, 200)
  const wrong = await send('organizationAdmin', 'PUT', url, { application: { eventShape: 'V5' } })
  assert.deepEqual(
    [wrong.status, (wrong.body as { message: string }).message],
    [400, 'application.eventShape: must be "", "V3", "V4" or "NORMALIZED"'],
  )
  assert.deepEqual((await send('member', 'GET', url)).body, {
    application: {
      id: applicationId,
      name: 'meters',
      description: 'new',
      organizationID: organizationId,
      serviceProfileID: 'profile-1',
      serviceProfileName: 'Profile 1',
      payloadCodec: '',
      payloadEncoderScript: '',
      payloadDecoderScript: '',
      eventShape: 'NORMALIZED',
      objectCommands: '',
      retainsLastEvents: true,
    },
    createdAt: at,
    updatedAt: at,
  })
})

test('a device can’t be moved to or created in another organization’s application', async () => {
  const { devEui, foreignApplicationId, foreignDevEui } = deployment
  for (const applicationID of [foreignApplicationId, '987654']) {
    const moved = await send('organizationAdmin', 'PUT', `/api/devices/${devEui}`, { device: { applicationID } })
    const created = await send('organizationAdmin', 'POST', '/api/devices', {
      device: { devEUI: '1111111111111111', name: 'x', applicationID },
    })
    for (const { status, body } of [moved, created]) {
      assert.equal(status, 404)
      assert.equal(body.message, 'object does not exist')
    }
  }
  const stranger = await send('organizationAdmin', 'DELETE', `/api/devices/${foreignDevEui}`)
  assert.equal(stranger.status, 404)
  assert.ok(await deployment.registry.devices.get(foreignDevEui))
})

test('a DevEUI that is taken answers the text that clients match on', async () => {
  const device = { devEUI: deployment.devEui, name: 'again', applicationID: deployment.applicationId }
  const { status, body } = await send('deviceAdmin', 'POST', '/api/devices', { device })
  assert.deepEqual([status, body.code, body.message], [409, 6, 'object already exists'])
})

test('lists of devices show what belongs to the caller’s organizations, and are searched', async () => {
  const { devEui, applicationId, organizationId } = deployment
  const all = await send('member', 'GET', '/api/devices')
  assert.deepEqual(all.body, {
    totalCount: '1',
    result: [
      {
        devEUI: devEui,
        name: `device ${devEui}`,
        applicationID: applicationId,
        organizationID: organizationId,
        description: '',
        deviceProfileID: '',
        deviceProfileName: '',
        isDisabled: false,
        state: 'NEVER_HEARD',
        stateSince: null,
        lowBattery: false,
        weakSignal: false,
        losingFrames: false,
        intervalSeconds: null,
        lossPercent: null,
        rssi: null,
        snr: null,
        deviceStatusBatteryLevel: null,
        deviceStatusMargin: null,
        lastSeenAt: null,
        createdAt: at,
        updatedAt: at,
      },
    ],
  })
  const count = async (query: string) => (await send('member', 'GET', `/api/devices?${query}`)).body.totalCount
  assert.deepEqual(
    [await count('state=NEVER_HEARD&orderBy=battery'), await count('state=SILENT'), await count('flag=weakSignal')],
    ['1', '0', '0'],
  )
  assert.equal((await send('member', 'GET', '/api/devices?orderBy=colour')).status, 400)
  assert.equal((await send('globalAdmin', 'GET', '/api/devices')).body.totalCount, '2')
  assert.equal((await send('member', 'GET', `/api/devices?search=${devEui.slice(0, 8)}`)).body.totalCount, '1')
  assert.equal((await send('member', 'GET', '/api/devices?search=%25')).body.totalCount, '0')
})

test('members are added by email, by id only by a global admin', async () => {
  const { organizationId, userIds } = deployment
  const url = `/api/organizations/${organizationId}/users`
  const byId = { organizationUser: { userID: userIds.stranger } }
  assert.equal((await send('organizationAdmin', 'POST', url, byId)).status, 403)
  const byEmail = { organizationUser: { email: 'STRANGER@example.org', isDeviceAdmin: true } }
  assert.equal((await send('organizationAdmin', 'POST', url, byEmail)).status, 200)
  assert.equal((await send('organizationAdmin', 'POST', url, byEmail)).status, 409)
  const { body } = await send('member', 'GET', `${url}/${userIds.stranger}`)
  assert.deepEqual(body, {
    organizationUser: {
      userID: userIds.stranger,
      username: 'stranger@example.org',
      email: 'stranger@example.org',
      isAdmin: false,
      isDeviceAdmin: true,
      isGatewayAdmin: false,
      isReadOnly: false,
    },
    createdAt: at,
    updatedAt: at,
  })
  assert.equal((await send('globalAdmin', 'POST', url, { organizationUser: { userID: '999' } })).status, 404)
})

test('a credential for the whole deployment is a global admin’s, and only "" asks for one', async () => {
  const create = (person: Person, organizationID: unknown) =>
    send(person, 'POST', '/api/service-credentials', { serviceCredential: { name: 'ns', organizationID } })
  assert.equal((await create('organizationAdmin', '')).status, 403)
  assert.equal((await create('globalAdmin', 0)).status, 404)
  assert.equal((await create('globalAdmin', null)).status, 400)
  assert.equal((await create('globalAdmin', '')).status, 200)
  const own = await create('organizationAdmin', deployment.organizationId)
  assert.match(String(own.body.userName), /^network-server-/)
  const listed = await send(
    'organizationAdmin',
    'GET',
    `/api/service-credentials?organizationID=${deployment.organizationId}`,
  )
  assert.equal(listed.body.totalCount, '1')
  assert.deepEqual(Object.keys((listed.body.result as object[])[0] ?? {}), [
    'id',
    'name',
    'userName',
    'organizationID',
    'createdAt',
  ])
  assert.equal((await send('globalAdmin', 'GET', '/api/service-credentials')).body.totalCount, '2')
})

test('broker-access tokens are listed and revoked, and a revoked one is worth nothing', async () => {
  const { organizationId, devEui } = deployment
  const issued = await send('member', 'POST', '/api/mosquitto-auth/login', { organizationId, ttlInSeconds: '60' })
  const own = await send('member', 'GET', '/api/broker-tokens')
  const [item] = own.body.result as { id: string }[]
  assert.deepEqual(item, {
    id: item?.id,
    userID: deployment.userIds.member,
    organizationID: organizationId,
    issuedAt: at,
    expiresAt: '2026-01-15T12:01:00.000Z',
    lastUsedAt: null,
    apiKeyID: '',
    scope: null,
    connections: 0,
    lastRefusal: null,
  })
  const listed = `/api/broker-tokens?organizationID=${organizationId}`
  assert.equal((await send('deviceAdmin', 'GET', listed)).body.totalCount, '0')
  assert.equal((await send('organizationAdmin', 'GET', listed)).body.totalCount, '1')
  assert.equal((await send('organizationAdmin', 'DELETE', `/api/broker-tokens/${item?.id}`)).status, 200)
  const url = `/api/mosquitto-auth/send-command?devEui=${devEui}&organizationId=${organizationId}`
  const used = await deployment.ask(String(issued.body.jwtMqttAuth), { method: 'GET', url })
  assert.equal(used.statusCode, 401)
  assert.deepEqual(used.json<{ details: unknown }>().details, [{ reason: 'token_revoked' }])
})

test('a user reads the own entry, without the admins’ note, and nobody else’s', async () => {
  const { userIds } = deployment
  await send('globalAdmin', 'PUT', `/api/users/${userIds.member}`, { user: { note: 'pays late' } })
  const own = await send('member', 'GET', `/api/users/${userIds.member}`)
  assert.equal((own.body.user as { note: string }).note, '')
  assert.equal((await send('member', 'GET', `/api/users/${userIds.deviceAdmin}`)).status, 404)
  const admins = await send('globalAdmin', 'GET', `/api/users/${userIds.member}`)
  assert.equal((admins.body.user as { note: string }).note, 'pays late')
})

test('the last global admin can’t be removed', async () => {
  const { status, body } = await send('globalAdmin', 'DELETE', `/api/users/${deployment.userIds.globalAdmin}`)
  assert.equal(status, 400)
  assert.equal(body.code, 9)
  assert.deepEqual(body.details, [{ reason: 'last_admin' }])
})

test('the audit log tells an organization’s admin who did what, and nothing of others', async () => {
  await send('organizationAdmin', 'DELETE', `/api/devices/${deployment.devEui}`)
  const { body } = await send(
    'organizationAdmin',
    'GET',
    `/api/audit-log?organizationID=${deployment.organizationId}&limit=1`,
  )
  const [entry] = body.result as { actorUserID: string; organizationID: string; subject: string }[]
  assert.equal(entry?.actorUserID, deployment.userIds.organizationAdmin)
  assert.equal(entry?.organizationID, deployment.organizationId)
  assert.equal(entry?.subject, deployment.devEui)
  assert.equal((await send('organizationAdmin', 'GET', '/api/audit-log')).status, 403)
})

test('public keys carry nothing private', async () => {
  for (const url of ['/api/internal/jwks', '/.well-known/jwks.json']) {
    const { keys } = (await deployment.ask(undefined, { method: 'GET', url })).json<{ keys: object[] }>()
    assert.equal(keys.length, 1)
    assert.deepEqual(Object.keys(keys[0] ?? {}).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  }
})
