import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { EXACT_COUNT, SpreadSeries } from './spread.ts'

function spreadOf(values: readonly number[]) {
  const series = new SpreadSeries()
  for (const value of values) series.add(value)
  return series.spread()
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]] as [
    number,
    number,
  ]
  return Number.isFinite(low + high) ? (low + high) / 2 : low / 2 + high / 2
}

const number = fc.double({ noNaN: true, noDefaultInfinity: true })

test('a series without numbers has no spread', () => {
  assert.equal(spreadOf([]), undefined)
})

test('the median of two numbers is exact for the smallest and the largest ones', () => {
  for (const value of [5e-324, -5.4e-323, Number.MAX_VALUE, -Number.MAX_VALUE]) {
    assert.equal(spreadOf([value, value])?.median, value)
  }
})

test('up to the bound the spread is that of a plain calculation', () => {
  const values = fc.array(fc.oneof(number, fc.integer({ min: -3, max: 3 })), { minLength: 1, maxLength: EXACT_COUNT })
  fc.assert(
    fc.property(values, (all) => {
      // Without the difference of 0 and -0.
      assert.deepEqual(
        Object.values(spreadOf(all) ?? {}).map((value) => value + 0),
        [Math.min(...all), medianOf(all), Math.max(...all), all.length].map((value) => value + 0),
      )
    }),
  )
})

test('beyond the bound the rank of the median is wrong by 1 % of the count at most, and the rest is exact', () => {
  for (const count of [EXACT_COUNT + 1, 3_000, 50_000, 500_000]) {
    const orders = {
      rising: (index: number) => index,
      falling: (index: number) => count - 1 - index,
      mixed: (index: number) => (index * 7_919) % count,
      halves: (index: number) => (index % 2 === 0 ? index : count - index),
    }
    for (const [name, valueOf] of Object.entries(orders)) {
      const values = Array.from({ length: count }, (_, index) => valueOf(index))
      const { min, median, max, count: counted } = spreadOf(values) ?? assert.fail()
      const sorted = values.toSorted((one, other) => one - other)
      assert.deepEqual([min, max, counted], [sorted[0], sorted.at(-1), count])
      const rank = sorted.findIndex((value) => value >= median)
      assert.ok(Math.abs(rank - count / 2) <= count / 100, `${name} of ${count}: ${rank}`)
    }
  }
})
