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

test('values of all sizes stay within the bound on their sum, and a replaced or deleted value counts no more', () => {
  const cache = new BoundedCache<string>(1_000, { maximum: 100, sizeOf: (text) => text.length })
  const keys = Array.from({ length: 50 }, (_, number) => `k${number}`)
  const kept = () => keys.map((key) => cache.get(key)?.length ?? 0).reduce((sum, size) => sum + size)
  for (const key of keys) {
    cache.set(key, 'x'.repeat(10))
    cache.set(key, 'x'.repeat(10))
    cache.set('other', 'x'.repeat(9))
    cache.delete('other')
  }
  assert.ok(kept() >= 50 && kept() <= 100, String(kept()))
  cache.clear()
  assert.equal(kept(), 0)
  cache.set('k1', 'x'.repeat(1_000))
  assert.equal(kept(), 1_000, 'a single value is kept however large it is')
})
