import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryBudget } from './memory-budget.ts'

const GIGABYTE = 2 ** 30

test('the memory that the process holds is told at once, however many objects there are', () => {
  const { maximumBytes, residentBytes } = memoryBudget(GIGABYTE)
  assert.equal(maximumBytes, GIGABYTE)
  const held = Array.from({ length: 1_000_000 }, (_, index) => ({ index }))
  const startedMs = performance.now()
  for (let times = 0; times < 200; times += 1) assert.ok(residentBytes() > 0)
  const eachMs = (performance.now() - startedMs) / 200
  assert.ok(eachMs < 2, `${eachMs.toFixed(2)} ms`)
  assert.equal(held.at(-1)?.index, 999_999)
})

test('a small process is near neither its budget nor the end of its heap', () => {
  const { maximumBytes, residentBytes } = memoryBudget(1_000 * GIGABYTE)
  const held = Array.from({ length: 2_000_000 }, (_, index) => ({ index }))
  assert.ok(residentBytes() < maximumBytes / 10, `${residentBytes()}`)
  assert.equal(held.length, 2_000_000)
})

test('without a setting, the budget is a part of the memory that there is', () => {
  const { maximumBytes } = memoryBudget(0)
  assert.ok(Number.isInteger(maximumBytes) && maximumBytes > 0)
})
