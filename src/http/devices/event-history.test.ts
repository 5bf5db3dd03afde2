import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { must, newDevice, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'
import { TestEvents } from './stored-events.testing.ts'

let deployment: TestDeployment
let events: TestEvents

beforeEach(async () => {
  events = new TestEvents()
  deployment = await openTestDeployment({ history: events })
})

afterEach(async () => {
  await deployment.close()
})

interface Item {
  readonly id: string
  readonly kind: string
  readonly [member: string]: unknown
}

function addEvents(count: number): void {
  const { applicationId, devEui } = deployment
  for (let index = 0; index < count; index += 1) events.add({ applicationId, devEui })
}

async function ask(path: string, options: { person?: Person; token?: string; accept?: string } = {}) {
  const token = options.token ?? (await deployment.session(options.person ?? 'member'))
  const headers = options.accept === undefined ? {} : { accept: options.accept }
  return deployment.ask(token, { method: 'GET', url: path, headers })
}

async function page(path: string): Promise<{ result: Item[]; nextCursor: string }> {
  const answer = await ask(path)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}

const ofDevice = (query = '') => `/api/devices/${deployment.devEui}/events${query}`
const ofApplication = (query = '') => `/api/applications/${deployment.applicationId}/events${query}`
const kinds = async (query: string) => (await page(ofDevice(`?order=oldest&${query}`))).result.map(({ kind }) => kind)
const ids = (items: readonly Item[]) => items.map(({ id }) => id)

const LINES = 'application/x-ndjson'

/** A request over a socket, whose answer is read as far as the test wants. */
async function open(path: string, person: Person = 'member'): Promise<IncomingMessage> {
  if (!deployment.app.server.listening) await deployment.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = deployment.app.server.address() as AddressInfo
  const headers = { authorization: `Bearer ${await deployment.session(person)}`, accept: LINES }
  const [answer] = (await once(get({ host: '127.0.0.1', port, path, headers, agent: false }), 'response')) as [
    IncomingMessage,
  ]
  return answer
}

/** Turns of the event loop until it is so; the test's own time limit is the bound. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn()
}

test('an event is told as it was published, byte for byte, with what the service knows of it', async () => {
  const { applicationId, devEui } = deployment
  const payload = Buffer.from('{"big": 12345678901234567890,"zero":0.0,\r\n "text":"Zähler\\n", "again":1,"again":2}')
  events.add({ applicationId, devEui, payload, qos: 2, kind: 'status' })
  const { body, headers } = await ask(ofDevice())
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(
    body,
    `{"result":[{"id":"7-0","time":"2026-01-15T12:00:00.000Z","applicationID":"${applicationId}","devEUI":"${devEui}",` +
      '"kind":"status","qos":2,"event":{"big": 12345678901234567890,"zero":0.0,   "text":"Zähler\\n", "again":1,"again":2}}],' +
      '"nextCursor":""}',
  )
})

test('what is no JSON is told as base64, and nothing of it reaches the text around it', async () => {
  const { applicationId, devEui } = deployment
  const payloads = ['', 'hello', '{"a":1', '1}],"nextCursor":"x"', '"\u0000"', '[1]]'].map((text) => Buffer.from(text))
  payloads.push(Buffer.from([0x22, 0xff, 0x22]))
  for (const payload of payloads) events.add({ applicationId, devEui, payload })
  const { result } = await page(ofDevice('?order=oldest'))
  assert.deepEqual(
    result.map((item) => item['payload']),
    payloads.map((payload) => payload.toString('base64')),
  )
  assert.ok(result.every((item) => !('event' in item)))
})

test('a page is cut at its limit, and its cursor goes on behind it, in both orders', async () => {
  addEvents(10)
  const all = events.stored.map(({ id }) => id)
  for (const [order, expected] of [
    ['oldest', all],
    ['newest', all.toReversed()],
  ] as const) {
    const seen: string[] = []
    let cursor = ''
    do {
      const { result, nextCursor } = await page(ofApplication(`?order=${order}&limit=4&after=${cursor}`))
      assert.ok(result.length <= 4)
      seen.push(...ids(result))
      cursor = nextCursor
    } while (cursor !== '')
    assert.deepEqual(seen, expected)
  }
})

test('the newest come first and 100 are given, where nothing else is asked', async () => {
  addEvents(101)
  const { result, nextCursor } = await page(ofApplication())
  assert.equal(result.length, 100)
  assert.equal(result[0]?.id, '7-100')
  assert.equal(nextCursor, '7-1')
})

test('no events are an empty page without a cursor, and an empty stream', async () => {
  assert.deepEqual(await page(ofDevice()), { result: [], nextCursor: '' })
  assert.equal((await ask(ofDevice(), { accept: LINES })).body, '')
})

test('a span and kinds narrow what is told', async () => {
  const { applicationId, devEui } = deployment
  for (const kind of ['up', 'join', 'ack', 'log', 'up'] as const) events.add({ applicationId, devEui, kind })
  assert.deepEqual(await kinds('kind=join'), ['join'])
  assert.deepEqual(await kinds('kind=join,ack'), ['join', 'ack'])
  assert.deepEqual(await kinds('kind=join&kind=log,ack'), ['join', 'ack', 'log'])
  assert.deepEqual(await kinds('from=2026-01-15T12:00:01Z&to=2026-01-15T12:00:03.000Z'), ['join', 'ack'])
  assert.deepEqual(await kinds('from=2026-01-15T14:00:04%2B02:00'), ['up'])
  assert.deepEqual(await kinds('from=&to=&kind=&after='), ['up', 'join', 'ack', 'log', 'up'])
})

test('what is wrong with a parameter is told by name', async () => {
  const rules: readonly (readonly [string, RegExp])[] = [
    ['from=yesterday', /^from: must be a time as in RFC 3339/],
    ['from=2026-01-15', /^from: /],
    ['from=2026-13-15T00:00:00Z', /^from: /],
    ['to=2026-01-15T00:00:00', /^to: /],
    ['to=2026-01-15T00:00:00+02:00', /^to: .*%2B/],
    ['from=2026-01-16T00:00:00Z&to=2026-01-15T00:00:00Z', /^from: must not be later than to/],
    ['kind=UP', /^kind: must be one or more of up, join/],
    ['kind=up,', /^kind: /],
    ['kind=__proto__', /^kind: /],
    ['kind=up&kind=command', /^kind: /],
    ['limit=0', /^limit: must be an integer from 1 to 10000/],
    ['limit=10001', /^limit: /],
    ['limit=ten', /^limit: /],
    ['order=random', /^order: must be newest or oldest/],
    ['after=x', /^after: must be the id of an event of this application/],
    ['after=8-1', /^after: must be the id of an event of this application/],
    ['after=7-1&after=7-2', /^after: /],
  ]
  for (const [query, expected] of rules) {
    const answer = await ask(ofDevice(`?${query}`))
    assert.equal(answer.statusCode, 400, query)
    assert.match(answer.json<{ message: string }>().message, expected)
  }
  assert.deepEqual(events.queries, [])
})

test('lines are one event each, and the whole span where no limit is named', async () => {
  const { applicationId, devEui } = deployment
  addEvents(150)
  events.add({ applicationId, devEui, payload: Buffer.from('{\n  "fCnt": 2\r\n}') })
  for (const accept of [LINES, `text/html, ${LINES.toUpperCase()};q=0.9`]) {
    const { body, headers } = await ask(ofApplication('?order=oldest'), { accept })
    assert.equal(headers['content-type'], LINES)
    const lines = body.split('\n')
    assert.equal(lines.pop(), '', 'the last line ends')
    const items = lines.map((line) => JSON.parse(line) as Item)
    assert.deepEqual(
      ids(items),
      events.stored.map(({ id }) => id),
    )
    assert.deepEqual(items.at(-1)?.['event'], { fCnt: 2 })
  }
  const { body } = await ask(ofApplication('?limit=2'), { accept: LINES })
  assert.equal(body.split('\n').length, 3)
})

test('a broker-access token reads the events of its own organization alone', async () => {
  addEvents(1)
  const { registry, userIds, organizationId, foreignOrganizationId } = deployment
  const tokenFor = async (userId: string, organization: string) =>
    must(await registry.tokens.issueBrokerAccess({ userId, organizationId: organization, ttlSeconds: 60 })).jwt
  for (const path of [ofDevice(), ofApplication()]) {
    assert.equal((await ask(path, { token: await tokenFor(userIds.member, organizationId) })).statusCode, 200)
    for (const token of [
      await tokenFor(userIds.stranger, foreignOrganizationId),
      await tokenFor(userIds.globalAdmin, foreignOrganizationId),
    ]) {
      const answer = await ask(path, { token })
      assert.equal(answer.statusCode, 404)
      assert.equal(answer.json<{ message: string }>().message, 'object does not exist')
    }
    assert.equal((await ask(path, { person: 'stranger' })).statusCode, 404)
  }
})

test('a device that moved shows what happened in its present application, and never what its earlier owner had', async () => {
  const { registry, devEui, applicationId, foreignApplicationId } = deployment
  addEvents(3)
  must(await registry.devices.remove(devEui, { userId: null }))
  await newDevice(registry, foreignApplicationId, devEui)
  const theirs = events.add({ applicationId: foreignApplicationId, devEui })
  const answer = await ask(ofDevice(), { person: 'stranger' })
  assert.deepEqual(ids(answer.json<{ result: Item[] }>().result), [theirs.id])
  assert.equal((await ask(ofDevice())).statusCode, 404)
  assert.ok(events.queries.every((query) => query.applicationId !== applicationId))
})

test('an application that got the id of an earlier one does not show what that one had', async () => {
  const { registry, clock, organizationId, foreignOrganizationId } = deployment
  const id = '0f6b2c1e-3f55-4c58-9c0e-111111111111'
  const create = async (owner: string) => {
    const rest = { serviceProfileId: '', serviceProfileName: '', payloadCodec: '' } as const
    const scripts = { payloadEncoderScript: '', payloadDecoderScript: '' }
    const application = { id, organizationId: owner, name: 'twin', description: '', ...rest, ...scripts }
    must(await registry.applications.create(application, { userId: null }))
  }
  await create(organizationId)
  const devEui = 'abababababababab'
  const before = events.add({ applicationId: id, devEui, timeMs: clock.now() + 500 })
  assert.deepEqual(ids((await page(`/api/applications/${id}/events`)).result), [before.id])
  clock.advance(1000)
  must(await registry.applications.remove(id, { userId: null }))
  await create(foreignOrganizationId)
  await newDevice(registry, id, devEui)
  const after = events.add({ applicationId: id, devEui, timeMs: clock.now() })
  for (const path of [`/api/applications/${id}/events`, `/api/devices/${devEui}/events`]) {
    for (const query of ['', '?from=2000-01-01T00:00:00Z&order=oldest', `?order=oldest&after=${before.id}`]) {
      const answer = await ask(`${path}${query}`, { person: 'stranger' })
      assert.deepEqual(ids(answer.json<{ result: Item[] }>().result), [after.id], `${path}${query}`)
    }
  }
})

test('a reading ends within a second of the right to read', async () => {
  const { registry, clock, organizationId, userIds } = deployment
  addEvents(3)
  events.isEndless = true
  events.beforePage = () => clock.advance(100)
  const answer = await open(ofApplication())
  await until(() => events.pagesGiven > 50)
  must(await registry.members.remove(organizationId, userIds.member, { userId: null }))
  const left = events.pagesGiven
  const reading = assert.rejects(
    answer.forEach(() => {}),
    /aborted/,
  )
  await until(() => events.readingsEnded === 1)
  await reading
  assert.ok(events.pagesGiven <= left + 12, `${events.pagesGiven - left} pages`)
})

test('a reader that goes away ends its reading and gives its seat back', async () => {
  addEvents(3)
  events.isEndless = true
  for (let round = 1; round <= 20; round += 1) {
    const answer = await open(ofApplication())
    await once(answer, 'readable')
    answer.destroy()
    await until(() => events.readingsEnded === round)
  }
})

test('a reader that does not read is not read for', async () => {
  const { applicationId, devEui } = deployment
  events.pageSize = 1
  events.add({ applicationId, devEui, payload: Buffer.from(JSON.stringify('x'.repeat(200_000))) })
  events.isEndless = true
  const answer = await open(ofApplication())
  answer.pause()
  let quiet = 0
  for (let seen = 0; quiet < 500; seen = events.pagesGiven) {
    await turn()
    quiet = events.pagesGiven === seen ? quiet + 1 : 0
  }
  assert.ok(events.pagesGiven < 200, `${events.pagesGiven} pages of 200 KB were read ahead`)
  answer.destroy()
  await until(() => events.readingsEnded === 1)
})

test('an organization reads eight times at once, and keeps nobody else from reading', async () => {
  addEvents(3)
  const { foreignApplicationId, foreignDevEui } = deployment
  events.add({ applicationId: foreignApplicationId, devEui: foreignDevEui })
  events.isEndless = true
  const answers: IncomingMessage[] = []
  for (let reader = 0; reader < 8; reader += 1) answers.push(await open(ofApplication()))
  const refused = await ask(ofApplication())
  assert.equal(refused.statusCode, 429)
  assert.equal(refused.headers['retry-after'], '5')
  assert.equal(refused.json<{ details: { reason: string }[] }>().details[0]?.reason, 'history_busy')
  events.isEndless = false
  const elsewhere = await ask(`/api/applications/${foreignApplicationId}/events`, { person: 'stranger' })
  assert.equal(elsewhere.statusCode, 200)
  for (const answer of answers) answer.destroy()
  await until(() => events.readingsEnded === 9)
  assert.equal((await ask(ofApplication())).statusCode, 200)
})

test('the newest event of each kind is told, of the usual kinds or of those asked for', async () => {
  const { applicationId, devEui } = deployment
  for (const kind of ['up', 'join', 'ack', 'log', 'up', 'status', 'up'] as const) {
    events.add({ applicationId, devEui, kind })
  }
  const told = async (query: string) => {
    const { result, ...rest } = await page(`/api/devices/${devEui}/last${query}`)
    return [result.map(({ kind, id }) => `${kind} ${id}`), rest]
  }
  const rest = { notFoundYet: [] }
  assert.deepEqual(await told(''), [['up 7-6', 'status 7-5', 'join 7-1'], rest])
  assert.deepEqual(await told('?kind=ack,log'), [['ack 7-2', 'log 7-3'], rest])
  assert.deepEqual(await told('?kind=error'), [[], rest])
  assert.equal((await ask(`/api/devices/${devEui}/last?kind=Up`)).statusCode, 400)
  assert.equal(events.readingsEnded, 4 + 2 + 1)
})

test('a search for the newest event of a rare kind ends early, and takes a seat of the organization', async () => {
  const { devEui } = deployment
  events.isEndless = true
  const path = `/api/devices/${devEui}/last?kind=status`
  events.pageSize = 0
  addEvents(1)
  events.add({ applicationId: deployment.applicationId, devEui, kind: 'status' })
  const { result, ...rest } = await page(path)
  assert.deepEqual([result, rest], [[], { notFoundYet: ['status'] }])
  assert.equal(events.pagesGiven, 64)
  events.pageSize = 3
  const answers: IncomingMessage[] = []
  for (let reader = 0; reader < 8; reader += 1) answers.push(await open(ofApplication()))
  assert.equal((await ask(path)).statusCode, 429)
  for (const answer of answers) answer.destroy()
  await until(() => events.readingsEnded === 9)
})

test('a disk that fails at once is a 500, and one that fails later breaks the answer off', async () => {
  addEvents(9)
  events.beforePage = () => {
    throw new Error('EIO')
  }
  const answer = await ask(ofApplication())
  assert.equal(answer.statusCode, 500)
  assert.deepEqual(answer.json<{ details: unknown }>().details, [{ reason: 'internal' }])
  assert.ok(!answer.body.includes('EIO'))
  events.beforePage = (index) => {
    if (index === 2) throw new Error('EIO')
  }
  const later = await open(ofApplication())
  await assert.rejects(
    later.forEach(() => {}),
    /aborted/,
  )
})

test('HEAD tells who may read, and reads nothing', async () => {
  addEvents(1)
  const token = await deployment.session('member')
  const { statusCode, body } = await deployment.ask(token, { method: 'HEAD', url: ofApplication() })
  assert.deepEqual([statusCode, body], [200, ''])
  const stranger = await deployment.session('stranger')
  assert.equal((await deployment.ask(stranger, { method: 'HEAD', url: ofApplication() })).statusCode, 404)
  assert.deepEqual(events.queries, [])
})

test('a page ends early when its answer grows beyond 16 MiB, and says where to go on', async () => {
  const { applicationId, devEui } = deployment
  const payload = Buffer.from(JSON.stringify('x'.repeat(1_000_000)))
  for (let index = 0; index < 24; index += 1) events.add({ applicationId, devEui, payload })
  const first = await page(ofApplication('?order=oldest'))
  assert.equal(first.result.length, 18)
  const second = await page(ofApplication(`?order=oldest&after=${first.nextCursor}`))
  assert.equal(second.result.length, 6)
  assert.equal(second.nextCursor, '')
})
