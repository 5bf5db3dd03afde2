import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { newDevice, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'
import { TestEvents } from './stored-events.testing.ts'

let deployment: TestDeployment
let events: TestEvents

const START_MS = Date.UTC(2026, 0, 15, 12)

beforeEach(async () => {
  events = new TestEvents()
  deployment = await openTestDeployment({ history: events })
})

afterEach(async () => {
  await deployment.close()
})

function addUplink(second: number, event: object = {}): void {
  const { applicationId, devEui } = deployment
  events.add({ applicationId, devEui, timeMs: START_MS + second * 1000, payload: Buffer.from(JSON.stringify(event)) })
}

async function ask(
  query: string,
  { person = 'member', devEui = deployment.devEui }: { person?: Person; devEui?: string } = {},
) {
  const url = `/api/devices/${devEui}/events/buckets${query}`
  return deployment.ask(await deployment.session(person), { method: 'GET', url })
}

async function buckets(query: string) {
  const answer = await ask(query)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}

async function refusal(query: string): Promise<string> {
  const { statusCode, body } = await ask(query)
  assert.equal(statusCode, 400, body)
  return (JSON.parse(body) as { message: string }).message
}

test('the answer has the buckets with events, the oldest first, and leaves out what no event tells', async () => {
  addUplink(0, { fCnt: 1, dr: 5, rxInfo: [{ rssi: -100, snr: 2 }], object: { a: 1, b: { 1: 5 } } })
  addUplink(10, { fCnt: 4, dr: 5, rxInfo: [{ rssi: -90, snr: 4 }], object: { a: 4 } })
  addUplink(120, { fCnt: 5 })
  const { applicationId, devEui } = deployment
  const payload = Buffer.from('{"batteryLevel":50,"margin":7}')
  events.add({ applicationId, devEui, kind: 'status', timeMs: START_MS + 121_000, payload })
  assert.deepEqual(await buckets('?from=2026-01-15T12:00:00Z&to=2026-01-15T12:10:00Z&bucket=1m'), {
    devEUI: devEui,
    from: '2026-01-15T12:00:00.000Z',
    to: '2026-01-15T12:10:00.000Z',
    bucketSeconds: 60,
    completeFrom: '2026-01-15T12:00:00.000Z',
    truncated: [],
    values: ['a', 'b.1'],
    result: [
      {
        time: '2026-01-15T12:00:00.000Z',
        uplinks: 2,
        lost: 2,
        joins: 0,
        rssi: { min: -100, median: -95, max: -90, count: 2 },
        snr: { min: 2, median: 3, max: 4, count: 2 },
        spreadingFactors: { 7: 2 },
        dataRates: { 5: 2 },
        values: { a: { min: 1, median: 2.5, max: 4, count: 2 }, 'b.1': { min: 5, median: 5, max: 5, count: 1 } },
      },
      {
        time: '2026-01-15T12:02:00.000Z',
        uplinks: 1,
        lost: 0,
        joins: 0,
        battery: { min: 50, median: 50, max: 50, count: 1 },
        margin: { min: 7, median: 7, max: 7, count: 1 },
        spreadingFactors: {},
        dataRates: {},
        values: {},
      },
    ],
  })
})

test('only the kinds of event that tell something are read, the newest first, within the span', async () => {
  await buckets('?from=2026-01-15T12:00:00Z&to=2026-01-15T14:10:00%2B01:00')
  const [query] = events.queries
  assert.deepEqual([...(query?.kinds ?? [])].toSorted(), ['join', 'status', 'up'])
  assert.deepEqual([query?.fromMs, query?.toMs, query?.order], [START_MS, START_MS + 70 * 60_000, 'newest'])
})

test('without a bucket there are some 200 buckets, of a length that people use', async () => {
  const lengths = [
    ['2026-01-31T23:59:00Z', 1],
    ['2026-01-31T00:00:00Z', 600],
    ['2026-01-25T00:00:00Z', 3600],
    ['2026-01-16T00:00:00Z', 7200],
  ] as const
  for (const [from, seconds] of lengths) {
    assert.equal((await buckets(`?from=${from}&to=2026-02-01T00:00:00Z`)).bucketSeconds, seconds, from)
  }
})

test('without from the span begins with the oldest stored event of the device', async () => {
  addUplink(600, { fCnt: 7 })
  addUplink(1200, { fCnt: 8 })
  const { from, result } = await buckets('?to=2026-01-15T13:00:00Z')
  assert.equal(from, '2026-01-15T12:10:00.000Z')
  assert.equal(result.length, 2)
  const nothing = await buckets('?to=2026-01-15T12:05:00Z')
  assert.deepEqual([nothing.from, nothing.to, nothing.result], [nothing.to, '2026-01-15T12:05:00.000Z', []])
})

test('wrong parameters are refused with the member and its rule', async () => {
  const span = 'from=2026-01-15T12:00:00Z&to=2026-01-15T13:00:00Z'
  assert.equal(
    await refusal(`?${span}&bucket=3`),
    'bucket: must be at least 4s for this span, so that there are at most 1000 buckets',
  )
  assert.equal((await buckets(`?${span}&bucket=4s`)).bucketSeconds, 4)
  for (const bucket of ['0', '1y', '-1h', '1.5h', '999999999']) {
    assert.match(await refusal(`?${span}&bucket=${bucket}`), /^bucket: must be a duration of at least a second/)
  }
  assert.match(await refusal('?from=yesterday'), /^from: must be a time/)
  assert.equal(await refusal('?from=2026-01-16T00:00:00Z&to=2026-01-15T00:00:00Z'), 'from: must not be later than to')
  const many = Array.from({ length: 51 }, (_, index) => `v${index}`).join(',')
  assert.equal(await refusal(`?${span}&values=${many}`), 'values: must be at most 50 paths of at most 128 characters')
  assert.match(await refusal(`?${span}&values=${'x'.repeat(129)}`), /^values: must be at most 50 paths/)
})

test('values are chosen by their paths, given with commas or repeatedly', async () => {
  addUplink(0, { object: { a: 1, b: { 1: 5 }, c: 7 } })
  const chosen = [
    ['values=a,b.1', ['a', 'b.1']],
    ['values=c&values=a', ['a', 'c']],
    ['values=', ['a', 'b.1', 'c']],
  ] as const
  for (const [query, values] of chosen) {
    assert.deepEqual((await buckets(`?to=2026-01-15T13:00:00Z&${query}`)).values, values)
  }
})

test('a reading that reaches a bound ends with the newest events, and says so', async () => {
  for (let index = 0; index < 12; index += 1) addUplink(index, { fCnt: index, object: { a: index } })
  // Each page takes four seconds of the ten that a reading may take.
  const span = 'from=2026-01-15T12:00:00Z&to=2026-01-15T12:01:00Z&bucket=1m'
  events.beforePage = () => deployment.clock.advance(4_000)
  const { truncated, completeFrom, result } = await buckets(`?${span}`)
  assert.deepEqual([truncated, completeFrom], [['time'], '2026-01-15T12:00:03.000Z'])
  assert.deepEqual(result[0].values.a, { min: 3, median: 7, max: 11, count: 9 })
  events.beforePage = () => {}
  events.pageSize = 1
  addUplink(20, { data: 'A'.repeat(250_000) })
  events.isEndless = true
  const endless = await buckets(`?${span}`)
  assert.deepEqual([endless.truncated, endless.result[0].uplinks], [['bytes'], 269])
})

test('another organization learns nothing, and a device of nobody is the same', async () => {
  addUplink(0)
  const unknown = await ask('', { devEui: 'ffffffffffffffff' })
  const foreign = await ask('', { person: 'stranger' })
  assert.deepEqual([unknown.statusCode, foreign.statusCode], [404, 404])
  assert.equal(foreign.body, unknown.body)
  assert.equal(events.queries.length, 0)
})

test('the events of another device of the application are not read', async () => {
  const other = '0a0a0a0a0a0a0a0a'
  await newDevice(deployment.registry, deployment.applicationId, other)
  addUplink(0)
  const { result } = (await ask('?to=2026-01-15T13:00:00Z', { devEui: other })).json()
  assert.deepEqual(result, [])
})

test('an organization has few readings at once, and gets its seats back', async () => {
  const span = '?from=2026-01-15T12:00:00Z'
  const session = await deployment.session('member')
  const url = `/api/devices/${deployment.devEui}/events/buckets${span}`
  const answers = await Promise.all(Array.from({ length: 12 }, () => deployment.ask(session, { method: 'GET', url })))
  const answered = answers.filter(({ statusCode }) => statusCode === 200)
  assert.equal(answered.length, 8)
  const refused = answers.find(({ statusCode }) => statusCode === 429)
  assert.match(refused?.body ?? '', /"history_busy"/)
  assert.equal((await ask(span)).statusCode, 200)
})
