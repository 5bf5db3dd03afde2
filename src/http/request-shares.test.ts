import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import { writeApiKey } from '../identity/tokens/api-key-text.ts'
import { must, newApplication, openTestDeployment } from './broker-access/deployment.testing.ts'
import type { TestDeployment } from './broker-access/deployment.testing.ts'
import { RequestShares } from './shares/request-shares.ts'

/** The clock of the shares stands still, so that a request over a rate waits until it is moved. */
let clock: TestClock
let shares: RequestShares
let deployment: TestDeployment

beforeEach(async () => {
  clock = new TestClock()
  shares = new RequestShares(clock, {
    organization: () => 1,
    networkServer: () => 1,
    person: () => 1,
    globalAdmin: () => 1,
    network: () => 1,
  })
  // No turn takes time: whatever waits, waits for its share.
  deployment = await openTestDeployment({ shares, turns: { run: (_payer, slice) => slice() } })
})

afterEach(async () => {
  // Ends the waits: the server closes when all requests have been answered.
  clock.advance(1000)
  await deployment.close()
})

type Asking = readonly [token: string | undefined, url: string, address?: string]

/** The status of the answer; undefined where the request waits. */
async function statusOf([token, url, remoteAddress = '203.0.113.7']: Asking): Promise<number | undefined> {
  const answer = deployment.ask(token, { method: 'GET', url, remoteAddress })
  return (await Promise.race([answer, someTurns()]))?.statusCode
}

async function someTurns(): Promise<undefined> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Sends the request until it waits; returns how many were answered. */
async function answeredOf(asking: Asking): Promise<number> {
  for (let answered = 0; answered < 20; answered += 1) {
    if ((await statusOf(asking)) === undefined) return answered
  }
  return 20
}

test('requests about an organization count to it, whoever of its members sends them', async () => {
  const { organizationId, applicationId, devEui, foreignOrganizationId } = deployment
  const member = await deployment.session('member')
  const urls = [
    `/api/organizations/${organizationId}`,
    `/api/applications/${applicationId}`,
    `/api/devices/${devEui}`,
    `/api/devices/${devEui}/events`,
    `/api/applications/${applicationId}/events`,
    `/api/devices/${devEui}/queue`,
    `/api/devices?organizationID=${organizationId}`,
    `/api/devices?applicationID=${applicationId}`,
    '/api/devices',
    '/api/internal/profile',
  ]
  for (const url of urls) assert.equal(await statusOf([member, url]), 200, url)
  const admin = await deployment.session('organizationAdmin')
  for (const url of urls) assert.equal(await statusOf([admin, url]), undefined, url)
  const stranger = await deployment.session('stranger')
  assert.equal(await statusOf([stranger, `/api/organizations/${foreignOrganizationId}`]), 200)
  const globalAdmin = await deployment.session('globalAdmin')
  assert.equal(await statusOf([globalAdmin, `/api/organizations/${organizationId}`]), 200)
  assert.equal(shares.requestsPerSecondOf(organizationId) >= 1, true)
})

test('over its share, an organization gets 429 with Retry-After, and others do not', async () => {
  const { organizationId, foreignOrganizationId } = deployment
  const session = await deployment.session('member')
  const url = `/api/organizations/${organizationId}`
  for (let request = 0; request < 11; request += 1) void statusOf([session, url])
  await statusOf([session, url])
  const refused = deployment.ask(session, { method: 'GET', url })
  await statusOf([session, url])
  clock.advance(1000)
  const answer = await refused
  assert.equal(answer.statusCode, 429)
  assert.equal(answer.headers['retry-after'], '1')
  const { code, details } = answer.json<{ code: number; details: unknown }>()
  assert.deepEqual([code, details], [8, [{ reason: 'too_many_requests' }]])
  assert.equal(
    await statusOf([await deployment.session('stranger'), `/api/organizations/${foreignOrganizationId}`]),
    200,
  )
})

test('a member of two organizations uses the share of the organization for which it asks', async () => {
  const { organizationId, foreignOrganizationId, userIds, registry } = deployment
  const roles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false }
  const session = await deployment.session('stranger')
  must(await registry.members.add(organizationId, userIds.stranger, roles, { userId: null }))
  assert.equal(await answeredOf([session, `/api/organizations/${foreignOrganizationId}`]), 10)
  assert.equal(await answeredOf([session, '/api/internal/profile']), 10, 'it is about no organization')
  assert.equal(await answeredOf([await deployment.session('member'), `/api/organizations/${organizationId}`]), 10)
  must(await registry.members.remove(organizationId, userIds.stranger, { userId: null }))
  assert.equal(await answeredOf([session, '/api/internal/profile']), 0, 'now it is a request of its one organization')
})

test('requests for made-up ids, and for things of others, count to their sender', async () => {
  const { foreignOrganizationId, foreignDevEui } = deployment
  const session = await deployment.session('member')
  for (let id = 0; id < 5; id += 1) assert.equal(await statusOf([session, `/api/organizations/${1000 + id}`]), 404)
  for (let id = 0; id < 5; id += 1) assert.equal(await statusOf([session, `/api/devices/${foreignDevEui}`]), 404)
  assert.equal(await statusOf([session, `/api/organizations/${foreignOrganizationId}`]), undefined)
  assert.equal(await answeredOf([await deployment.session('stranger'), `/api/devices/${foreignDevEui}`]), 10)
})

test('requests without a good credential count to their address, and are slowed down alone', async () => {
  const member = await deployment.session('member')
  const address = '2001:db8::1'
  const health = '/api/internal/health/live'
  for (let request = 0; request < 5; request += 1) assert.equal(await statusOf([undefined, health, address]), 200)
  for (let request = 0; request < 4; request += 1)
    assert.equal(await statusOf(['made.up.token', '/api/devices', '2001:db8::2']), 401)
  assert.equal(await statusOf([undefined, '/no-such-path', '2001:db8::3']), 404)
  const waiting = deployment.ask(undefined, { method: 'GET', url: health, remoteAddress: address })
  assert.equal(await statusOf([undefined, '/no-such-path', address]), undefined)
  assert.equal(await statusOf([undefined, health, '2001:db8:0:1::1']), 200)
  assert.equal(await statusOf([member, '/api/devices', address]), 200, 'a good credential does not wait')
  clock.advance(1000)
  assert.equal((await waiting).statusCode, 200)
})

test('requests with a wrong API key count to their address, those with a good one to their organization', async () => {
  const { registry, organizationId, userIds } = deployment
  const fields = { name: 'shares', rights: ['devices.read'], scope: undefined, expiresAtMs: null } as const
  const owner = { organizationId, makerUserId: userIds.organizationAdmin }
  const { id, key } = must(await registry.apiKeys.create({ ...fields, ...owner }, { userId: null }))
  const wrong = writeApiKey({ id, secret: 'A'.repeat(43) })
  const address = '2001:db8:0:7::1'
  assert.equal(await answeredOf([wrong, '/api/devices', address]), 10)
  assert.equal(await statusOf([wrong, '/api/devices', address]), undefined, 'it waits')
  assert.equal(await answeredOf([key, '/api/devices', address]), 10)
  assert.equal(await answeredOf([await deployment.session('member'), `/api/organizations/${organizationId}`]), 0)
})

test('metrics are bounded by nothing but their credential', async () => {
  for (let request = 0; request < 30; request += 1) {
    assert.equal(await statusOf([undefined, '/metrics', '127.0.0.1']), 200)
  }
})

test('an organization has two imports at the same time, and other organizations have theirs', async () => {
  const { applicationId, foreignApplicationId } = deployment
  const other = await newApplication(deployment.registry, deployment.organizationId, 'pumps')
  const rows = Array.from({ length: 2000 }, (_, row) => (0xcc00000000000000n + BigInt(row)).toString(16))
  const send = async (token: string, application: string) =>
    deployment.ask(token, {
      method: 'POST',
      url: `/api/devices/import?dryRun=true&applicationID=${application}`,
      headers: { 'content-type': 'text/csv' },
      payload: `devEui\n${rows.join('\n')}\n`,
    })
  const admin = await deployment.session('organizationAdmin')
  const stranger = await deployment.session('stranger')
  const answers = await Promise.all([
    send(admin, applicationId),
    send(admin, other),
    send(admin, applicationId),
    send(stranger, foreignApplicationId),
  ])
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [200, 200, 429, 200],
  )
  const [, , refused] = answers
  assert.deepEqual(refused?.json<{ details: unknown }>().details, [{ reason: 'import_busy' }])
})
