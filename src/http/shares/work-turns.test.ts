import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { WorkTurns } from './work-turns.ts'

/** Turns whose slices take the time that they say, and note their payer when they run. */
function open() {
  const clock = new TestClock()
  const turns = new WorkTurns(clock)
  const ran: string[] = []
  const run = (payer: string, ms: number) =>
    turns.run(payer, async () => {
      ran.push(payer)
      clock.advance(ms)
    })
  return { clock, turns, ran, run }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

test('a payer rests after a slice for twice its time; another payer does not wait for that', async () => {
  const { clock, ran, run } = open()
  await run('a', 5)
  void run('a', 5)
  await settled()
  assert.deepEqual(ran, ['a'])
  await run('b', 1)
  clock.advance(8)
  await settled()
  assert.deepEqual(ran, ['a', 'b'])
  clock.advance(1)
  await settled()
  assert.deepEqual(ran, ['a', 'b', 'a'])
})

test('a payer with long slices has fewer turns', async () => {
  const { clock, ran, run } = open()
  for (let slice = 0; slice < 100; slice += 1) {
    void run('long', 10)
    void run('short', 1)
  }
  for (let ms = 0; ms < 300; ms += 1) {
    clock.advance(1)
    await settled()
  }
  const turnsOf = (payer: string): number => ran.filter((one) => one === payer).length
  assert.ok(turnsOf('short') >= 4 * turnsOf('long'), `${turnsOf('short')} and ${turnsOf('long')}`)
  assert.ok(turnsOf('long') >= 5)
})

test('a payer has one slice at a time, and all payers together have four', async () => {
  const { turns } = open()
  const running: string[] = []
  const ends: (() => void)[] = []
  const run = (payer: string) =>
    void turns.run(payer, async () => {
      running.push(payer)
      await new Promise<void>((resolve) => ends.push(resolve))
    })
  for (const payer of ['a', 'a', 'b', 'c', 'd', 'e']) run(payer)
  await settled()
  assert.deepEqual(running, ['a', 'b', 'c', 'd'])
  ends.shift()?.()
  await settled()
  assert.deepEqual(running, ['a', 'b', 'c', 'd', 'e'])
  ends.shift()?.()
  await settled()
  assert.deepEqual(running, ['a', 'b', 'c', 'd', 'e', 'a'])
})

test('a slice that fails ends its turn', async () => {
  const { turns, ran, run } = open()
  await assert.rejects(
    turns.run('a', () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  await run('a', 1)
  assert.deepEqual(ran, ['a'])
})
