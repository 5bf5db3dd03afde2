import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUND_NAMES, ORGANIZATION_BOUNDS } from '../../../src/organization-bounds.ts'
import { GROUPS, wordsOf } from './bound-words.ts'
import { nearnessOf, percentText, quantity, readTyped, typedOf, usePart } from './quantities.ts'

const MIB = 1_048_576

test('a use and its bound are written in the units in which people think', () => {
  assert.equal(usePart(12_340, 50_000, 'count'), '12,340 of 50,000')
  assert.equal(usePart(12.3 * MIB, 32 * MIB, 'bytes'), '12.3 MiB of 32 MiB')
  assert.equal(usePart(40, 5_000, 'per second'), '40 of 5,000 a second')
  assert.equal(usePart(0, 8 * MIB, 'bytes per second'), '0 B of 8 MiB a second')
  assert.equal(usePart(120.44, 500, 'ms per second'), '120 of 500 ms a second')
  assert.equal(usePart(0.5, 200, 'per second'), '0.5 of 200 a second')
  assert.equal(quantity(1000 * MIB, 'bytes'), '1,000 MiB')
  assert.equal(quantity(1024 * MIB, 'bytes'), '1 GiB')
})

test('the share is rounded down, and a bound of 0 has no division by zero', () => {
  assert.equal(percentText(9_999, 10_000), '99 %')
  assert.equal(percentText(25_000, 10_000), '250 %')
  assert.equal(percentText(0, 0), '0 %')
  assert.equal(percentText(3, 0), 'over 100 %')
})

test('a use is near from 80 % on and at the bound from 100 % on; an average in a second from 95 % on', () => {
  for (const [used, maximum, expected] of [
    [null, 100, 'far'],
    [0, 100, 'far'],
    [79, 100, 'far'],
    [80, 100, 'near'],
    [99, 100, 'near'],
    [100, 100, 'at'],
    [250, 100, 'at'],
    [0, 0, 'far'],
    [1, 0, 'at'],
  ] as const) {
    assert.equal(nearnessOf(used, maximum, 'count'), expected, `${used} of ${maximum}`)
  }
  assert.deepEqual(
    [94, 95].map((used) => nearnessOf(used, 100, 'per second')),
    ['near', 'at'],
  )
})

test('every bound in force is typed as it is read, for all defaults and ends of ranges', () => {
  for (const name of BOUND_NAMES) {
    const definition = ORGANIZATION_BOUNDS[name]
    for (const value of [definition.default, definition.minimum, definition.maximum]) {
      assert.deepEqual(readTyped(typedOf(value, definition.unit), definition), { ok: true, value }, name)
    }
  }
  assert.deepEqual(typedOf(32 * MIB, 'bytes'), { text: '32', step: 'MiB' })
  assert.deepEqual(typedOf(32 * MIB + 1, 'bytes'), { text: '33554433', step: 'B' })
  assert.deepEqual(typedOf(0, 'bytes'), { text: '0', step: 'B' })
  assert.deepEqual(typedOf(10_000, 'count'), { text: '10000', step: '' })
})

test('a value that no bound can have is refused with a sentence', () => {
  const { sessions, retainedBytes, publishedBytesPerSecond } = ORGANIZATION_BOUNDS
  const read = (text: string): unknown => readTyped({ text, step: '' }, sessions)
  assert.deepEqual(read(' 12,340 '), { ok: true, value: 12_340 })
  for (const text of ['', ' ', '-5', '1e6', 'many', '12,34', '1.', '0x10', 'NaN'])
    assert.deepEqual(read(text), { ok: false, fault: 'Write a number, such as 20000.' }, text)
  assert.deepEqual(read('1.5'), { ok: false, fault: 'Write a whole number.' })
  for (const text of ['0', '10000001', '9'.repeat(400)])
    assert.deepEqual(read(text), { ok: false, fault: 'Choose a value from 1 to 10,000,000.' }, text)
  assert.deepEqual(readTyped({ text: '1.5', step: 'MiB' }, retainedBytes), { ok: true, value: 1.5 * MIB })
  assert.deepEqual(readTyped({ text: '1', step: 'GiB' }, retainedBytes), {
    ok: false,
    fault: 'Choose a value from 0 B to 256 MiB.',
  })
  assert.deepEqual(readTyped({ text: '5', step: 'B' }, publishedBytesPerSecond), {
    ok: false,
    fault: 'Choose a value from 1 KiB to 64 GiB a second.',
  })
})

test('every bound has words, and every group has bounds', () => {
  const groups = BOUND_NAMES.map((name) => wordsOf(name)?.group)
  assert.deepEqual(new Set(groups), new Set(GROUPS))
  assert.equal(wordsOf('bound-of-a-newer-service'), undefined)
  assert.equal(wordsOf('toString'), undefined)
})
