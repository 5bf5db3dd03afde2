/** The tenants' shares of the room toward the log, in numbers. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { TestClock } from '../../clock.testing.ts'
import { silentLogger } from '../../logger.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { createCounters } from '../ports/counters.ts'
import type { Counters } from '../ports/counters.ts'
import { LogShares } from './log-shares.ts'
import type { LogShare, SharedAppend } from './log-shares.ts'

/** A message that knows how far it came. */
class TestAppend implements SharedAppend {
  readonly bytes: number
  readonly heldBytes: number
  readonly isLossy: boolean
  isKept = false
  share: LogShare | undefined = undefined
  failure: EngineFailure | undefined = undefined

  constructor(bytes: number, isLossy = false) {
    this.bytes = bytes
    this.heldBytes = bytes
    this.isLossy = isLossy
  }

  keep(): void {
    this.isKept = true
  }

  start(share: LogShare): void {
    this.share = share
  }

  refuse(failure: EngineFailure): void {
    this.failure = failure
  }
}

interface Scene {
  readonly clock: TestClock
  /** The fields of the warnings that were logged. */
  readonly told: readonly string[]
  readonly shares: LogShares
  readonly counters: Counters
  /** Adds messages of the tenant. Returns them. */
  readonly add: (tenant: string, count: number, bytes?: number, isLossy?: boolean) => readonly TestAppend[]
  /** The bytes of the tenant that the engine has. */
  readonly started: (tenant: string) => number
  /** The engine owns all that it has of the tenant, or the first messages of it. */
  readonly own: (tenant: string, count?: number) => Promise<void>
}

function setUp(maximumBytes = 1_200): Scene {
  const told: string[] = []
  const log = { ...silentLogger, warn: (fields: object) => void told.push(JSON.stringify(fields)) }
  const clock = new TestClock()
  const counters = createCounters()
  const shares = new LogShares({ clock, log, counters, maximumBytes })
  const appends = new Map<string, TestAppend[]>()
  const startedOf = (tenant: string): readonly TestAppend[] =>
    (appends.get(tenant) ?? []).filter(({ share }) => share !== undefined)
  return {
    clock,
    counters,
    shares,
    told,
    add: (tenant, count, bytes = 10, isLossy = false) => {
      const added = Array.from({ length: count }, () => new TestAppend(bytes, isLossy))
      appends.set(tenant, [...(appends.get(tenant) ?? []), ...added])
      for (const append of added) void shares.add(tenant, append)
      return added
    },
    started: (tenant) => startedOf(tenant).reduce((sum, { bytes }) => sum + bytes, 0),
    own: async (tenant, count = Infinity) => {
      const owned = startedOf(tenant).slice(0, count)
      const left = (appends.get(tenant) ?? []).filter((append) => !owned.includes(append))
      appends.set(tenant, left)
      for (const { share, bytes } of owned) shares.settle(share as LogShare, bytes)
      await setImmediate()
    },
  }
}

test('one flood takes half of the room, and the next tenants take half of the rest each', () => {
  const { add, started } = setUp()
  for (const tenant of ['a', 'b', 'c']) add(tenant, 100)
  assert.deepEqual(['a', 'b', 'c'].map(started), [600, 300, 150])
})

test('after some time floods have the same share', async () => {
  const { add, started, own } = setUp()
  for (const tenant of ['a', 'b']) add(tenant, 100)
  for (let round = 0; round < 200; round += 1) {
    for (const tenant of ['a', 'b']) {
      await own(tenant, 1)
      add(tenant, 1)
    }
  }
  for (const tenant of ['a', 'b']) {
    const bytes = started(tenant)
    assert.ok(bytes >= 380 && bytes <= 420, `${tenant} has ${bytes} bytes`)
  }
})

test('a message that waits is kept, goes in its order when there is room, and then the promise resolves', async () => {
  const { shares, add, own } = setUp()
  const flood = add('a', 60)
  const first = new TestAppend(500)
  const second = new TestAppend(10)
  const room = shares.add('a', first)
  assert.equal(shares.add('a', second), room, 'a small message does not overtake a large message')
  assert.deepEqual([first.isKept, first.share, second.share], [true, undefined, undefined])
  let isResolved = false
  void room?.then(() => (isResolved = true))
  await own('a', 1)
  assert.deepEqual([first.share, isResolved], [undefined, false])
  await own('a', 59)
  assert.deepEqual([first.share?.bytes, second.share, isResolved], [510, first.share, true])
  assert.equal(flood.length, 60)
})

test('a tenant with nothing on its way has room for one message, though others have left less', () => {
  const { add, started } = setUp()
  for (const tenant of ['a', 'b', 'c', 'd', 'e']) add(tenant, 100)
  add('f', 2, 300)
  assert.equal(started('f'), 300)
})

test('a message larger than all of the room goes alone', async () => {
  const { add, started, own } = setUp()
  add('a', 1, 5_000)
  add('b', 1)
  assert.deepEqual(['a', 'b'].map(started), [5_000, 0])
  await own('a')
  assert.equal(started('b'), 10)
})

test('a tenant is forgotten a second after nothing of it is on its way', async () => {
  const { shares, add, own, started, clock } = setUp()
  for (let tenant = 0; tenant < 100; tenant += 1) add(`tenant ${tenant}`, 1)
  add('a', 100)
  assert.equal(shares.tenants, 101)
  for (let tenant = 0; tenant < 100; tenant += 1) await own(`tenant ${tenant}`)
  assert.equal(shares.tenants, 101, 'they are at work')
  clock.advance(1_000)
  assert.equal(shares.tenants, 1)
  while (started('a') > 0) await own('a')
  clock.advance(1_000)
  assert.equal(shares.tenants, 0)
})

test('a tenant over its share is logged, and not again in the same minute', async () => {
  const { add, own, told } = setUp()
  for (let round = 0; round < 3; round += 1) {
    add('a', 70)
    await own('a')
    await own('a')
  }
  add('b', 10)
  assert.deepEqual(told, ['{"tenant":"a"}'])
})

test('all messages that wait go to the engine before it closes', async () => {
  const { shares, add, own, clock } = setUp()
  const appends = [...add('a', 100), ...add('b', 100)]
  shares.flush()
  assert.deepEqual(new Set(appends.map(({ share }) => share?.tenant)), new Set(['a', 'b']))
  assert.equal(shares.add('c', new TestAppend(10_000)) === undefined, false)
  await own('a')
  await own('b')
  clock.advance(1_000)
  assert.equal(shares.tenants, 1)
})

test('messages that wait are bounded too: the tenant that sent them is refused, and no other', async () => {
  const { add, started } = setUp()
  const appends = add('a', 300)
  await setImmediate()
  const refused = appends.filter(({ failure }) => failure !== undefined)
  assert.equal(refused.length, 300 - 60 - 120)
  assert.equal(refused[0]?.failure?.reasonCode, 0x97)
  const [next] = add('b', 1)
  await setImmediate()
  assert.deepEqual([started('b'), next?.failure], [10, undefined])
})

function refusedOf(appends: readonly TestAppend[]): number {
  return appends.filter(({ failure }) => failure !== undefined).length
}

const MIB = 1_048_576
const KIB = 1_024

describe('while other tenants are at work', () => {
  it('a tenant has 512 KiB on its way, though there is much more room', () => {
    const { add, started } = setUp(4 * MIB)
    add('b', 1, KIB)
    add('a', 3_000, KIB)
    assert.deepEqual(['a', 'b'].map(started), [512 * KIB, KIB])
  })

  it('a tenant has as much on its way as the log owns of it in 10 ms', async () => {
    const { clock, shares, add, started, own } = setUp(4 * MIB)
    add('b', 1, KIB)
    add('a', 3_000, KIB)
    for (const [passedMs, expectedKib] of [
      [5, 512],
      // 1 MiB in 10 ms
      [5, 1_024],
      [20, 512],
    ] as const) {
      clock.advance(passedMs)
      await own('a', 512)
      assert.equal(started('a'), expectedKib * KIB)
    }
    assert.equal(shares.usage('a').bytes, started('a'))
  })

  it('a tenant alone has half of the room, a second after the others', async () => {
    const { clock, add, started, own } = setUp(4 * MIB)
    add('b', 1, KIB)
    await own('b')
    clock.advance(2_000)
    add('a', 3_000, KIB)
    await own('a', 1)
    assert.equal(started('a'), 2 * MIB)
  })
})

describe('the messages that wait', () => {
  it('of many tenants together are bounded, and a tenant that holds none may always hold one', async () => {
    const { shares, add } = setUp()
    const tenants = Array.from({ length: 100 }, (_, number) => `tenant ${number}`)
    for (const tenant of tenants) add(tenant, 300)
    const held = tenants.map((tenant) => shares.usage(tenant).heldBytes)
    const heldBytes = held.reduce((sum, bytes) => sum + bytes, 0)
    assert.ok(heldBytes <= 8 * 1_200 + 100 * 10, `${heldBytes} bytes`)
    const [large] = add('b', 1, 1_000)
    await setImmediate()
    assert.equal(large?.failure, undefined)
    assert.equal(shares.usage('b').bytes + shares.usage('b').heldBytes, 1_000)
  })

  it('leave half of the bytes to messages that are acknowledged', async () => {
    const { shares, counters, add } = setUp()
    const lossy = add('a', 300, 10, true)
    const acknowledged = add('a', 40)
    await setImmediate()
    assert.deepEqual([refusedOf(lossy), refusedOf(acknowledged)], [300 - 60 - 60, 0])
    assert.deepEqual(shares.usage('a'), { bytes: 600, heldBytes: 1_000, refusedMessages: 180 })
    assert.equal(counters.publishesOverShare, 180)
  })

  it('are logged for their tenant when some are refused, once a minute', async () => {
    const { clock, add, told } = setUp()
    add('a', 300)
    clock.advance(60_000)
    add('a', 1)
    assert.deepEqual(told, ['{"tenant":"a"}', '{"tenant":"a","messages":1}', '{"tenant":"a","messages":121}'])
  })
})
