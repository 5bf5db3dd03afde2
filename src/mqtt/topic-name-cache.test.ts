import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Topic } from './topic.ts'
import { TopicNameCache } from './topic-name-cache.ts'

test('a remembered name is found by its bytes, wherever they stand, and no other is', () => {
  const cache = new TopicNameCache()
  const remembered = new Set<string>()
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 140 }), fc.nat(5), (name, start) => {
      const bytes = Buffer.concat([Buffer.alloc(start), Buffer.from(name), Buffer.from('rest')])
      const end = bytes.length - 4
      const found = cache.find(bytes, start, end)
      assert.ok(found === undefined || (found.name === name && remembered.has(name)))
      cache.remember(new Topic(name), bytes, start, end)
      remembered.add(name)
      const isKept = Buffer.byteLength(name) === name.length && name.length <= 128
      assert.equal(cache.find(bytes, start, end)?.name, isKept ? name : undefined)
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
      if (found === undefined) cache.remember(new Topic(bytes.toString()), bytes, 0, bytes.length)
      else if (found.name !== bytes.toString()) assert.fail(`${found.name} was given for ${bytes.toString()}`)
    }
  }
})

test('the names of a fleet of 100,000 devices are nearly all found again, and as the same objects', () => {
  const cache = new TopicNameCache()
  const names = Array.from({ length: 100_000 }, (_, device) =>
    Buffer.from(`application/${device % 1_000}/device/${device.toString(16).padStart(16, '0')}/event/up`),
  )
  const topics = names.map((name) => new Topic(name.toString()))
  topics.forEach((topic, index) => cache.remember(topic, names[index] as Buffer, 0, topic.name.length))
  const found = names.filter((name, index) => cache.find(name, 0, name.length) === topics[index])
  assert.ok(found.length > 99_000, `${found.length}`)
})

test('after a flood of names the newest ones are found, and a fleet is found again once it has sent', () => {
  const cache = new TopicNameCache()
  const remember = (name: Buffer): void => cache.remember(new Topic(name.toString()), name, 0, name.length)
  for (let index = 0; index < 400_000; index += 1) remember(Buffer.from(`flood/${index}`))
  let found = 0
  for (let index = 0; index < 400_000; index += 1) {
    const name = Buffer.from(`flood/${index}`)
    if (cache.find(name, 0, name.length) !== undefined) found += 1
  }
  assert.ok(found <= 131_072, `${found}`)
  const fleet = Array.from({ length: 1_000 }, (_, index) => Buffer.from(`fleet/${index}`))
  for (const name of fleet) remember(name)
  const known = fleet.filter((name) => cache.find(name, 0, name.length)?.name === name.toString())
  assert.ok(known.length > 950, `${known.length}`)
})
