import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldBytes } from './held-bytes.ts'

test('bytes that fill their buffer are not copied', () => {
  const bytes = Buffer.from('hello')
  assert.equal(heldBytes({ bytes, start: 0, end: 5 }, false), bytes)
})

test('lent bytes stay as they are when their memory is used again', () => {
  const bytes = Buffer.alloc(100, 'a')
  for (const end of [100, 5]) {
    const held = heldBytes({ bytes, start: 0, end }, true)
    bytes.fill('b')
    assert.equal(held.toString(), 'a'.repeat(end))
    bytes.fill('a')
  }
})

test('a part keeps no buffer in memory that is much larger, and is copied only for that', () => {
  const bytes = Buffer.alloc(65_536)
  assert.notEqual(heldBytes({ bytes, start: 100, end: 350 }, false).buffer, bytes.buffer)
  assert.equal(heldBytes({ bytes, start: 100, end: 40_000 }, false).buffer, bytes.buffer)
})
