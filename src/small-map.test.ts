import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom } from '../test/support/random.ts'
import { SmallMap } from './small-map.ts'

const KEYS = ['a', 'b', 'c', 'd'] as const

describe('a small map', () => {
  it('answers as a Map does, whatever was set and deleted before', () => {
    const random = createRandom(1)
    const small = new SmallMap<string, number>()
    const map = new Map<string, number>()
    const sizes = new Set<number>()
    for (let step = 0; step < 5_000; step += 1) {
      const key = KEYS[Math.floor(random() * KEYS.length)] as string
      if (random() < 0.5) {
        small.set(key, step)
        map.set(key, step)
      } else assert.equal(small.delete(key), map.delete(key))
      sizes.add(map.size)
      assert.equal(small.size, map.size)
      assert.deepEqual([...small], [...map])
      assert.deepEqual([...small.keys()], [...map.keys()])
      assert.deepEqual([...small.values()], [...map.values()])
      for (const asked of KEYS) {
        assert.equal(small.get(asked), map.get(asked))
        assert.equal(small.has(asked), map.has(asked))
      }
    }
    assert.equal(sizes.size, KEYS.length + 1)
  })

  it('lets its keys be deleted by the one who goes through them', () => {
    for (const keys of [[], ['a'], ['a', 'b', 'c']]) {
      const small = new SmallMap<string, number>()
      for (const [index, key] of keys.entries()) small.set(key, index)
      const seen: string[] = []
      for (const key of small.keys()) {
        seen.push(key)
        small.delete(key)
      }
      assert.deepEqual(seen, keys)
      assert.equal(small.size, 0)
    }
  })

  it('keeps a value that is undefined', () => {
    const small = new SmallMap<object, undefined>()
    const key = {}
    small.set(key, undefined)
    assert.equal(small.size, 1)
    assert.equal(small.has(key), true)
    assert.deepEqual([...small.values()], [undefined])
  })
})
