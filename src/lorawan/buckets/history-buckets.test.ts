import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { HistoryBuckets, MAXIMUM_PATHS } from './history-buckets.ts'

const START_MS = Date.UTC(2026, 0, 1)
const BUCKET_MS = 60_000

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

interface Uplink {
  readonly second: number
  readonly rssi: number
  readonly dr: number
  readonly temperature: number
  readonly isV4: boolean
}

function eventOf({ second, rssi, dr, temperature, isV4 }: Uplink, fCnt: number) {
  const object = { temperature, deep: { 1: second } }
  const a = { fCnt, object, rxInfo: [{ rssi, loRaSNR: rssi / 10 }], txInfo: { frequency: 868_100_000, dr } }
  const lora = { spreadingFactor: 12 - dr }
  const b = { deviceInfo: {}, fCnt, object, dr, rxInfo: [{ rssi, snr: rssi / 10 }], txInfo: { modulation: { lora } } }
  return { timeMs: START_MS + second * 1000, kind: 'up', payload: json(isV4 ? b : a) } as const
}

function plainSpread(values: readonly number[]) {
  const sorted = values.toSorted((one, other) => one - other)
  const low = sorted[Math.ceil(sorted.length / 2) - 1] as number
  const high = sorted[Math.floor(sorted.length / 2)] as number
  return { min: sorted[0], median: (low + high) / 2, max: sorted.at(-1), count: sorted.length }
}

test('whatever both families send, the buckets are those of a plain calculation', () => {
  const uplink = fc.record({
    second: fc.nat(1_000),
    rssi: fc.integer({ min: -140, max: -20 }),
    dr: fc.nat(5),
    temperature: fc.double({ min: -50, max: 50, noNaN: true }).map((value) => value + 0),
    isV4: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(uplink, { maxLength: 200 }), (given) => {
      const uplinks = given.toSorted((one, other) => one.second - other.second)
      const buckets = new HistoryBuckets(BUCKET_MS, undefined)
      for (const [index, one] of [...uplinks.entries()].toReversed()) buckets.add(eventOf(one, 2 * index))
      const groups = Map.groupBy(uplinks, ({ second }) => Math.floor(second / 60))
      const expected = [...groups].map(([minute, of]) => {
        const rates = Object.groupBy(of, ({ dr }) => dr)
        return {
          startMs: START_MS + minute * BUCKET_MS,
          uplinks: of.length,
          // Each second frame is missing, and none is before the first.
          lost: of.length - (of[0] === uplinks[0] ? 1 : 0),
          joins: 0,
          rssi: plainSpread(of.map(({ rssi }) => rssi)),
          snr: plainSpread(of.map(({ rssi }) => rssi / 10)),
          battery: undefined,
          margin: undefined,
          spreadingFactors: Object.fromEntries(
            Object.entries(rates).map(([dr, all]) => [12 - Number(dr), all?.length]),
          ),
          dataRates: Object.fromEntries(Object.entries(rates).map(([dr, all]) => [dr, all?.length])),
          values: {
            temperature: plainSpread(of.map(({ temperature }) => temperature)),
            'deep.1': plainSpread(of.map(({ second }) => second)),
          },
        }
      })
      assert.deepEqual(buckets.finish(), expected)
      assert.deepEqual(buckets.paths, uplinks.length === 0 ? [] : ['deep.1', 'temperature'])
    }),
  )
})

function at(second: number, kind: 'up' | 'join' | 'status', payload: unknown) {
  return { timeMs: START_MS + second * 1000, kind, payload: json(payload) }
}

test('status events tell battery and margin, and a join ends the frame counter', () => {
  const buckets = new HistoryBuckets(BUCKET_MS, undefined)
  const told = [
    at(0, 'up', { fCnt: 40 }),
    at(10, 'up', { fCnt: 43 }),
    at(20, 'status', { margin: 8, batteryLevel: 70, externalPowerSource: false, batteryLevelUnavailable: false }),
    at(30, 'status', { margin: 9, batteryLevel: 0, externalPowerSource: true, batteryLevelUnavailable: false }),
    at(40, 'join', { devAddr: '01020304' }),
    at(50, 'up', { fCnt: 60 }),
  ]
  for (const event of told.toReversed()) buckets.add(event)
  const [bucket] = buckets.finish()
  assert.deepEqual(
    [bucket?.uplinks, bucket?.lost, bucket?.joins, bucket?.battery, bucket?.margin],
    [3, 2, 1, { min: 70, median: 70, max: 70, count: 1 }, { min: 8, median: 8.5, max: 9, count: 2 }],
  )
})

test('only the paths asked for are told, and at most 50 where none is asked for', () => {
  const payload = json({ object: Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`v${index}`, index])) })
  const read = (paths: readonly string[] | undefined) => {
    const buckets = new HistoryBuckets(BUCKET_MS, paths)
    buckets.add({ timeMs: START_MS, kind: 'up', payload })
    return { buckets, values: Object.keys(buckets.finish()[0]?.values ?? {}) }
  }
  const some = read(['v3', 'v59', 'v60'])
  assert.deepEqual(
    [some.values, some.buckets.paths, some.buckets.leavesOutPaths],
    [['v3', 'v59'], ['v3', 'v59'], false],
  )
  const all = read(undefined)
  assert.deepEqual([all.values.length, all.buckets.leavesOutPaths], [MAXIMUM_PATHS, true])
})

test('an event whose time is later than that of the event behind it counts in the open bucket', () => {
  const buckets = new HistoryBuckets(BUCKET_MS, undefined)
  for (const second of [130, 70, 125, 10])
    buckets.add({ timeMs: START_MS + second * 1000, kind: 'up', payload: json({}) })
  assert.deepEqual(
    buckets.finish().map(({ startMs, uplinks }) => [(startMs - START_MS) / 1000, uplinks]),
    [
      [0, 1],
      [60, 2],
      [120, 1],
    ],
  )
})
