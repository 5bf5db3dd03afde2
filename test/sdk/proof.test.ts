import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prove } from './proof/proof.ts'

test('each event is handed over once and in order, over kills and lost networks', { timeout: 120_000 }, async (t) => {
  const counts = await prove({
    language: 'ts',
    kills: 2,
    events: 2_000,
    seed: 3,
    loadMs: [200, 800],
    tokenSeconds: 4,
    say: (line) => t.diagnostic(line),
  })
  assert.equal(counts.published, 2_000)
  assert.equal(counts.handedOver, counts.stored)
})
