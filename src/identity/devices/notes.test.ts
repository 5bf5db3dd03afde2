import assert from 'node:assert/strict'
import { test } from 'node:test'
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
    Array.from({ length: 9 }, () => 100),
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
