import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../../clock.testing.ts'
import { TestNetworkServer } from '../../commands/downlinks.testing.ts'
import { Offering } from './offering.ts'

const BACKOFF = { minimumMs: 1_000, maximumMs: 60_000, random: () => 0 }

test('downlinks are offered again once, however many failed', () => {
  const clock = new TestClock()
  let readyCount = 0
  const offering = offeringOf(clock, () => (readyCount += 1))
  offering.failed()
  offering.failed()
  clock.advance(999)
  assert.deepEqual([readyCount, offering.isPausing], [0, true])
  clock.advance(1)
  assert.deepEqual([readyCount, offering.isPausing], [1, false])
})

test('a closed adapter leaves no timer, and begins none', () => {
  const clock = new TestClock()
  const offering = offeringOf(clock, () => assert.fail('nothing is offered'))
  offering.failed()
  assert.equal(clock.pending, 1)
  offering.close()
  offering.failed()
  assert.equal(clock.pending, 0)
  clock.advance(60_000)
})

function offeringOf(clock: TestClock, ready: () => void): Offering {
  const sink = { event: () => Promise.resolve(), ready }
  return new Offering(new TestNetworkServer(), sink, clock, BACKOFF)
}
