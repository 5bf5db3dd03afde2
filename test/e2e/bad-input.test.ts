/**
 * Bad input over the real socket gets a clear 4xx in the one error body, never a 500, and nothing
 * is half written.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Administration, PASSWORD } from '../support/administration.ts'
import { textIn } from '../support/https-client.ts'
import type { HttpAnswer, HttpQuestion } from '../support/https-client.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let service: RunningService
let administration: Administration
let organizationId: string
let applicationId: string
let devEui: string
/** An admin of the organization. */
let session: string

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  devEui = await administration.device(applicationId)
  session = (await administration.person([{ organizationId, isAdmin: true }])).session
})

after(async () => {
  await service.stop()
})

/** The number of changes so far: every change leaves an entry in the audit log. */
async function written(): Promise<string> {
  return textIn(await administration.must('GET', '/api/audit-log?limit=0'), 'totalCount')
}

const TOO_LARGE = [413]
/** Endpoints that take vendors' scripts, and so bodies of four megabytes. */
const WITH_SCRIPTS = /^\/api\/(?:applications(?:\/[^/]+(?:\/codec\/test)?)?|device-profiles(?:\/[^/]+(?:\/test)?)?)$/

function assertRefused({ status, headers, body, text }: HttpAnswer, expected: readonly number[], title: string): void {
  assert.ok(expected.includes(status), `${title}: ${status} ${text}`)
  assert.match(headers['content-type'] ?? '', /^application\/json/, title)
  const { error, message, code, details, ...others } = body
  assert.deepEqual(others, {}, title)
  assert.ok(
    typeof error === 'string' && error === message && error.length > 0 && error.length < 400,
    `${title}: ${text}`,
  )
  assert.ok(typeof code === 'number' && Array.isArray(details), title)
  // Answers show nothing of the service's internals.
  assert.doesNotMatch(text, /node_modules|\bat \w+ \(|sqlite|SELECT|fastify|Error:/i, title)
}

interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** A body that would be accepted. */
  readonly good: Readonly<Record<string, unknown>>
}

/** The endpoints of the specification that take a body, and the administration's. */
const withBody = (): readonly Endpoint[] => [
  { method: 'POST', path: '/api/internal/login', good: { username: 'nobody', password: 'nothing' } },
  { method: 'POST', path: '/api/mosquitto-auth/login', good: { organizationId, ttlInSeconds: '60' } },
  { method: 'POST', path: '/api/organizations', good: { organization: { name: 'bad-input' } } },
  { method: 'PUT', path: `/api/organizations/${organizationId}`, good: { organization: { name: 'bad-input' } } },
  { method: 'POST', path: `/api/organizations/${organizationId}/users`, good: { organizationUser: { email: 'x' } } },
  { method: 'POST', path: '/api/users', good: { user: { email: 'bad-input' }, password: PASSWORD } },
  { method: 'POST', path: '/api/applications', good: { application: { name: 'x', organizationID: organizationId } } },
  { method: 'PUT', path: `/api/applications/${applicationId}`, good: { application: { name: 'x' } } },
  { method: 'POST', path: '/api/devices', good: { device: { devEUI: 'a'.repeat(16), applicationID: applicationId } } },
  { method: 'PUT', path: `/api/devices/${devEui}`, good: { device: { name: 'x' } } },
  { method: 'POST', path: '/api/service-credentials', good: { serviceCredential: { name: 'x', organizationID: '' } } },
]

describe('a body', () => {
  const malformed: readonly (readonly [string, string | Buffer, readonly number[]])[] = [
    ['nothing', '', [400]],
    ['half an object', '{"a":', [400]],
    ['an object with more behind it', '{} {}', [400]],
    ['a comment', '{/* */}', [400]],
    ['single quotes', "{'a':1}", [400]],
    ['null', 'null', [400]],
    ['a list', '[]', [400]],
    ['a text', '"text"', [400]],
    ['a number', '17', [400]],
    ['bytes that are no UTF-8', Buffer.from('7b2261223a22ff227d', 'hex'), [400]],
    ['a surrogate in UTF-8', Buffer.from('7b2261223a22eda080227d', 'hex'), [400]],
    ['UTF-16', Buffer.from('\ufeff{}', 'utf16le'), [400]],
    ['the prototype of all objects', '{"__proto__":{"isAdmin":true}}', [400]],
    ['a constructor', '{"constructor":{"prototype":{"isAdmin":true}}}', [400]],
    ['a hundred thousand lists in one another', '['.repeat(100_000), [400]],
    ['two megabytes', `{"a":"${'x'.repeat(2 * 1024 * 1024)}"}`, TOO_LARGE],
  ]
  for (const [title, bytes, statuses] of malformed) {
    it(`that is ${title} is refused by every endpoint that takes one`, async () => {
      const amount = await written()
      for (const { method, path } of withBody()) {
        const answer = await service.http.ask(method, path, { token: service.adminSession, bytes })
        const isScripts = statuses === TOO_LARGE && WITH_SCRIPTS.test(path)
        assertRefused(answer, isScripts ? [400] : statuses, `${method} ${path}`)
      }
      assert.equal(await written(), amount)
    })
  }

  it('of another type than JSON is refused', async () => {
    const amount = await written()
    for (const { method, path, good } of withBody()) {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'x']) {
        const question = { token: service.adminSession, bytes: JSON.stringify(good), headers: { 'content-type': type } }
        assertRefused(await service.http.ask(method, path, question), [400, 415], `${method} ${path} as ${type}`)
      }
    }
    assert.equal(await written(), amount)
  })

  it('with a member of a wrong type, or without one that is needed, is refused by its name', async () => {
    const amount = await written()
    for (const { method, path, good } of withBody()) {
      for (const { body, member, isMissing } of spoilt(good, method === 'PUT')) {
        const answer = await service.http.ask(method, path, { token: service.adminSession, json: body })
        const title = `${method} ${path} ${JSON.stringify(body)}`
        assertRefused(answer, [400], title)
        const last = member.split('.').at(-1) ?? ''
        assert.match(textIn(answer.body, 'message'), new RegExp(last), title)
        if (isMissing) assert.match(textIn(answer.body, 'message'), /is missing|must/, title)
      }
    }
    assert.equal(await written(), amount)
  })

  it('with control characters, half characters or a text without end where a name stands is refused', async () => {
    const amount = await written()
    for (const name of ['', ' ', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(10_000), '\u2028']) {
      const bodies: readonly (readonly [string, object])[] = [
        ['/api/organizations', { organization: { name } }],
        ['/api/users', { user: { email: name }, password: PASSWORD }],
        ['/api/applications', { application: { name, organizationID: organizationId } }],
        ['/api/service-credentials', { serviceCredential: { name, organizationID: organizationId } }],
        ['/api/devices', { device: { devEUI: name, applicationID: applicationId } }],
        [`/api/organizations/${organizationId}`, { organization: { displayName: name } }],
        [`/api/devices/${devEui}`, { device: { name } }],
      ]
      for (const [path, json] of bodies) {
        const method = /\/[0-9a-f]+$/.test(path) ? 'PUT' : 'POST'
        const answer = await service.http.ask(method, path, { token: service.adminSession, json })
        assertRefused(answer, [400], `${path} ${JSON.stringify(name).slice(0, 20)}`)
      }
    }
    assert.equal(await written(), amount)
  })
})

describe('ttlInSeconds', () => {
  it('that is negative, absurd, no number or of another type is refused, and no token is made', async () => {
    const amount = await written()
    const strange = ['-1', 'abc', '1.5', '1e3', '0x10', '+60', ' 60', '60 ', '６０', '31557601', '9'.repeat(400), '-0']
    for (const ttlInSeconds of [...strange, -1, 1.5, 1e300, 31_557_601, true, null, {}, [], ['60']]) {
      const json = { organizationId, ttlInSeconds }
      const answer = await service.http.ask('POST', '/api/mosquitto-auth/login', { token: session, json })
      assertRefused(answer, [400], JSON.stringify(ttlInSeconds).slice(0, 40))
      assert.match(textIn(answer.body, 'message'), /^ttlInSeconds: /)
    }
    assert.equal(await written(), amount)
  })

  it('that is missing, empty, zero, a number or the longest there is makes a token that lives as long', async () => {
    for (const [ttlInSeconds, seconds] of [
      [undefined, 86_400],
      ['', 86_400],
      ['0', 86_400],
      [0, 86_400],
      [60, 60],
      ['31557600', 31_557_600],
    ] as const) {
      const json = { organizationId, ttlInSeconds }
      const answer = await service.http.must('POST', '/api/mosquitto-auth/login', { token: session, json })
      const [, claims = ''] = textIn(answer, 'jwtMqttAuth').split('.')
      const { iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iat: number; exp: number }
      assert.equal(exp - iat, seconds)
    }
  })
})

describe('a query', () => {
  it('whose limit or offset is negative, absurd or no integer is refused by every list', async () => {
    const lists = [
      'organizations',
      'applications',
      'devices',
      'users',
      'broker-tokens',
      'service-credentials',
      'audit-log',
    ]
    const paths = [...lists.map((name) => `/api/${name}`), `/api/organizations/${organizationId}/users`]
    const values = [
      '-1',
      '1.5',
      '1e2',
      '0x10',
      'abc',
      '',
      '%00',
      '+1',
      '1%20',
      '99999999999999999999',
      'NaN',
      '%EF%BC%91',
    ]
    for (const path of paths) {
      for (const value of [...values, '1001']) await refuses(`${path}?limit=${value}`)
      for (const value of [...values, '100000001']) await refuses(`${path}?limit=1&offset=${value}`)
      await refuses(`${path}?limit=1&limit=2`)
      await refuses(`${path}?offset=1&offset=2&limit=1`)
    }
  })

  it('whose limit and offset are at their bounds is answered', async () => {
    for (const query of ['limit=999&offset=0', 'limit=1000', 'limit=0', 'offset=100000000', 'limit=1&unknown=1']) {
      const { result, totalCount } = await service.http.must('GET', `/api/organizations?${query}`, { token: session })
      assert.ok(Array.isArray(result) && totalCount === '1', query)
    }
  })

  it('with ids and DevEUIs that can be none is refused, and with unknown ones not found', async () => {
    const base = '/api/mosquitto-auth'
    const organization = `organizationId=${organizationId}`
    for (const value of ['abc', '-1', '1.5', '99999999999999999999', "1'%20OR%201=1", '%00', '1&applicationId=1']) {
      await refuses(`${base}/subscribe-application-events?${organization}&applicationId=${value}`)
      await refuses(`/api/applications/${encodeURIComponent(value)}`, [400, 404])
    }
    for (const value of [
      '',
      'xyz',
      devEui.slice(1),
      `${devEui}0`,
      `0x0x${devEui}`,
      `${devEui}%00`,
      '%EF%BC%91'.repeat(16),
    ]) {
      await refuses(`${base}/subscribe-device-events?${organization}&devEui=${value}`)
      await refuses(`${base}/send-command?${organization}&devEui=${value}`)
    }
    for (const path of ['subscribe-device-events', 'send-command']) {
      await refuses(`${base}/${path}?${organization}`)
      await refuses(`${base}/${path}?devEui=${devEui}`)
      await refuses(`${base}/${path}?devEui=ffffffffffffffff&${organization}`, [404])
      await refuses(`${base}/${path}?devEui=${devEui}&organizationId=${'9'.repeat(19)}`, [404])
      await refuses(`${base}/${path}?devEui=${devEui}&organizationId=0`, [404])
    }
  })

  it('or a path that is no text in UTF-8 is refused', async () => {
    for (const path of ['/api/organizations?search=%FF', '/api/devices/%FF', '/api/organizations/%', '/api/%E0%A4%A']) {
      const { status } = await service.http.ask('GET', path, { token: session })
      assert.ok(status === 200 || (status >= 400 && status < 500), `${path}: ${status}`)
    }
  })
})

describe('a thing of another organization', () => {
  it('is answered by the administration word for word like what does not exist', async () => {
    const other = await administration.organization()
    const application = await administration.application(other)
    const device = await administration.device(application)
    const person = await administration.person([{ organizationId: other }])
    const { id: credential } = await administration.serviceCredential(other)
    await administration.brokerToken(person.session, other)
    const list = await administration.must('GET', `/api/broker-tokens?limit=1&organizationID=${other}`)
    const [token] = list['result'] as readonly { readonly id: string }[]
    const amount = await written()
    const unknown = '999999'
    for (const [method, foreign, missing, json] of [
      ['GET', `/api/organizations/${other}`, `/api/organizations/${unknown}`],
      ['PUT', `/api/organizations/${other}`, `/api/organizations/${unknown}`, { organization: { displayName: 'x' } }],
      ['GET', `/api/organizations/${other}/users`, `/api/organizations/${unknown}/users`],
      [
        'GET',
        `/api/organizations/${organizationId}/users/${person.id}`,
        `/api/organizations/${organizationId}/users/${unknown}`,
      ],
      ['GET', `/api/users/${person.id}`, `/api/users/${unknown}`],
      ['GET', `/api/applications/${application}`, `/api/applications/${unknown}`],
      ['PUT', `/api/applications/${application}`, `/api/applications/${unknown}`, { application: { name: 'x' } }],
      ['DELETE', `/api/applications/${application}`, `/api/applications/${unknown}`],
      ['GET', `/api/devices/${device}`, '/api/devices/ffffffffffffffff'],
      ['PUT', `/api/devices/${device}`, '/api/devices/ffffffffffffffff', { device: { name: 'x' } }],
      ['DELETE', `/api/devices/${device}`, '/api/devices/ffffffffffffffff'],
      ['GET', `/api/devices?applicationID=${application}`, `/api/devices?applicationID=${unknown}`],
      ['DELETE', `/api/broker-tokens/${token?.id}`, '/api/broker-tokens/00000000-0000-0000-0000-000000000000'],
      [
        'DELETE',
        `/api/service-credentials/${credential}`,
        '/api/service-credentials/00000000-0000-0000-0000-000000000000',
      ],
    ] as const) {
      const question: HttpQuestion = json === undefined ? { token: session } : { token: session, json }
      const [one, another] = [
        await service.http.ask(method, foreign, question),
        await service.http.ask(method, missing, question),
      ]
      assertRefused(one, [404], `${method} ${foreign}`)
      assert.deepEqual([one.status, one.text], [another.status, another.text], `${method} ${foreign}`)
    }
    const moved = { device: { applicationID: application } }
    assertRefused(
      await service.http.ask('PUT', `/api/devices/${devEui}`, { token: session, json: moved }),
      [404],
      'move',
    )
    assert.equal(await written(), amount)
  })

  it('leaves no half-written user behind when one of its organizations does not exist', async () => {
    const amount = await written()
    const organizations = [{ organizationID: organizationId }, { organizationID: '999999' }]
    const json = { user: { email: 'half-written' }, password: PASSWORD, organizations }
    const answer = await service.http.ask('POST', '/api/users', { token: service.adminSession, json })
    assertRefused(answer, [400, 404], 'a user of an unknown organization')
    assert.equal(await written(), amount)
    const found = await administration.must('GET', '/api/users?limit=10&search=half-written')
    assert.equal(found['totalCount'], '0')
  })
})

async function refuses(path: string, statuses: readonly number[] = [400]): Promise<void> {
  assertRefused(await service.http.ask('GET', path, { token: service.adminSession }), statuses, path)
}

interface Spoilt {
  readonly body: object
  readonly member: string
  readonly isMissing: boolean
}

/**
 * The body with one member of a wrong type, or without the member, at either of its two levels. In
 * a change, members may be absent.
 */
function* spoilt(good: Readonly<Record<string, unknown>>, isChange: boolean): Generator<Spoilt> {
  for (const [name, value] of Object.entries(good)) {
    const isObject = typeof value === 'object' && value !== null
    for (const wrong of [null, true, [], isObject ? 'text' : {}]) {
      yield { body: { ...good, [name]: wrong }, member: name, isMissing: false }
    }
    if (name !== 'ttlInSeconds') {
      const { [name]: _, ...rest } = good
      yield { body: rest, member: name, isMissing: true }
    }
    if (!isObject) continue
    for (const [inner, text] of Object.entries(value)) {
      for (const wrong of [null, true, [], {}, 1.5]) {
        yield { body: { ...good, [name]: { ...value, [inner]: wrong } }, member: `${name}.${inner}`, isMissing: false }
      }
      if (isChange || text === undefined || inner === 'email') continue
      const { [inner as never]: __, ...rest } = value
      yield { body: { ...good, [name]: rest }, member: `${name}.${inner}`, isMissing: true }
    }
  }
}
