import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyText, INTERVAL_UNITS, readInterval, typedInterval } from './interval.ts'

test('an interval is written in the largest unit without a fraction, and is read as it was', () => {
  const written = { 301: '301 seconds', 5400: '90 minutes', 3600: '1 hours', 90_000: '25 hours', 604_800: '7 days' }
  for (const [seconds, words] of Object.entries(written)) {
    const typed = typedInterval(Number(seconds))
    assert.equal(`${typed.text} ${typed.unit}`, words)
    assert.deepEqual(readInterval(typed), { ok: true, seconds: Number(seconds) })
  }
})

test('an interval may have a fraction, and blanks around it', () => {
  assert.deepEqual(readInterval({ text: ' 1.5 ', unit: 'hours' }), { ok: true, seconds: 5400 })
})

test('an interval out of the range of the service, or no number, has a fault', () => {
  const range = { ok: false, fault: 'Choose an interval from 5 minutes to 7 days.' }
  assert.deepEqual(readInterval({ text: '5', unit: 'minutes' }), { ok: true, seconds: 300 })
  assert.deepEqual(readInterval({ text: '299', unit: 'seconds' }), range)
  assert.deepEqual(readInterval({ text: '7', unit: 'days' }), { ok: true, seconds: 604_800 })
  assert.deepEqual(readInterval({ text: '604801', unit: 'seconds' }), range)
  assert.deepEqual(readInterval({ text: '9'.repeat(400), unit: 'days' }), range)
  for (const text of ['', '-1', 'one', '1e3', '1,5', '.5']) {
    assert.deepEqual(readInterval({ text, unit: 'hours' }), { ok: false, fault: 'Write a number, such as 2.' })
  }
})

test('an interval is told in words', () => {
  const told = [301, 300, 60 * 90, 3600, 7200, 86_400, 604_800].map(everyText)
  assert.deepEqual(told, [
    'every 301 seconds',
    'every 5 minutes',
    'every 90 minutes',
    'every hour',
    'every 2 hours',
    'every day',
    'every 7 days',
  ])
  assert.deepEqual(INTERVAL_UNITS, ['seconds', 'minutes', 'hours', 'days'])
})
