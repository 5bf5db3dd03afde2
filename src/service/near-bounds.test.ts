import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import type { SteadyMs } from '../clock.ts'
import { BoundsByOrganization } from '../organization-bounds.ts'
import type { OrganizationUsage } from '../organization-bounds.ts'
import { MAXIMUM_MEASURED, MAXIMUM_NEAR, NearBounds } from './near-bounds.ts'
import { joinUsage } from './organization-usage.ts'

function setUp() {
  const uses = new Map<string, OrganizationUsage>()
  const bounds = new BoundsByOrganization()
  const logged: unknown[] = []
  const looked: string[] = []
  let nowMs = 5_000
  const nearBounds = new NearBounds({
    usage: {
      usageOf: (organizationId) => {
        looked.push(organizationId)
        return uses.get(organizationId) ?? {}
      },
      organizations: () => uses.keys(),
    },
    bounds,
    nameOf: async (organizationId) => {
      if (organizationId === 'gone') throw new Error('the registry is damaged')
      return `name of ${organizationId}`
    },
    clock: { steady: () => nowMs as SteadyMs },
    log: { warn: (fields, message) => logged.push({ ...fields, message }) },
  })
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      nowMs += 1_000
      nearBounds.tick()
    }
    await nextTurn()
  }
  return { uses, bounds, logged, looked, nearBounds, pass }
}

const MESSAGE = 'organization.near_bound'

function told(used: number) {
  const organization = { organizationId: '7', organizationName: 'name of 7' }
  return { ...organization, bound: 'sessions', used, maximum: 10_000, message: MESSAGE }
}

test('a bound of which 80 % are used is told once, and again after its use was below 70 %', async () => {
  const { uses, logged, nearBounds, pass } = setUp()
  for (const [used, lines] of [
    [7_999, []],
    [8_000, [told(8_000)]],
    [12_000, [told(8_000)]],
    [7_000, [told(8_000)]],
    [8_500, [told(8_000)]],
    [6_999, [told(8_000)]],
    [8_500, [told(8_000), told(8_500)]],
  ] as const) {
    uses.set('7', { sessions: used, connections: 1 })
    await pass(10)
    assert.deepEqual(logged, lines, String(used))
    const isNear = used >= 8_000
    assert.deepEqual(
      nearBounds.nearest,
      isNear ? [{ organizationId: '7', bound: 'sessions', used, maximum: 10_000 }] : [],
    )
  }
})

test('each bound of an organization is told by itself, by the bound that the organization was given', async () => {
  const { uses, bounds, logged, pass } = setUp()
  bounds.override('7', { sessions: 10, retainedMessages: 0 })
  uses.set('7', { sessions: 8, retainedMessages: 0, subscriptions: 45_000 })
  await pass(10)
  uses.set('7', { sessions: 8, retainedMessages: 1, subscriptions: 45_000 })
  await pass(10)
  assert.deepEqual(
    logged.map((line) => (line as { readonly bound: string }).bound),
    ['sessions', 'subscriptions', 'retainedMessages'],
  )
})

test('an organization that is gone ends its notices, and one that the registry can’t name is told without name', async () => {
  const { uses, logged, nearBounds, pass } = setUp()
  const line = { organizationId: 'gone', organizationName: '', bound: 'sessions', used: 9_999, maximum: 10_000 }
  uses.set('gone', { sessions: 9_999 })
  await pass(10)
  assert.equal(nearBounds.nearest.length, 1)
  uses.clear()
  await pass(10)
  assert.equal(nearBounds.nearest.length, 0)
  assert.equal(nearBounds.measured.length, 1)
  await pass(10)
  assert.equal(nearBounds.measured.length, 0)
  uses.set('gone', { sessions: 9_999 })
  await pass(10)
  assert.deepEqual(logged, [
    { ...line, message: MESSAGE },
    { ...line, message: MESSAGE },
  ])
})

test('a round begins every ten seconds, and looks at 250 organizations in a second', async () => {
  const { uses, looked, nearBounds, pass } = setUp()
  for (let count = 0; count < 600; count += 1) uses.set(String(count), { sessions: count, connections: 3 })
  await pass(1)
  assert.equal(looked.length, 250)
  assert.deepEqual(nearBounds.measured, [])
  await pass(2)
  assert.equal(looked.length, 600)
  assert.equal(new Set(looked).size, 600)
  assert.equal(nearBounds.measured.length, MAXIMUM_MEASURED)
  await pass(7)
  assert.equal(looked.length, 600)
  await pass(1)
  assert.equal(looked.length, 850)
})

test('the nearest are kept of many, in their order', async () => {
  const { uses, bounds, nearBounds, pass } = setUp()
  for (let count = 0; count < 900; count += 1) {
    uses.set(String(count), { sessions: 9_000 + ((count * 7) % 900), storedBytes: 1 })
  }
  bounds.override('5', { retainedMessages: 0 })
  bounds.override('6', { retainedMessages: 0 })
  for (const id of ['5', '6']) uses.set(id, { retainedMessages: 1 })
  await pass(4)
  const used = nearBounds.nearest.map((near) => near.used)
  assert.equal(used.length, MAXIMUM_NEAR)
  assert.deepEqual(used.slice(0, 5), [1, 1, 9_899, 9_898, 9_897])
  assert.deepEqual(
    used.slice(2),
    used.slice(2).toSorted((one, other) => other - one),
  )
  assert.deepEqual(nearBounds.measured.slice(0, 2).toSorted(), ['5', '6'])
  assert.equal(nearBounds.measured.length, MAXIMUM_MEASURED)
})

test('the use of an organization is joined of all rooms', () => {
  const joined = joinUsage([
    { usageOf: (id) => ({ sessions: Number(id) }), organizations: () => ['1', '2'] },
    { usageOf: () => ({ waitingCommands: 3 }), organizations: () => ['2', '3'] },
  ])
  assert.deepEqual(joined.usageOf('2'), { sessions: 2, waitingCommands: 3 })
  assert.deepEqual([...joined.organizations()], ['1', '2', '2', '3'])
})
