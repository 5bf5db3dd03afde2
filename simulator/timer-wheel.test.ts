import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { TICK_MS, TimerWheel } from './timer-wheel.ts'

const START_MS = 1_000_000

describe('a timer wheel', () => {
  it('gives what is due within a tick after its time, and nothing before', () => {
    const wheel = new TimerWheel<string>(START_MS)
    wheel.set('soon', START_MS + 15)
    assert.deepEqual(taken(wheel, START_MS + 14), [])
    assert.deepEqual(taken(wheel, START_MS + 20), ['soon'])
    assert.equal(wheel.size, 0)
  })

  it('keeps what is due after many turns', () => {
    const wheel = new TimerWheel<string>(START_MS)
    wheel.set('late', START_MS + 3_600_000)
    for (let nowMs = START_MS; nowMs < START_MS + 3_600_000; nowMs += 20_000) assert.deepEqual(taken(wheel, nowMs), [])
    assert.deepEqual(taken(wheel, START_MS + 3_600_000), ['late'])
  })

  it('gives everything after a long sleep', () => {
    const wheel = new TimerWheel<number>(START_MS)
    for (let index = 0; index < 1000; index += 1) wheel.set(index, START_MS + index * 600)
    assert.equal(taken(wheel, START_MS + 3_600_000).length, 1000)
  })

  it('has an item once, at the time that it was last given', () => {
    const wheel = new TimerWheel<string>(START_MS)
    wheel.set('moved', START_MS + 100)
    wheel.set('moved', START_MS + 50)
    wheel.set('gone', START_MS + 50)
    wheel.delete('gone')
    assert.deepEqual(taken(wheel, START_MS + 200), ['moved'])
  })

  it('gives no more at once than it is asked to, and the rest in order', () => {
    const wheel = new TimerWheel<number>(START_MS)
    for (let index = 0; index < 10; index += 1) wheel.set(index, START_MS + index * TICK_MS)
    assert.deepEqual(taken(wheel, START_MS + 1000, 3), [0, 1, 2])
    assert.ok((wheel.nextMs() ?? 0) <= START_MS + 1000)
    assert.deepEqual(taken(wheel, START_MS + 1000), [3, 4, 5, 6, 7, 8, 9])
  })

  it('takes an item that is due now once in a tick, so that a turn ends', () => {
    const wheel = new TimerWheel<string>(START_MS)
    wheel.set('again', START_MS)
    let visits = 0
    wheel.takeDue(START_MS + 100, 1000, (item) => {
      visits += 1
      wheel.set(item, START_MS)
    })
    assert.equal(visits, 11)
    assert.equal(wheel.size, 1)
  })

  it('gives each item at its time, whatever the times', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(500_000), { minLength: 1, maxLength: 50 }), fc.nat(9), (delays, step) => {
        const wheel = new TimerWheel<number>(START_MS)
        for (const [index, delay] of delays.entries()) wheel.set(index, START_MS + delay)
        const seen = new Map<number, number>()
        let nowMs = START_MS
        while (wheel.size > 0) {
          nowMs = Math.max(nowMs, wheel.nextMs() ?? nowMs) + step
          for (const index of taken(wheel, nowMs)) seen.set(index, nowMs)
        }
        for (const [index, delay] of delays.entries()) {
          const late = (seen.get(index) ?? Number.NaN) - (START_MS + delay)
          assert.ok(late >= 0 && late < TICK_MS + 10, `${late} ms late`)
        }
      }),
      { numRuns: 50 },
    )
  })
})

function taken<Item>(wheel: TimerWheel<Item>, nowMs: number, maximum = 100_000): Item[] {
  const items: Item[] = []
  wheel.takeDue(nowMs, maximum, (item) => items.push(item))
  return items
}
