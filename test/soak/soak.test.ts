import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FILLING_CACHES_BYTES, assertBounded, runSoak } from './soak-run.ts'

test(
  'clients come and go for 20 seconds: nothing is lost, and memory and disk stay bounded',
  { timeout: 300_000 },
  async (t) => {
    const { acknowledged, received, repeated, visits, samples } = await runSoak({ ms: 20_000, sampleMs: 1_000 })
    t.diagnostic(`${acknowledged} acknowledged, ${received} received in ${visits} visits, ${repeated} of them again`)
    assert.ok(acknowledged > 1_000 && visits > 50 && samples.length > 5, 'there was load')
    assertBounded(samples, FILLING_CACHES_BYTES)
  },
)

const sample = (mib: number) => ({ rssBytes: mib * 1_048_576, heapBytes: 1, diskBytes: 1 })

test('growth is noticed', () => {
  const margin = 64 * 1_048_576
  assertBounded([sample(100), sample(120), sample(150), sample(180)], margin)
  assert.throws(() => assertBounded([sample(100), sample(120), sample(150), sample(200)], margin), /rssBytes: 120 MiB/)
})
