import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from './lateness.ts'

const MINUTE_MS = 60_000

function stateAfter(minutes: number, intervalSeconds: number | null, lossPercent: number | null = null) {
  return judge({ expectedFromMs: 0, intervalSeconds, lossPercent }, minutes * MINUTE_MS)
}

test('a device is late after two intervals and silent after three', () => {
  assert.deepEqual(stateAfter(19, 600), { state: 'ON_TIME', dueAtMs: 20 * MINUTE_MS })
  assert.deepEqual(stateAfter(20, 600), { state: 'LATE', dueAtMs: 30 * MINUTE_MS })
  assert.deepEqual(stateAfter(30, 600), { state: 'SILENT', dueAtMs: undefined })
})

test('a device that loses frames gets more time, and twice the time at most', () => {
  assert.equal(stateAfter(0, 600, 20).dueAtMs, 25 * MINUTE_MS)
  assert.equal(stateAfter(0, 600, 90).dueAtMs, 40 * MINUTE_MS)
})

test('a device of which too little is known may send once a day', () => {
  assert.equal(stateAfter(0, null).dueAtMs, 2 * 86_400_000)
})

test('a busy device is judged by the minute, as its signs of life are written', () => {
  assert.equal(stateAfter(0, 1).dueAtMs, 2 * MINUTE_MS)
})
