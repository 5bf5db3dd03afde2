import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counted, rate, size } from './amounts.ts'

test('amounts are as short as they are readable', () => {
  assert.deepEqual(['0', '1234', '99999', '123456', '2000000'].map(counted), ['0', '1,234', '99,999', '123.5K', '2M'])
  assert.deepEqual([0, 0.2, 3.249, 42, 1234.6].map(rate), ['0/s', '0.2/s', '3.2/s', '42/s', '1,235/s'])
  assert.deepEqual([0, 999, 1000, 999_600, 5_000_000_000].map(size), ['0 B', '999 B', '1 kB', '1 MB', '5 GB'])
})
