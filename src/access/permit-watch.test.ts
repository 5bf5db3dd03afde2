import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermitWatch } from './permit-watch.ts'
import type { HeldPermit } from './permit-watch.ts'

function permitOn(...grounds: readonly string[]): HeldPermit {
  return { grounds, seenChanges: 0, tell: () => {}, recheck: () => Promise.resolve(undefined) }
}

test('a ground tells all permits that rest on it, be they none, one or many', () => {
  const watch = new PermitWatch()
  const [one, two, three] = [permitOn('user:1', 'token:a'), permitOn('user:1', 'token:a'), permitOn('user:1')]
  assert.deepEqual(watch.restingOn('user:1'), [])
  watch.add(one)
  assert.deepEqual(watch.restingOn('user:1'), [one])
  watch.add(two)
  watch.add(three)
  assert.deepEqual(watch.restingOn('user:1'), [one, two, three])
  assert.deepEqual(watch.restingOn('token:a'), [one, two])
})

test('a permit that was let go is told nothing, and the others on its grounds still are', () => {
  const watch = new PermitWatch()
  const [one, two] = [permitOn('user:1', 'token:a'), permitOn('user:1', 'token:b')]
  watch.add(one)
  // Removing another permit on the same ground does not remove this permit.
  watch.remove(two)
  assert.deepEqual(watch.restingOn('user:1'), [one])
  watch.add(two)
  watch.remove(one)
  assert.deepEqual(watch.restingOn('user:1'), [two])
  assert.deepEqual(watch.restingOn('token:a'), [])
  watch.remove(two)
  assert.deepEqual(watch.restingOn('user:1'), [])
})

test('telling a permit may let it go: who rests on a ground is a list of its own', () => {
  const watch = new PermitWatch()
  const permits = [permitOn('user:1'), permitOn('user:1'), permitOn('user:1')]
  for (const permit of permits) watch.add(permit)
  const told: HeldPermit[] = []
  for (const permit of watch.restingOn('user:1')) {
    told.push(permit)
    watch.remove(permit)
  }
  assert.deepEqual(told, permits)
})
