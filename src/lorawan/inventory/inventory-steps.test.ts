import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { InventorySteps } from './inventory-steps.ts'
import type { InventoryStep } from './inventory-steps.ts'

const SETTINGS = {
  applications: undefined,
  createsApplications: false,
  givesIds: false,
  profiles: 'NONE',
  tags: {},
} as const

function stepOf(organizationId: string, networkServer: string, ranAtMs: number | null): InventoryStep {
  return {
    networkServer,
    organizationId,
    isOfDeployment: false,
    settings: { ...SETTINGS, organizationId },
    intervalSeconds: 300,
    removesMissing: false,
    last: ranAtMs === null ? null : { ranAtMs, code: '', message: '', report: null },
  }
}

function openSteps(isWatcher = true) {
  const clock = new TestClock(1_000_000_000)
  const errors: unknown[] = []
  const stored: InventoryStep[] = []
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const steps = new InventorySteps({
    steps: async () => stored,
    run: ({ organizationId, networkServer }) => {
      begun.push(`${organizationId} ${networkServer}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.set(`${organizationId} ${networkServer}`, resolve)
      return promise
    },
    isWatcher: async () => isWatcher,
    clock,
    log: { debug() {}, info() {}, warn() {}, error: (fields) => errors.push(fields) },
  })
  return { clock, steps, stored, begun, ends, errors }
}

test('a step runs at once, and then when its interval has passed', async () => {
  const { clock, steps, stored, begun, ends } = openSteps()
  stored.push(stepOf('1', 'new', null), stepOf('2', 'fresh', clock.now() - 299_000))
  await steps.look()
  assert.deepEqual(begun, ['1 new'])
  ends.get('1 new')?.()
  await steps.settled()
  stored[0] = stepOf('1', 'new', clock.now())
  clock.advance(1_000)
  await steps.look()
  assert.deepEqual(begun, ['1 new', '2 fresh'])
})

test('a step whose last run is in the future runs: the clock was set back', async () => {
  const { clock, steps, stored, begun } = openSteps()
  stored.push(stepOf('1', 'main', clock.now() + 86_400_000))
  await steps.look()
  assert.deepEqual(begun, ['1 main'])
})

test('an organization runs one step at a time, and all organizations four', async () => {
  const { steps, stored, begun, ends } = openSteps()
  stored.push(stepOf('1', 'a', null), stepOf('1', 'b', null))
  for (const id of ['2', '3', '4', '5']) stored.push(stepOf(id, 'a', null))
  await steps.look()
  assert.deepEqual(begun, ['1 a', '2 a', '3 a', '4 a'])
  ends.get('1 a')?.()
  // The end of a run is noted some turns after it.
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
  stored.splice(0, 1)
  await steps.look()
  assert.deepEqual(begun.slice(4), ['1 b'])
})

test('a process that is not the watcher runs nothing', async () => {
  const { steps, stored, begun } = openSteps(false)
  stored.push(stepOf('1', 'a', null))
  await steps.look()
  assert.deepEqual(begun, [])
})

test('a tick looks every ten seconds, and close waits for the runs under way', async () => {
  const { clock, steps, stored, begun, ends } = openSteps()
  stored.push(stepOf('1', 'a', null))
  steps.tick()
  await steps.look()
  stored.push(stepOf('2', 'a', null))
  clock.advance(9_999)
  steps.tick()
  assert.deepEqual(begun, ['1 a'])
  clock.advance(1)
  steps.tick()
  await steps.look()
  assert.deepEqual(begun, ['1 a', '2 a'])
  let isClosed = false
  const closing = steps.close().then(() => {
    isClosed = true
    return undefined
  })
  ends.get('1 a')?.()
  await Promise.resolve()
  assert.equal(isClosed, false)
  ends.get('2 a')?.()
  await closing
  stored.push(stepOf('3', 'a', null))
  clock.advance(60_000)
  steps.tick()
  assert.equal(begun.length, 2)
})
