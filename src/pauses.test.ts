import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from './clock.testing.ts'
import { Pauses } from './pauses.ts'

test('a pause takes a multiple of the time of the piece before it, and no more than the longest', async () => {
  const clock = new TestClock()
  const pauses = new Pauses(clock, { factor: 4, maximumMs: 25 })
  for (const [workMs, pauseMs] of [
    [3, 12],
    [1, 4],
    [100, 25],
  ] as const) {
    clock.advance(workMs)
    let isOver = false
    const pause = pauses.pause().then(() => (isOver = true))
    clock.advance(pauseMs - 1)
    await new Promise(setImmediate)
    assert.equal(isOver, false)
    clock.advance(1)
    await pause
  }
})

test('after a piece that took no time the event loop turns', async () => {
  const clock = new TestClock()
  await new Pauses(clock, { factor: 4, maximumMs: 25 }).pause()
  assert.equal(clock.pending, 0)
})
