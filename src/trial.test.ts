import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestClock } from './clock.testing.ts'
import { Trial } from './trial.ts'

/**
 * A trial of a measure, counted for 100 ms and decided for 1,000. `load` gives the figure of a ms,
 * with the measure and without it; more is better. `run` returns the ms with the measure.
 */
function start(load: (ms: number, hasIt: boolean) => number, options: { readonly firstKeptMs?: number } = {}) {
  const clock = new TestClock(0)
  let sum = 0
  const trial = new Trial<number>({
    clock,
    countedMs: 100,
    decidedMs: 1_000,
    ...options,
    count: (elapsedMs) => {
      const figure = sum / elapsedMs
      sum = 0
      return figure
    },
    isWorth: (without) => without >= 10,
    isBetter: (withIt, without) => withIt > Math.max(...without),
  })
  let hasIt = false
  return (forMs: number): number => {
    let withIt = 0
    for (let ms = 0; ms < forMs; ms += 1) {
      sum += load(clock.steady(), hasIt)
      if (hasIt) withIt += 1
      clock.advance(1)
      hasIt = trial.step()
    }
    return withIt
  }
}

describe('a trial of a measure', () => {
  it('does not begin without a load that is worth it', () => {
    const run = start(() => 9)
    assert.equal(run(10_000), 0)
  })

  it('counts without the measure, with it, and without it, and then keeps a better one', () => {
    const run = start((_ms, hasIt) => (hasIt ? 12 : 10))
    assert.deepEqual([run(100), run(100), run(100), run(1_000)], [0, 100, 0, 1_000])
  })

  it('asks a kept measure again by one count without it', () => {
    const run = start((_ms, hasIt) => (hasIt ? 12 : 10))
    run(1_300)
    assert.deepEqual([run(100), run(1_000), run(100), run(1_000)], [0, 1_000, 0, 1_000])
  })

  it('asks a measure soon that was kept for the first time', () => {
    const run = start((_ms, hasIt) => (hasIt ? 12 : 10), { firstKeptMs: 100 })
    run(300)
    assert.deepEqual([run(100), run(100), run(1_000), run(100), run(1_000)], [100, 0, 1_000, 0, 1_000])
  })

  it('rejects a measure that is no better, and tries it again later', () => {
    const run = start(() => 10)
    assert.deepEqual([run(100), run(100), run(100), run(1_000)], [0, 100, 0, 0])
    assert.deepEqual([run(100), run(100), run(1_000)], [0, 100, 0])
  })

  it('waits twice and then four times as long before it tries a measure that it rejected again', () => {
    const run = start((ms) => (ms >= 20_800 && ms < 21_000 ? 0 : 10))
    const triedAt = Array.from({ length: 250 }, (_, number) => (run(100) > 0 ? [number * 100] : [])).flat()
    assert.deepEqual(triedAt, [100, 1_400, 3_700, 8_000, 12_300, 16_600, 21_100, 22_400, 24_700])
  })

  it('is not deceived by a load that grows while it is tried', () => {
    const run = start((ms, hasIt) => (hasIt ? 12 : ms < 100 ? 10 : 20))
    assert.deepEqual([run(300), run(1_000)], [100, 0])
  })

  it('gives a kept measure up when the load without it is better, or no longer worth it', () => {
    for (const after of [20, 5]) {
      const run = start((ms, hasIt) => (ms >= 5_000 ? after : hasIt ? 12 : 10))
      run(7_000)
      assert.ok(run(10_000) <= 1_000)
      if (after === 5) assert.equal(run(10_000), 0)
    }
  })
})
