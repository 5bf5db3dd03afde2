/** The lanes of the log, in numbers: who is in the next batch, and how much of each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { waitingWrite } from './log-request.ts'
import type { Waiting } from './log-request.ts'
import { RequestLanes, measured } from './request-lanes.ts'
import type { Taken } from './request-lanes.ts'

interface Scene {
  readonly clock: TestClock
  readonly lanes: RequestLanes
  /** Adds requests of the owner. */
  readonly add: (owner: string | undefined, count: number, bytes?: number) => void
}

function setUp(): Scene {
  const clock = new TestClock()
  const lanes = new RequestLanes(clock)
  let number = 0
  const add = (owner: string | undefined, count: number, bytes = 0): void => {
    for (let one = 0; one < count; one += 1) lanes.add(lanes.of(owner), request(owner, (number += 1), bytes))
  }
  return { clock, lanes, add }
}

function request(owner: string | undefined, number: number, bytes: number): Waiting {
  const changes = [{ key: `${owner ?? 'service'} ${number}`, value: Buffer.alloc(bytes) }]
  return waitingWrite({ changes, committed: () => {}, failed: () => assert.fail('it is owned') })
}

/** The owners of a batch in its order, each run with its number of requests. */
function runsOf({ requests, runs }: Taken): readonly string[] {
  let from = 0
  return runs.map(({ end }) => {
    const run = requests.slice(from, end)
    from = end
    const owners = new Set(run.map(ownerOf))
    assert.equal(owners.size, 1, 'a run is of one owner')
    return `${run.length} ${[...owners].join()}`
  })
}

function ownerOf({ write }: Waiting): string | undefined {
  return write?.changes[0]?.key.split(' ')[0]
}

function numbersOf({ requests }: Taken, owner: string): readonly number[] {
  const own = requests.filter((waiting) => ownerOf(waiting) === owner)
  return own.map(({ write }) => Number(write?.changes[0]?.key.split(' ')[1]))
}

/** The requests of each owner in the next batches. */
function countsIn(lanes: RequestLanes, batches: number): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (let batch = 0; batch < batches; batch += 1) {
    for (const waiting of lanes.take().requests) {
      const owner = String(ownerOf(waiting))
      counts[owner] = (counts[owner] ?? 0) + 1
    }
  }
  return counts
}

test('one owner alone gets everything into one batch', () => {
  const { lanes, add } = setUp()
  add('a', 5_000)
  assert.deepEqual(runsOf(lanes.take()), ['5000 a'])
  assert.deepEqual([lanes.count, lanes.bytes], [0, 0])
})

test('a batch has at most 4 MiB, or one request that is larger', () => {
  const { lanes, add } = setUp()
  add('a', 5, 1_048_576)
  add('a', 1, 9_000_000)
  add('a', 1)
  const sizes = [1, 2, 3, 4].map(() => lanes.take().requests.length)
  assert.deepEqual(sizes, [3, 2, 1, 1])
})

test('a request is in the next batch, before those of an owner with thousands', () => {
  const { lanes, add } = setUp()
  add('flood', 10_000)
  add('b', 1)
  const runs = runsOf(lanes.take())
  assert.equal(runs.indexOf('1 b') <= 1, true, runs.join())
  for (let round = 0; round < 20; round += 1) {
    lanes.take()
    add('b', 1)
    const [first = ''] = runsOf(lanes.take())
    assert.equal(first, '1 b')
  }
})

test('while several owners are at work, a batch has a few ms of work', () => {
  const { lanes, add } = setUp()
  add('flood', 10_000)
  add('b', 1)
  const taken = lanes.take()
  assert.equal(taken.requests.length <= 1 + 4 * 32, true)
  for (const { lane } of taken.runs) measured(lane, 128, 64)
  assert.deepEqual(runsOf(lanes.take()), ['1 flood', '1 flood'], 'each is known to take 2 ms')
})

test('however cheap the requests of an owner were, a turn has a bound', () => {
  const { lanes, add } = setUp()
  add('flood', 10_000)
  add('b', 1)
  for (const { lane } of lanes.take().runs) measured(lane, 0, 10_000)
  const taken = lanes.take().requests.length
  assert.equal(taken > 256 && taken <= 512, true, `${taken} requests`)
})

test('the requests of a new owner count as those of all owners do', () => {
  const { lanes, add } = setUp()
  add('a', 64)
  for (const { lane } of lanes.take().runs) measured(lane, 1, 64)
  add('a', 10_000)
  for (let owner = 0; owner < 1_000; owner += 1) add(`${owner}`, 1)
  const taken = lanes.take().requests.length
  assert.equal(taken >= 200 && taken <= 256, true, `${taken} requests`)
})

test('a batch is larger where there is time to spare for the disk', () => {
  const { lanes, add } = setUp()
  add('flood', 10_000)
  add('b', 1)
  const sizes = [0, 4, 100].map((spareMs) => lanes.take(spareMs).requests.length)
  assert.equal((sizes[1] ?? 0) > 1.8 * (sizes[0] ?? 0) && (sizes[2] ?? 0) <= 16 * 32 + 4, true, sizes.join())
})

test('owners with much to write have the same share of the log, by work', () => {
  const { lanes, add } = setUp()
  for (const owner of ['a', 'b', 'c']) add(owner, 5_000)
  const { a = 0, b = 0, c = 0 } = countsIn(lanes, 60)
  assert.equal(Math.max(a, b, c) - Math.min(a, b, c) <= 64, true, `${a} ${b} ${c}`)
})

test('owners of large requests have no larger share of the bytes', () => {
  const { lanes, add } = setUp()
  add('large', 100, 1_000_000)
  add('small', 10_000, 1_000)
  const { large = 0, small = 0 } = countsIn(lanes, 20)
  assert.equal(large * 1_000_000 <= 20 * 4 * 262_144, true, `${large} large requests`)
  assert.equal(small >= 20 * 20, true, `${small} small requests`)
})

test('the requests of an owner stay in their order', () => {
  const { lanes, add } = setUp()
  const seen: number[] = []
  for (let round = 0; round < 50; round += 1) {
    add('a', 150)
    add('b', 3)
    seen.push(...numbersOf(lanes.take(), 'a'))
  }
  while (lanes.count > 0) seen.push(...numbersOf(lanes.take(), 'a'))
  assert.equal(seen.length, 50 * 150)
  assert.deepEqual(
    seen,
    seen.toSorted((one, other) => one - other),
  )
})

test('the service’s own requests go before all others, all of them', () => {
  const { lanes, add } = setUp()
  add('a', 300)
  add('b', 300)
  lanes.take()
  add('a', 10)
  add(undefined, 500)
  assert.equal(runsOf(lanes.take())[0], '500 service')
})

test('an owner that always has requests does not pass for one that sends little', () => {
  const { lanes, add } = setUp()
  for (let round = 0; round < 10; round += 1) {
    add('often', 1)
    add('flood', 1_000)
    if (round % 2 === 1) add('seldom', 1)
    const runs = runsOf(lanes.take())
    if (round % 2 === 1) assert.equal(runs[0], '1 seldom')
  }
})

test('an owner is alone again a while after the others were at work', () => {
  const { lanes, add, clock } = setUp()
  add('a', 3_000)
  add('b', 1)
  assert.equal(lanes.take().requests.length < 200, true)
  for (let second = 0; second < 3; second += 1) {
    clock.advance(1_000)
    add('a', 1)
    lanes.take()
  }
  add('a', 5_000)
  assert.equal(lanes.take().requests.length >= 5_000, true)
})

test('everything that waits is given back when nothing can be written', () => {
  const { lanes, add } = setUp()
  add('a', 1_000)
  add('b', 10)
  lanes.take()
  add(undefined, 5)
  const before = lanes.count
  assert.equal(lanes.takeAll().length, before)
  assert.deepEqual([lanes.count, lanes.bytes, lanes.own.bytes, lanes.take().requests.length], [0, 0, 0, 0])
  add('a', 1)
  assert.deepEqual(runsOf(lanes.take()), ['1 a'])
})
