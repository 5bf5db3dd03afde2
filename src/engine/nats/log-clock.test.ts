import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { LogClock } from './log-clock.ts'

test('a clock that the servers have told goes on from there, whatever the machine’s clock says', () => {
  const clock = new TestClock()
  const log = new LogClock(clock)
  assert.equal(log.now(), clock.now())
  const serverMs = clock.now() + 60_000
  log.told(serverMs)
  clock.advance(500)
  assert.equal(log.now(), serverMs + 500)
  log.told(Number.NaN)
  assert.equal(log.now(), serverMs + 500)
  log.told(serverMs - 120_000)
  assert.equal(log.now(), serverMs - 120_000)
})

test('the time is later than that of each envelope that has arrived', () => {
  const clock = new TestClock()
  const log = new LogClock(clock)
  log.told(clock.now() - 60_000)
  log.arrived(clock.now())
  log.arrived(clock.now() - 5)
  assert.equal(log.now(), clock.now() + 1)
})
