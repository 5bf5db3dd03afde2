import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readinessOf } from './readiness.ts'
import type { ReadinessParts } from './readiness.ts'

function partsOf(overrides: Partial<ReadinessParts> = {}): ReadinessParts {
  return {
    broker: { isClosing: false, isDraining: false },
    engine: { health: () => ({ canWrite: true, reason: '' }) },
    registry: { health: () => '' },
    ...overrides,
  }
}

test('a node is ready when it can write and read the registry', () => {
  assert.deepEqual(readinessOf(partsOf(), undefined), { ready: true, reason: '' })
})

test('a node that ends or drains is not ready, nor is one that can’t write or read the registry', () => {
  const engine = { health: () => ({ canWrite: false, reason: 'the disk is full' }) }
  const registry = { health: () => 'the registry is away' }
  for (const [overrides, reason] of [
    [{ broker: { isClosing: true, isDraining: true }, engine }, 'shutting down'],
    [{ broker: { isClosing: false, isDraining: true }, engine }, 'draining'],
    [{ engine, registry }, 'the disk is full'],
    [{ registry }, 'the registry is away'],
  ] as const) {
    assert.deepEqual(readinessOf(partsOf(overrides), undefined), { ready: false, reason })
  }
})

test('a node that is cut off from the others is not ready', () => {
  assert.equal(readinessOf(partsOf(), { isCutOff: false }).ready, true)
  const reason = 'this node can’t reach the other nodes'
  assert.deepEqual(readinessOf(partsOf(), { isCutOff: true }), { ready: false, reason })
})
