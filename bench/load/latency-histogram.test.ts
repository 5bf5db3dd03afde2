import assert from 'node:assert/strict'
import test from 'node:test'
import { LatencyHistogram } from './latency-histogram.ts'

test('percentiles are within 1 % of the samples’ own', () => {
  const histogram = new LatencyHistogram()
  for (let ms = 1; ms <= 1_000; ms += 1) histogram.record(ms / 10)
  for (const [share, expected] of [
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ] as const) {
    const found = histogram.percentile(share)
    assert.ok(found >= expected * 0.999 && found <= expected * 1.011, `${share}: ${found}`)
  }
  assert.equal(histogram.percentiles().maximum, 100)
})

test('a single sample is every percentile', () => {
  const histogram = new LatencyHistogram()
  histogram.record(7)
  assert.deepEqual(histogram.percentiles(), { p50: 7, p99: 7, maximum: 7 })
})

test('without samples there is no percentile', () => {
  assert.ok(Number.isNaN(new LatencyHistogram().percentile(0.5)))
})

test('what is out of range is kept at the ends', () => {
  const histogram = new LatencyHistogram()
  histogram.record(0)
  histogram.record(1e9)
  assert.ok(histogram.percentile(0.5) <= 0.001)
  assert.equal(histogram.percentiles().maximum, 1e9)
})
