import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedCache } from './bounded-cache.ts'

test('a full cache keeps what is asked for and drops what is not', () => {
  const cache = new BoundedCache<number>(100)
  cache.set('busy', 1)
  for (let number = 0; number < 1000; number += 1) {
    cache.set(`k${number}`, number)
    assert.equal(cache.get('busy'), 1)
  }
  const kept = Array.from({ length: 1000 }, (_, number) => cache.get(`k${number}`)).filter(
    (value) => value !== undefined,
  )
  assert.ok(kept.length <= 100)
  assert.equal(cache.get('k0'), undefined)
})

test('what was deleted is gone wherever it was', () => {
  const cache = new BoundedCache<number>(4)
  for (const key of ['a', 'b', 'c']) cache.set(key, 1)
  for (const key of ['a', 'b', 'c']) cache.delete(key)
  for (const key of ['a', 'b', 'c']) assert.equal(cache.get(key), undefined)
})
