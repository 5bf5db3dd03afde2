import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import { append, messageOf, readAll } from './engine-client.testing.ts'
import { SimulatedDisk } from './ports/simulated-disk.testing.ts'
import { TEXT_BYTES, fill, history, numbers, openWithTenants } from './tenants.testing.ts'

test('the stored bytes of each tenant are known at once, and again after a restart, without reading the segments', async () => {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk)
  await fill(engine, ['a', 'a', 'b'], 90)
  const [ofA, ofB] = [engine.storedBytesOf('a'), engine.storedBytesOf('b')]
  assert.ok(ofA === 2 * ofB && ofB > 30 * TEXT_BYTES)
  assert.equal(engine.storedBytesOf('nobody'), 0)
  assert.deepEqual([...engine.tenants()].toSorted(), ['a', 'b'])
  await engine.close()
  const segments = disk.paths().filter((path) => path.endsWith('.log'))
  const readSegments = new Set<string>()
  disk.fault = (operation, path, position) => {
    if (operation === 'read' && segments.includes(path) && (position ?? 0) > 0) readSegments.add(path)
    return undefined
  }
  const again = await openWithTenants(disk)
  assert.deepEqual([again.storedBytesOf('a'), again.storedBytesOf('b')], [ofA, ofB])
  assert.ok(segments.length > 5 && readSegments.size <= 1, 'only the newest segment is read')
  await again.close()
})

test('a killed process knows the stored bytes again, also those of the segment that was written to', async () => {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk)
  await fill(engine, ['a', 'b'], 31)
  const stored = [engine.storedBytesOf('a'), engine.storedBytesOf('b')]
  const again = await openWithTenants(disk.kill())
  assert.deepEqual([again.storedBytesOf('a'), again.storedBytesOf('b')], stored)
  await again.close()
})

test('a tenant above its bound loses its own oldest messages, and no other tenant loses one', async () => {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk, { a: 6_000 })
  await fill(engine, ['a', 'a', 'b'], 300)
  await engine.maintain()
  assert.ok(engine.storedBytesOf('a') <= 6_000 + 2_000)
  const read = await readAll(engine, 0)
  const ofB = Array.from({ length: 100 }, (_, index) => 3 * index + 2)
  assert.deepEqual(
    numbers(read.messages).filter((number) => number % 3 === 2),
    ofB,
  )
  const ofA = numbers(read.messages).filter((number) => number % 3 !== 2)
  assert.ok(ofA.length > 20 && ofA.length < 60)
  assert.deepEqual(ofA, numbersOfA(300).slice(-ofA.length), 'the newest messages are there, without a gap')
  assert.equal(read.lost, 0, 'nothing is lost for all')
  for (const direction of ['oldest first', 'newest first'] as const) {
    const inOrder = (list: readonly number[]): number[] =>
      direction === 'oldest first' ? [...list] : list.toReversed()
    assert.deepEqual(await history(engine, 'a', direction), inOrder(ofA))
    assert.deepEqual(await history(engine, 'b', direction), inOrder(ofB))
  }
  await engine.close()
})

test('a read tells how many messages of which tenant were removed', async () => {
  const engine = await openWithTenants(new SimulatedDisk(), { a: 0 })
  await fill(engine, ['a', 'a', 'b'], 300)
  await engine.maintain()
  let removed = 0
  for (let from = 0; from < engine.tail(0);) {
    const result = await engine.read(0, from, 10)
    assert.equal(result.lost, 0)
    assert.ok(result.removed === undefined || [...result.removed.keys()].join() === 'a')
    removed += result.removed?.get('a') ?? 0
    from = result.next
  }
  assert.ok(removed > 180 && removed < 200, `${removed} of 200`)
  await engine.close()
})

test('the tenant of an application that is looked up later has its bytes then', async () => {
  const known = new Map<string, string>()
  const clock = new TestClock()
  const engine = await openWithTenants(
    new SimulatedDisk(),
    {},
    {
      clock,
      tenants: { tenantOf: (branch) => Promise.resolve(known.get(branch)), maximumStoredBytesOf: () => Infinity },
    },
  )
  await fill(engine, ['a'], 30)
  assert.equal(engine.storedBytesOf('one'), 0)
  known.set('application/a', 'one')
  await engine.maintain()
  assert.ok(engine.storedBytesOf('one') > 30 * TEXT_BYTES)
  await engine.close()
})

function numbersOfA(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number).filter((number) => number % 3 !== 2)
}
test('when the log is full, the tenant with the most stored bytes loses its oldest messages first', async () => {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk, {}, { retentionBytes: 40_000 })
  for (let number = 0; number < 1_000; number += 1) {
    const topicName = `application/${number % 10 === 0 ? 'b' : 'a'}/device/1/event/up`
    await append(engine, 0, messageOf(topicName, `${number}`.padEnd(TEXT_BYTES)))
    if (number % 10 === 0) await engine.maintain()
  }
  assert.equal((await history(engine, 'b', 'oldest first')).length, 100)
  const ofA = await history(engine, 'a', 'oldest first')
  assert.ok(ofA.length > 30 && ofA.length < 200, `${ofA.length}`)
  assert.equal(ofA.at(-1), 999)
  await engine.close()
})

test('a full log of an earlier program goes oldest first, and new messages stay', async () => {
  const disk = new SimulatedDisk()
  const old = await openWithTenants(disk, {}, { retentionBytes: 1e9 })
  await fill(old, ['a', 'b'], 400)
  await old.close()
  for (const path of disk.paths()) if (path.endsWith('.index')) await disk.remove(path)
  const engine = await openWithTenants(disk, {}, { retentionBytes: 50_000 })
  for (let number = 400; number < 440; number += 1) {
    const tenant = number % 2 === 0 ? 'a' : 'b'
    await append(engine, 0, messageOf(`application/${tenant}/device/1/event/up`, `${number}`.padEnd(TEXT_BYTES)))
  }
  await engine.maintain()
  const read = await readAll(engine, 0)
  const first = 440 - read.messages.length
  assert.deepEqual(
    numbers(read.messages),
    Array.from({ length: 440 - first }, (_, index) => first + index),
  )
  assert.ok(read.messages.length > 200 && read.lost > 0)
  await engine.close()
})

test('an application that is made again by another tenant counts for the new tenant, and its old messages for the old one', async () => {
  const owners = new Map([['application/a', 'one']])
  const tenants = {
    tenantOf: (branch: string) => owners.get(branch),
    maximumStoredBytesOf: (tenant: string) => (tenant === 'one' ? 0 : Infinity),
  }
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk, {}, { tenants })
  await fill(engine, ['a'], 30)
  owners.set('application/a', 'two')
  await engine.maintain()
  const left = engine.storedBytesOf('one')
  assert.ok(left > 0)
  await fill(engine, ['a'], 40)
  await engine.maintain()
  const ofTwo = engine.storedBytesOf('two')
  assert.ok(ofTwo > 40 * TEXT_BYTES)
  assert.ok(engine.storedBytesOf('one') <= left)
  assert.equal((await history(engine, 'a', 'newest first')).slice(0, 40).length, 40)
  await engine.close()
  const again = await openWithTenants(disk, {}, { tenants })
  assert.deepEqual([again.storedBytesOf('two'), again.storedBytesOf('one') <= left], [ofTwo, true])
  await again.close()
})
