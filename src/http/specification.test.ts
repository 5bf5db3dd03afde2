import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { must, newApplication, openTestDeployment, PASSWORD } from './broker-access/deployment.testing.ts'
import type { TestDeployment } from './broker-access/deployment.testing.ts'

let deployment: TestDeployment
let session: string

before(async () => {
  deployment = await openTestDeployment()
  session = await deployment.session('member')
})

after(async () => {
  await deployment.close()
})

async function get(url: string, token = session) {
  const answer = await deployment.ask(token, { method: 'GET', url })
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() }
}

async function post(url: string, payload: object, token: string | undefined = session) {
  const answer = await deployment.ask(token, { method: 'POST', url, payload })
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() }
}

function claimsOf(jwt: unknown): Record<string, number> {
  assert.ok(typeof jwt === 'string')
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as Record<string, number>
}

function lifeOf(jwt: unknown): number {
  const { exp = 0, iat = 0 } = claimsOf(jwt)
  return exp - iat
}

async function events(application: string, organization: string) {
  return get(
    `/api/mosquitto-auth/subscribe-application-events?applicationId=${application}&organizationId=${organization}`,
  )
}

async function command(devEui: string, organization: string) {
  return get(`/api/mosquitto-auth/send-command?devEui=${devEui}&organizationId=${organization}`)
}

async function statusWith(headers: Record<string, string>): Promise<number> {
  return (await deployment.ask(undefined, { method: 'GET', url: '/api/organizations', headers })).statusCode
}

function displayNames({ body }: Awaited<ReturnType<typeof get>>): string[] {
  return (body.result as { displayName: string }[]).map(({ displayName }) => displayName)
}

const refusal = (code: number, message: string, reason: string) => ({
  error: message,
  code,
  message,
  details: [{ reason }],
})

test('endpoint 1 answers a session JWT and that no second factor is needed', async () => {
  const { status, body } = await post(
    '/api/internal/login',
    { username: 'member@example.org', password: PASSWORD, unknown: [1] },
    undefined,
  )
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['jwt', 'is2faRequired'])
  assert.equal(body.is2faRequired, false)
  const profile = await get('/api/internal/profile', String(body.jwt))
  assert.equal(profile.status, 200)
})

test('endpoint 1 answers a wrong password and an unknown user alike', async () => {
  const password = 'not the password'
  const wrong = await post('/api/internal/login', { username: 'device-admin@example.org', password }, undefined)
  const unknown = await post('/api/internal/login', { username: 'nobody@example.org', password }, undefined)
  assert.equal(wrong.status, 401)
  assert.equal(wrong.body.code, 16)
  assert.deepEqual(unknown, wrong)
})

test('endpoint 2 lists the organizations of the caller with a count in digits', async () => {
  const { status, body } = await get('/api/organizations?limit=999&offset=0')
  assert.equal(status, 200)
  const createdAt = '2026-01-15T12:00:00.000Z'
  assert.deepEqual(body, {
    totalCount: '1',
    result: [
      {
        id: deployment.organizationId,
        name: 'acme',
        displayName: 'Acme Metering',
        canHaveGateways: true,
        createdAt,
        updatedAt: createdAt,
      },
    ],
  })
})

test('endpoint 2 lists everything for a global admin, sorted by displayName, and pages', async () => {
  const admin = await deployment.session('globalAdmin')
  const all = await get('/api/organizations?limit=999&offset=0', admin)
  assert.deepEqual(displayNames(all), ['Acme Metering', 'Zenith Farms'])
  const second = await get('/api/organizations?limit=1&offset=1', admin)
  assert.deepEqual(displayNames(second), ['Zenith Farms'])
  assert.equal(second.body.totalCount, '2')
  assert.deepEqual(displayNames(await get('/api/organizations?search=zenith', admin)), ['Zenith Farms'])
})

test('endpoint 3 lists the applications of an organization', async () => {
  const { status, body } = await get(
    `/api/applications?limit=999&offset=0&organizationID=${deployment.organizationId}&unknown=1`,
  )
  assert.equal(status, 200)
  assert.deepEqual(body, {
    totalCount: '1',
    result: [
      {
        id: deployment.applicationId,
        name: 'meters',
        description: 'meters of the test',
        organizationID: deployment.organizationId,
        serviceProfileID: 'profile-1',
        serviceProfileName: 'Profile 1',
      },
    ],
  })
})

test('endpoint 3 without an organization lists those of all of the caller’s organizations, sorted by name', async () => {
  const other = await newApplication(deployment.registry, deployment.organizationId, 'alarms')
  const { body } = await get('/api/applications?organizationID=')
  assert.deepEqual(
    (body.result as { name: string }[]).map(({ name }) => name),
    ['alarms', 'meters'],
  )
  must(await deployment.registry.applications.remove(other, { userId: null }))
})

test('a list without limit gives a page, and with limit=0 the count alone', async () => {
  assert.equal(((await get('/api/organizations')).body.result as unknown[]).length, 1)
  assert.deepEqual((await get('/api/organizations?limit=0')).body, { totalCount: '1', result: [] })
})

for (const query of ['limit=-1', 'limit=1001', 'limit=1.5', 'limit=ten', 'limit=', 'limit=1e2', 'limit=1&limit=2']) {
  test(`a list with ${query} is refused with the bounds`, async () => {
    const { status, body } = await get(`/api/organizations?${query}`)
    assert.equal(status, 400)
    assert.deepEqual(body, refusal(3, 'limit: must be an integer from 0 to 1000', 'invalid_argument'))
  })
}

test('an offset below 0 is refused, one beyond the end gives nothing', async () => {
  assert.equal((await get('/api/organizations?offset=-1')).status, 400)
  assert.deepEqual((await get('/api/organizations?offset=100000')).body, { totalCount: '1', result: [] })
})

test('endpoint 4 answers a broker-access JWT with the life that was asked for', async () => {
  const { organizationId } = deployment
  for (const [ttlInSeconds, life] of [
    ['3600', 3600],
    [120, 120],
    ['31557600', 31_557_600],
    ['0', 86_400],
    [0, 86_400],
    ['', 86_400],
    [undefined, 86_400],
  ] as const) {
    const { status, body } = await post('/api/mosquitto-auth/login', { organizationId, ttlInSeconds })
    assert.equal(status, 200, String(ttlInSeconds))
    assert.deepEqual(Object.keys(body), ['jwtMqttAuth'])
    assert.equal(lifeOf(body.jwtMqttAuth), life)
  }
})

test('endpoint 4 takes the organization id as a number too', async () => {
  const organizationId = Number(deployment.organizationId)
  assert.equal((await post('/api/mosquitto-auth/login', { organizationId })).status, 200)
})

for (const ttlInSeconds of ['-1', -1, 'soon', '1.5', 1.5, '31557601', 1e300, ' 60', '1e3', '0x10']) {
  test(`endpoint 4 refuses a ttlInSeconds of ${JSON.stringify(ttlInSeconds)} and names the bounds`, async () => {
    const { organizationId } = deployment
    const { status, body } = await post('/api/mosquitto-auth/login', { organizationId, ttlInSeconds })
    assert.equal(status, 400)
    const message = 'ttlInSeconds: must be a whole number from 1 to 31557600, or 0 for the default of 86400'
    assert.deepEqual(body, refusal(3, message, 'ttl_out_of_range'))
  })
}

test('endpoint 4 names the member that is wrong', async () => {
  for (const organizationId of ['', 'abc', '-1', 1.5, true, null, [], {}, '1'.repeat(40)]) {
    const { status, body } = await post('/api/mosquitto-auth/login', { organizationId })
    assert.equal(status, 400, JSON.stringify(organizationId))
    assert.deepEqual(body, refusal(3, 'organizationId: must be a string of digits', 'invalid_argument'))
  }
  const missing = await post('/api/mosquitto-auth/login', {})
  assert.deepEqual(missing.body, refusal(3, 'organizationId: is missing', 'invalid_argument'))
})

test('endpoint 5 answers one sentence with the topic of all events of the application', async () => {
  const { applicationId, organizationId } = deployment
  const { body } = await get(
    `/api/mosquitto-auth/subscribe-application-events?applicationId=${applicationId}&organizationId=${organizationId}`,
  )
  assert.deepEqual(body, {
    topic: `Topic for subscribing to application ${applicationId}: 'application/${applicationId}/device/+/event/+'`,
  })
})

test('endpoint 6 answers eight sentences in the order of the specification', async () => {
  const { applicationId, organizationId, devEui } = deployment
  const { body } = await get(
    `/api/mosquitto-auth/subscribe-device-events?devEui=${devEui}&organizationId=${organizationId}`,
  )
  const stem = `application/${applicationId}/device/${devEui}/event`
  assert.deepEqual(body, {
    topic: [
      `Topic for subscribing to device ${devEui} on event up: '${stem}/up'`,
      `Topic for subscribing to device ${devEui} on event join: '${stem}/join'`,
      `Topic for subscribing to device ${devEui} on event ack: '${stem}/ack'`,
      `Topic for subscribing to device ${devEui} on event error: '${stem}/error'`,
      `Topic for subscribing to device ${devEui} on event status: '${stem}/status'`,
      `Topic for subscribing to device ${devEui} on event location: '${stem}/location'`,
      `Topic for subscribing to device ${devEui} on event txack: '${stem}/txack'`,
      `Topic for subscribing to device ${devEui} on all events: '${stem}/+'`,
    ],
  })
})

test('endpoint 7 answers one sentence with the topic of commands', async () => {
  const { applicationId, organizationId, devEui } = deployment
  const { body } = await get(`/api/mosquitto-auth/send-command?devEui=${devEui}&organizationId=${organizationId}`)
  assert.deepEqual(body, {
    topic: `Topic for publishing to device ${devEui}: 'application/${applicationId}/device/${devEui}/command/down'`,
  })
})

test('a DevEUI is taken in any case and with 0x, and written in lower case', async () => {
  const { organizationId, registry, applicationId } = deployment
  const device = { devEui: 'ABCDEF0123456789', name: 'upper', applicationId }
  must(await registry.devices.create(device, { userId: null }))
  for (const devEui of ['ABCDEF0123456789', 'abcdef0123456789', '0xABCDEF0123456789', '0XabCDEF0123456789']) {
    const { body } = await get(`/api/mosquitto-auth/send-command?devEui=${devEui}&organizationId=${organizationId}`)
    assert.match(String(body.topic), /device abcdef0123456789: 'application\/[0-9]+\/device\/abcdef0123456789\//)
  }
})

for (const devEui of ['', '01', '010101010101010g', '01010101010101011', '+', '01-01-01-01-01-01-01-01', "' OR 1=1"]) {
  test(`${JSON.stringify(devEui)} is no DevEUI`, async () => {
    const query = new URLSearchParams({ devEui, organizationId: deployment.organizationId })
    const { status, body } = await get(`/api/mosquitto-auth/send-command?${query.toString()}`)
    assert.equal(status, 400)
    assert.deepEqual(body, refusal(3, 'devEui: must be 16 hexadecimal digits', 'invalid_argument'))
  })
}

test('endpoints 5 to 7 take a broker-access token, for its own organization alone', async () => {
  const { organizationId, foreignOrganizationId, devEui, foreignDevEui, userIds, registry } = deployment
  // A global admin's token: the person may see both organizations, the token only one.
  const access = must(
    await registry.tokens.issueBrokerAccess({ userId: userIds.globalAdmin, organizationId, ttlSeconds: 60 }),
  )
  const ask = async (eui: string, organization: string) =>
    get(`/api/mosquitto-auth/send-command?devEui=${eui}&organizationId=${organization}`, access.jwt)
  assert.equal((await ask(devEui, organizationId)).status, 200)
  assert.deepEqual((await ask(foreignDevEui, foreignOrganizationId)).status, 404)
  assert.deepEqual((await ask(foreignDevEui, organizationId)).status, 404)
})

test('a broker-access token of somebody who is no member any more is refused', async () => {
  const { organizationId, devEui, registry } = deployment
  const email = 'leaver@example.org'
  const fields = { email, isAdmin: false, isActive: true, note: '', password: PASSWORD }
  const { id: userId } = must(await registry.users.create(fields, { userId: null }))
  const roles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false }
  must(await registry.members.add(organizationId, userId, roles, { userId: null }))
  const { jwt } = must(await registry.tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 60 }))
  const url = `/api/mosquitto-auth/send-command?devEui=${devEui}&organizationId=${organizationId}`
  assert.equal((await get(url, jwt)).status, 200)
  must(await registry.members.remove(organizationId, userId, { userId: null }))
  assert.ok([401, 403].includes((await get(url, jwt)).status))
})

test('an application or device of another organization answers like an unknown one, whatever is combined', async () => {
  const { organizationId, foreignOrganizationId, applicationId, foreignApplicationId, devEui, foreignDevEui } =
    deployment
  const unknown = { status: 404, body: refusal(5, 'object does not exist', 'object_not_found') }
  const answers = await Promise.all([
    events('999999', organizationId),
    events(foreignApplicationId, organizationId),
    events(foreignApplicationId, foreignOrganizationId),
    events(applicationId, foreignOrganizationId),
    events(applicationId, '999999'),
    command('ffffffffffffffff', organizationId),
    command(foreignDevEui, organizationId),
    command(foreignDevEui, foreignOrganizationId),
    command(devEui, foreignOrganizationId),
    command(devEui, '999999'),
  ])
  for (const answer of answers) assert.deepEqual(answer, unknown)
})

test('the bearer token is taken from either header, in any case of the scheme, Grpc-Metadata first', async () => {
  assert.equal(await statusWith({ authorization: `Bearer ${session}` }), 200)
  assert.equal(await statusWith({ 'Grpc-Metadata-Authorization': `bearer ${session}` }), 200)
  assert.equal(await statusWith({ 'Grpc-Metadata-Authorization': `BEARER  ${session} ` }), 200)
  assert.equal(await statusWith({ authorization: 'Bearer x', 'grpc-metadata-authorization': `Bearer ${session}` }), 200)
  assert.equal(await statusWith({ authorization: `Bearer ${session}`, 'grpc-metadata-authorization': 'Bearer x' }), 401)
  assert.equal(await statusWith({ authorization: session }), 401)
  assert.equal(await statusWith({ authorization: `Basic ${session}` }), 401)
  assert.equal(await statusWith({ authorization: `Bearer ${session}, Bearer ${session}` }), 401)
})

test('a 401 carries a challenge and names the reason', async () => {
  const answer = await deployment.ask(undefined, { method: 'GET', url: '/api/organizations' })
  assert.equal(answer.headers['www-authenticate'], 'Bearer realm="fieldgate"')
  assert.deepEqual(answer.json(), refusal(16, 'a bearer token is missing', 'token_missing'))
})
