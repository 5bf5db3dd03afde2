import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { ROUTE_CASES } from './access-matrix.testing.ts'
import type { RouteCase, Targets } from './access-matrix.testing.ts'
import { openTestDeployment } from './broker-access/deployment.testing.ts'
import type { TestDeployment } from './broker-access/deployment.testing.ts'

let deployment: TestDeployment
let session: string
let targets: Targets
let sent = 0

before(async () => {
  deployment = await openTestDeployment()
  // The most powerful caller: nothing is refused for want of permission before it is looked at.
  session = await deployment.session('globalAdmin')
  const { organizationId, applicationId, devEui, userIds } = deployment
  targets = {
    brokerToken: 'unknown',
    organizationId,
    applicationId,
    devEui,
    userId: userIds.stranger,
    tokenId: '1',
    credentialId: '1',
    metricsTokenId: '1',
    apiKeyId: '1',
    connectionId: '1',
    webhookId: '1',
    profileId: '1',
    registrationRuleId: '1',
    libraryProfileId: '1',
  }
})

after(async () => {
  await deployment.close()
})

/** Values that no member of any body asks for, or that have broken somebody's server. */
const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e308,
  2 ** 53 + 2,
  '',
  '0',
  '-1',
  'NaN',
  '1'.repeat(30),
  'x'.repeat(5000),
  '\0',
  '\uD800',
  '‮evil',
  "'; DROP TABLE users; --",
  '%00%n%s',
  '../../etc/passwd',
  '${jndi:ldap://x}',
  [],
  [[[[[[]]]]]],
  {},
  { toString: 'x', valueOf: null, length: -1 },
  { $gt: '' },
]

const BODIES: readonly (string | Buffer)[] = [
  '',
  '{',
  'null',
  '[]',
  '0',
  '"text"',
  '{"a":1}}',
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"isAdmin":true}}}',
  '['.repeat(20_000),
  `{"a":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
  Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from('\uFEFF{}'),
  Buffer.alloc(1024 * 1024 + 1, ' '),
]

const QUERIES = [
  'limit=-1&offset=-1',
  'limit=99999999999999999999',
  'limit=%00',
  'limit[]=1&limit[a]=2',
  'offset=1e9',
  'search=%FF%FE',
  'search=%ED%A0%80',
  'search=%00%25_',
  `search=${'a'.repeat(5000)}`,
  'organizationID=-1&organizationId=-1&applicationID=-1&applicationId=-1&devEui=-1',
  'organizationID=1&organizationID=2&organizationId=1&organizationId=2',
  '__proto__[isAdmin]=true&constructor=1&hasOwnProperty=1&toString=1',
  'dryRun=maybe',
  'tokenID=%00&tokenID=../..',
  'from=%00&to=now()&after=-1--1&order[]=newest',
  'kind=up&kind=__proto__&kind[]=1',
  `kind=${'up,'.repeat(2000)}`,
  '%',
  '&&&===;;;',
  'a=1&'.repeat(2000),
]

const CONTENT_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'x',
  '/',
  'application/json\u00e9',
]

for (const route of ROUTE_CASES.filter(({ url }) => !url.startsWith('/api/docs'))) {
  test(`${route.method} ${route.url} answers hostile input with a 4xx or does it, never with a 500`, async () => {
    for (const request of hostileRequests(route)) {
      const { statusCode, body } = await deployment.ask(session, { ...request, method: route.method })
      sent += 1
      const shown = JSON.stringify(request).slice(0, 400)
      assert.ok(statusCode < 500, `${statusCode} ${body} for ${shown}`)
      if (statusCode >= 400) assertErrorBody(body)
      // A hostile body may have changed the caller's own account, or ended its sessions.
      if (route.url.startsWith('/api/internal/') && route.method !== 'GET') {
        deployment.clock.advance(2000)
        session = await deployment.session('globalAdmin')
      }
    }
  })
}

test('paths that nobody has are answered in the one error body', async () => {
  const paths = [
    '/',
    '//',
    '/api',
    '/api/../etc/passwd',
    '/api/organizations/%2e%2e',
    '/api/organizations/%00',
    '/api/devices/%ff',
    '/api/devices/%',
    `/api/devices/${'a'.repeat(500)}`,
    `/api/users/${'9'.repeat(100)}`,
    '/api/users/__proto__',
    '/api/broker-tokens/..%2f..%2f',
    '/api/docs/..%2f..%2f..%2fpackage.json',
    '/api/docs/%2e%2e/%2e%2e/package.json',
    '/.git/config',
    '/api/organizations;limit=1',
    '/API/ORGANIZATIONS',
  ]
  for (const url of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'] as const) {
      const { statusCode, body } = await deployment.ask(session, { method, url })
      sent += 1
      assert.ok(statusCode >= 400 && statusCode < 500, `${method} ${url}: ${statusCode} ${body}`)
      assertErrorBody(body)
    }
  }
})

test('credentials of every wrong kind are a 401, never a 500', async () => {
  const [head = '', claims = '', signature = ''] = session.split('.')
  const tokens = [
    '.',
    '..',
    '...',
    'a.b.c',
    `${head}.${claims}.`,
    `${head}.${claims}.${signature.slice(0, -4)}AAAA`,
    `${head}..${signature}`,
    `${part({ alg: 'none' })}.${claims}.`,
    `${part({ alg: 'none', typ: 'JWT' })}.${claims}.${signature}`,
    `${part({ alg: 'HS256', kid: '../../dev/null' })}.${claims}.${signature}`,
    `${part({ alg: 'ES256', kid: '__proto__' })}.${claims}.${signature}`,
    `${part({ alg: 'ES256', jku: 'http://127.0.0.1/' })}.${claims}.${signature}`,
    `${part({ alg: 'ES256', crit: ['exp'] })}.${claims}.${signature}`,
    `${head}.${part({ sub: '1', exp: 1e300 })}.${signature}`,
    'A'.repeat(4000),
    'A'.repeat(9000),
  ]
  for (const token of tokens) {
    for (const { url, method, credential, request } of ROUTE_CASES) {
      if (credential === 'none') continue
      const { statusCode, body } = await deployment.ask(token, { method, ...request(targets, 1) })
      sent += 1
      assert.equal(statusCode, 401, `${method} ${url} with ${token.slice(0, 80)}`)
      assertErrorBody(body)
    }
  }
})

test('the number of hostile inputs', (context) => {
  context.diagnostic(`hostile inputs: ${sent}`)
  assert.ok(sent >= 1000)
  const failures = deployment.logLines.filter((line) => line.includes('"request.failed"'))
  assert.deepEqual(failures, [])
})

function* hostileRequests(route: RouteCase): Generator<Omit<InjectOptions, 'method'>> {
  const good = route.request(targets, 1)
  const json = { 'content-type': 'application/json' }
  const headers = { ...json, 'grpc-metadata-x-otp': '000000' }
  // In the URL itself: as an object, the query would arrive tidied up.
  const { query: _query, url, ...bare } = good
  const path = typeof url === 'string' ? url : ''
  for (const query of QUERIES) {
    yield { ...bare, url: `${path}?${query}`, headers: { ...headers, ...good.headers } }
  }
  if (route.method !== 'GET') {
    for (const payload of BODIES) yield { ...good, payload, headers }
    for (const type of CONTENT_TYPES) yield { ...good, payload: '{}', headers: { ...headers, 'content-type': type } }
    for (const payload of mutations(good.payload)) yield { ...good, payload: JSON.stringify(payload), headers }
  }
  for (const id of ['0', '-1', '9'.repeat(19), '9'.repeat(20), 'abc', '%00', '%F0%9F%92%A9', "1'--", '1%20OR%201']) {
    if (route.url.includes(':')) yield { ...good, url: route.url.replaceAll(/:[a-zA-Z]+/g, id), headers }
  }
}

/** The good body with one member, at any depth, replaced by each hostile value, or left out. */
function* mutations(payload: unknown): Generator {
  if (typeof payload !== 'object' || payload === null) return
  for (const [name, value] of Object.entries(payload)) {
    for (const hostile of VALUES) yield { ...payload, [name]: hostile }
    yield Object.fromEntries(Object.entries(payload).filter(([other]) => other !== name))
    for (const inner of mutations(value)) yield { ...payload, [name]: inner }
  }
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function assertErrorBody(body: string): void {
  const parsed = JSON.parse(body) as Record<string, unknown>
  assert.deepEqual(Object.keys(parsed), ['error', 'code', 'message', 'details'])
  assert.equal(parsed.error, parsed.message)
  assert.equal(typeof parsed.code, 'number')
  assert.ok(Array.isArray(parsed.details))
}
