import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InOrder, Together } from './sequences.ts'

test('a reader in order: repetitions are counted, a gap is told, and each Topic Name begins where it begins', () => {
  const record = new InOrder()
  for (const sequence of [5, 6, 7, 6, 7, 8]) record.take('a', sequence)
  record.take('b', 90)
  assert.deepEqual([record.received, record.repeated, record.gaps], [7, 2, []])
  assert.deepEqual(
    [record.hasAllUpTo('a', 8), record.hasAllUpTo('a', 9), record.hasAllUpTo('c', 0)],
    [true, false, false],
  )
  record.take('a', 10)
  assert.deepEqual(record.gaps, ['a: 10 came in the place of 9'])
})

test('readers that share a subscription: any order is accepted, and missing messages are found', () => {
  const record = new Together()
  for (const sequence of [1, 0, 3, 1, 3]) record.take('a', sequence)
  assert.deepEqual([record.received, record.repeated], [5, 2])
  assert.deepEqual([record.hasAllUpTo('a', 1), record.hasAllUpTo('a', 3)], [true, false])
  record.take('a', 2)
  assert.equal(record.hasAllUpTo('a', 3), true)
})
