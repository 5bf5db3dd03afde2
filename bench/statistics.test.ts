import assert from 'node:assert/strict'
import test from 'node:test'
import { median, medianRatio } from './statistics.ts'

test('the median is the middle value, or the mean of the middle two', () => {
  assert.equal(median([9, 1, 5]), 5)
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.equal(median([7]), 7)
  assert.ok(Number.isNaN(median([])))
})

test('ratios are taken within a round, so that a slow round tells nothing wrong', () => {
  const ours = new Map([
    [0, 1],
    [1, 10],
    [2, 2],
  ])
  const theirs = new Map([
    [0, 2],
    [1, 20],
    [2, 5],
  ])
  assert.equal(medianRatio(ours, theirs), 0.5)
})

test('a round that only one of both has is left out', () => {
  assert.equal(
    medianRatio(
      new Map([
        [0, 3],
        [1, 8],
      ]),
      new Map([[1, 2]]),
    ),
    4,
  )
  assert.ok(Number.isNaN(medianRatio(new Map([[0, 3]]), new Map())))
})
