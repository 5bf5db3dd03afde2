import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from './clock.testing.ts'
import { Deadlines } from './deadlines.ts'

function createDeadlines(maximum = 100) {
  const clock = new TestClock()
  const cut: string[] = []
  const deadlines = new Deadlines<string>({
    durationMs: 1_000,
    maximum,
    clock,
    cut: (item, reason) => cut.push(`${item} ${reason}`),
  })
  return { clock, cut, deadlines }
}

test('each item has its time from its own beginning, and one timer serves all', () => {
  const { clock, cut, deadlines } = createDeadlines()
  deadlines.add('a')
  clock.pass(600)
  deadlines.add('b')
  assert.equal(clock.timers, 1)
  clock.pass(400)
  assert.deepEqual(cut, ['a late'])
  clock.pass(599)
  assert.deepEqual(cut, ['a late'])
  clock.pass(1)
  assert.deepEqual([cut, clock.timers], [['a late', 'b late'], 0])
})

test('an item that is done is not cut, and nobody waits for it', () => {
  const { clock, cut, deadlines } = createDeadlines()
  deadlines.add('a')
  assert.ok(deadlines.remove('a'))
  assert.ok(!deadlines.remove('a'))
  assert.equal(clock.timers, 0)
  clock.pass(2_000)
  assert.deepEqual(cut, [])
})

test('a crowd costs its oldest', () => {
  const { cut, deadlines } = createDeadlines(2)
  for (const item of ['a', 'b', 'c']) deadlines.add(item)
  assert.deepEqual(cut, ['a crowded'])
  assert.deepEqual(
    ['a', 'b', 'c'].map((item) => deadlines.remove(item)),
    [false, true, true],
  )
})

test('items that are late together are cut 16 in a turn of the event loop', async () => {
  const { clock, cut, deadlines } = createDeadlines()
  for (let index = 0; index < 40; index += 1) deadlines.add(String(index))
  clock.pass(1_000)
  assert.equal(cut.length, 16)
  await clock.turn()
  await clock.turn()
  assert.equal(cut.length, 40)
})
