import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { GatheringTime } from './gathering-time.ts'

/**
 * Batches for that many ms. `recordsIn` gives the records of a batch that gathered for so many ms.
 * Returns the times of the batches.
 */
function run(gathering: GatheringTime, clock: TestClock, forMs: number, recordsIn: (ms: number) => number): number[] {
  const times: number[] = []
  const end = clock.steady() + forMs
  while (clock.steady() < end) {
    times.push(gathering.ms)
    clock.advance(gathering.ms)
    gathering.took(recordsIn(gathering.ms))
  }
  return times
}

describe('the time for which a batch gathers', () => {
  it('is the shorter one while little comes', () => {
    const clock = new TestClock()
    const times = run(new GatheringTime(clock, 2), clock, 20_000, (ms) => 7 * ms)
    assert.deepEqual(new Set(times), new Set([2]))
  })

  it('is the longer one for a stream that comes at its own pace, but for the times when it is counted', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, 2)
    run(gathering, clock, 500, (ms) => 20 * ms)
    const times = run(gathering, clock, 60_000, (ms) => 20 * ms)
    const longerMs = 5 * times.filter((ms) => ms === 5).length
    assert.ok(longerMs > 54_000 && longerMs < 60_000, `${longerMs} ms of a minute`)
  })

  it('is the shorter one for publishers that wait for each acknowledgement, but for the trials', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, 2)
    run(gathering, clock, 500, () => 50)
    const times = run(gathering, clock, 60_000, () => 50)
    const longerMs = 5 * times.filter((ms) => ms === 5).length
    assert.ok(longerMs > 0 && longerMs < 3_000, `${longerMs} ms of a minute`)
  })

  it('is the shorter one again after the stream has ended', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, 2)
    run(gathering, clock, 10_000, (ms) => 20 * ms)
    run(gathering, clock, 6_000, () => 2)
    const times = run(gathering, clock, 20_000, () => 2)
    assert.deepEqual(new Set(times), new Set([2]))
  })

  it('is none for an engine that never waits', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, 0)
    for (let batch = 0; batch < 1_000; batch += 1) {
      clock.advance(1)
      gathering.took(100)
      assert.equal(gathering.ms, 0)
    }
  })
})
