import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { createBackgroundPace } from './background-pace.ts'

test('work in the background pauses for a multiple of the time that it took, and ends when it is interrupted', async () => {
  const clock = new TestClock()
  let isInterrupted = false
  const pace = createBackgroundPace(clock, 7, () => isInterrupted)
  await pace.turn()
  clock.advance(10)
  let isOver = false
  const turn = pace.turn().then(() => (isOver = true))
  clock.advance(69)
  await Promise.resolve()
  assert.equal(isOver, false)
  clock.advance(1)
  await turn
  clock.advance(10_000)
  const longest = pace.turn()
  isInterrupted = true
  clock.advance(1_000)
  await assert.rejects(longest, { code: 'interrupted' })
})
