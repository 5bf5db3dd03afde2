import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { TopicNameCache } from './topic-name-cache.ts'

test('a remembered name is found by its bytes, wherever they stand, and no other is', () => {
  const cache = new TopicNameCache()
  const remembered = new Set<string>()
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 140 }), fc.nat(5), (name, start) => {
      const bytes = Buffer.concat([Buffer.alloc(start), Buffer.from(name), Buffer.from('rest')])
      const end = bytes.length - 4
      assert.ok(cache.find(bytes, start, end) === undefined || remembered.has(name))
      cache.remember(name, bytes, start, end)
      remembered.add(name)
      const isKept = Buffer.byteLength(name) === name.length && name.length <= 128
      assert.equal(cache.find(bytes, start, end), isKept ? name : undefined)
    }),
    { numRuns: 2000 },
  )
})

test('names that meet in one place do not pass for one another', () => {
  const cache = new TopicNameCache()
  for (let round = 0; round < 2; round += 1) {
    for (let index = 0; index < 300_000; index += 1) {
      const bytes = Buffer.from(`application/1/device/${index.toString(16).padStart(16, '0')}/event/up`)
      const found = cache.find(bytes, 0, bytes.length)
      if (found === undefined) cache.remember(bytes.toString(), bytes, 0, bytes.length)
      else if (found !== bytes.toString()) assert.fail(`${found} was given for ${bytes.toString()}`)
    }
  }
})
