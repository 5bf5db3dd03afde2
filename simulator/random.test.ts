import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom } from './random.ts'

describe('seeded randomness', () => {
  it('repeats from its seed', () => {
    assert.deepEqual(numbers(7), numbers(7))
    assert.notDeepEqual(numbers(7), numbers(8))
  })

  it('forks into streams that do not depend on how much was used before', () => {
    const used = createRandom(7)
    used.next()
    assert.equal(used.fork('a').next(), createRandom(7).fork('a').next())
    assert.notEqual(used.fork('a').next(), used.fork('b').next())
  })

  it('keeps to its bounds and is spread evenly', () => {
    const random = createRandom(3)
    const counts = [0, 0, 0, 0]
    for (let count = 0; count < 4000; count += 1) {
      const whole = random.integer(0, 3)
      counts[whole] = (counts[whole] ?? 0) + 1
      const between = random.between(-2, 5)
      assert.ok(between >= -2 && between < 5)
      assert.ok(Number.isFinite(random.normal(0, 1)))
    }
    assert.equal(counts.length, 4)
    for (const count of counts) assert.ok(Math.abs(count - 1000) < 150, String(counts))
    assert.match(random.hex(8), /^[0-9a-f]{16}$/)
  })
})

function numbers(seed: number): number[] {
  const random = createRandom(seed)
  return Array.from({ length: 100 }, () => random.next())
}
