import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { GatheringTime } from './gathering-time.ts'

const TIMES = { usualMs: 2, longerMs: 5, growthWithoutWait: 1.15 }
/** A batch takes that long on a disk, without gathering, ms. */
const DISK_MS = 1

/**
 * Batches for that many ms. `recordsIn` gives the records that come within so many ms. Returns how
 * many ms went by with each time of gathering.
 */
function run(
  gathering: GatheringTime,
  clock: TestClock,
  forMs: number,
  recordsIn: (ms: number) => number,
): Record<number, number> {
  const byTime: Record<number, number> = {}
  const end = clock.steady() + forMs
  while (clock.steady() < end) {
    const { ms } = gathering
    const elapsedMs = Math.max(DISK_MS, ms)
    byTime[ms] = (byTime[ms] ?? 0) + elapsedMs
    clock.advance(elapsedMs)
    gathering.took(recordsIn(elapsedMs))
  }
  return byTime
}

describe('the time for which a batch gathers', () => {
  it('is the usual one while hardly anything comes', () => {
    const clock = new TestClock()
    const byTime = run(new GatheringTime(clock, TIMES), clock, 20_000, (ms) => 0.4 * ms)
    assert.deepEqual(Object.keys(byTime), ['2'])
  })

  it('is the usual one for a small stream that comes at its own pace, but for the trials', () => {
    const clock = new TestClock()
    const byTime = run(new GatheringTime(clock, TIMES), clock, 60_000, (ms) => 7 * ms)
    assert.deepEqual(Object.keys(byTime), ['0', '2'])
    assert.ok((byTime[0] ?? 0) < 2_000, `${byTime[0]} ms of a minute`)
  })

  it('is the longer one for a stream that comes at its own pace, but for the trials', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, TIMES)
    run(gathering, clock, 1_500, (ms) => 20 * ms)
    const { 5: longerMs = 0 } = run(gathering, clock, 60_000, (ms) => 20 * ms)
    assert.ok(longerMs > 52_000 && longerMs < 60_000, `${longerMs} ms of a minute`)
  })

  it('is none for publishers that wait for each acknowledgement, but for the trials', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, TIMES)
    run(gathering, clock, 1_000, () => 50)
    const byTime = run(gathering, clock, 60_000, () => 50)
    assert.deepEqual(Object.keys(byTime), ['0', '2'])
    assert.ok((byTime[0] ?? 0) > 56_000, `${byTime[0]} ms of a minute`)
  })

  it('is the usual one for publishers that wait, where the disk takes longer than a batch gathers', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, TIMES)
    let owed = 0
    const { 0: noneMs = 0 } = run(gathering, clock, 60_000, (ms) => {
      // A batch each 8 ms, however long the requests gather.
      owed += ms
      const batches = Math.floor(owed / 8)
      owed -= 8 * batches
      return 50 * batches
    })
    assert.ok(noneMs < 2_000, `${noneMs} ms of a minute`)
  })

  it('is not none for seconds where the records of a stream came by chance while it was tried', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, TIMES)
    const { 0: noneMs = 0 } = run(
      gathering,
      clock,
      4_000,
      (ms) => (gathering.ms === 0 && clock.steady() % 4_000 < 500 ? 40 : 20) * ms,
    )
    assert.ok(noneMs > 200 && noneMs <= 600, `${noneMs} ms of 4 s`)
  })

  it('is not none for longer than seconds after the publishers that wait have left', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, TIMES)
    run(gathering, clock, 10_000, () => 50)
    run(gathering, clock, 7_000, (ms) => 20 * ms)
    const { 5: longerMs = 0 } = run(gathering, clock, 60_000, (ms) => 20 * ms)
    assert.ok(longerMs > 50_000, `${longerMs} ms of a minute`)
  })

  it('is the usual one where not enough more records come without a wait', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, { usualMs: 2, growthWithoutWait: 1.5 })
    const { 0: noneMs = 0 } = run(gathering, clock, 60_000, (ms) => (gathering.ms === 0 ? 9 : 7) * ms)
    assert.ok(noneMs < 2_000, `${noneMs} ms of a minute`)
  })

  it('is never longer where no longer time is given', () => {
    const clock = new TestClock()
    const byTime = run(
      new GatheringTime(clock, { usualMs: 2, growthWithoutWait: 1.15 }),
      clock,
      20_000,
      (ms) => 20 * ms,
    )
    assert.deepEqual(Object.keys(byTime), ['0', '2'])
  })

  it('is the usual one again after the stream has ended', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, TIMES)
    run(gathering, clock, 10_000, (ms) => 20 * ms)
    run(gathering, clock, 6_000, (ms) => 0.4 * ms)
    const byTime = run(gathering, clock, 20_000, (ms) => 0.4 * ms)
    assert.deepEqual(Object.keys(byTime), ['2'])
  })

  it('is none for an engine that never waits', () => {
    const clock = new TestClock()
    const gathering = new GatheringTime(clock, { ...TIMES, usualMs: 0, longerMs: 0 })
    for (let batch = 0; batch < 1_000; batch += 1) {
      clock.advance(1)
      gathering.took(100)
      assert.equal(gathering.ms, 0)
    }
  })
})
