import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import type { Store } from '../store/store.ts'
import { writeNotes } from './notes.ts'

const notes = Array.from({ length: 900 }, (_, number) => number)

/** Writes 900 notes. Returns the sizes of the statements. */
async function written(dialect: Store['dialect']): Promise<number[]> {
  const sizes: number[] = []
  const all: number[] = []
  await writeNotes({ dialect } as Store, notes, async (some) => {
    sizes.push(some.length)
    all.push(...some)
  })
  assert.deepEqual(all, notes)
  return sizes
}

test('notes are written in order, in small statements in SQLite, and in larger ones in PostgreSQL', async () => {
  assert.deepEqual(
    await written('sqlite'),
    Array.from({ length: 36 }, () => 25),
  )
  assert.deepEqual(await written('postgres'), [400, 400, 100])
})

test('a failure ends the writing', async () => {
  let statements = 0
  const failing = writeNotes({ dialect: 'sqlite' } as Store, notes, async () => {
    statements += 1
    if (statements === 2) throw new Error('busy')
  })
  await assert.rejects(failing, { message: 'busy' })
  assert.equal(statements, 2)
})

test('the writing pauses between two statements in SQLite, unless it is urgent', async () => {
  for (const [dialect, isUrgent, statements] of [
    ['sqlite', false, 1],
    ['sqlite', true, 36],
    ['postgres', false, 3],
  ] as const) {
    const clock = new TestClock()
    let done = 0
    const writing = writeNotes(
      { dialect } as Store,
      notes,
      async () => {
        done += 1
        clock.advance(2)
      },
      { clock, isUrgent },
    )
    await new Promise(setImmediate)
    assert.equal(done, statements)
    if (clock.pending > 0) {
      clock.advance(13)
      await new Promise(setImmediate)
      assert.equal(done, 1, 'seven times the 2 ms of the statement')
    }
    while (clock.pending > 0) {
      clock.advance(1)
      await new Promise(setImmediate)
    }
    await writing
  }
})
