import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { backupEntries, restoreLog } from './backup/backup.ts'
import { archiveOf } from './backup/archive.ts'
import type { EmbeddedEngine } from './embedded.ts'
import { append, changesOf, loadAll, messageOf, readAll } from './engine-client.testing.ts'
import { checkLog } from './opening/check-log.ts'
import { writeVersion1 } from './opening/version-1.testing.ts'
import { SimulatedDisk, seededRandom } from './ports/simulated-disk.testing.ts'
import { Accounts } from './segments/accounts.ts'
import { decodeIndex } from './segments/segment-index-file.ts'
import { fill, history, numbers, openWithTenants } from './tenants.testing.ts'

const BOUNDS = { a: 6_000 }
/** The numbers of b's messages among 300 of which two thirds are a's. */
const OF_B = Array.from({ length: 100 }, (_, index) => 3 * index + 2)

/** The disk of a closed log in which a's old messages were removed, and the segments rewritten. */
async function rewritten(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk, BOUNDS)
  await fill(engine, ['a', 'a', 'b'], 300)
  await engine.maintain()
  await engine.close()
  return disk
}

/** The disk of a closed log in which a has more than its bound. */
async function unbounded(count = 300): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk)
  await fill(engine, ['a', 'a', 'b'], count)
  await engine.close()
  return disk
}

function segmentsOf(disk: SimulatedDisk): readonly string[] {
  return disk.paths().filter((path) => path.endsWith('.log'))
}

function bytesOf(disk: SimulatedDisk): number {
  return segmentsOf(disk).reduce((sum, path) => sum + disk.content(path).length, 0)
}

/** The problems of a log, but for damaged indexes: they are not synced, and are made again. */
async function problemsOf(disk: SimulatedDisk): Promise<readonly string[] | undefined> {
  const report = await checkLog(disk, '/data')
  return report?.problems.filter((problem) => !problem.includes('.index'))
}

/** `isBounded`: the stored bytes of all tenants are known, and a has no more than its bound. */
async function assertServed(engine: EmbeddedEngine, hint = '', isBounded = true, count = 300): Promise<void> {
  const read = await readAll(engine, 0)
  const [ofA, ofB] = [0, 1].map((side) =>
    numbers(read.messages).filter((number) => (number % 3 === 2 ? 1 : 0) === side),
  )
  const allOfB = OF_B.filter((number) => number < count)
  assert.deepEqual(ofB, allOfB, `${hint}: all of b`)
  assert.equal(read.lost, 0, `${hint}: nothing is lost`)
  assert.ok(!read.removed.has('b'), hint)
  assert.equal(read.messages.length + (read.removed.get('a') ?? 0), count, hint)
  assert.deepEqual(await history(engine, 'a', 'oldest first'), ofA, hint)
  assert.deepEqual(await history(engine, 'b', 'newest first'), allOfB.toReversed(), hint)
  if (!isBounded) return
  const newest = Array.from({ length: count }, (_, number) => number).filter((number) => number % 3 !== 2)
  assert.deepEqual(ofA, newest.slice(-(ofA?.length ?? 0)), `${hint}: the newest of a`)
  assert.ok((ofA?.length ?? 0) > 20 && (ofA?.length ?? 0) < 60, hint)
}

test('removed messages give their bytes back, and few segments are left of many', async () => {
  const [before, disk] = [await unbounded(), await rewritten()]
  assert.ok(bytesOf(disk) < 0.7 * bytesOf(before), `${bytesOf(disk)} of ${bytesOf(before)}`)
  assert.ok(segmentsOf(disk).length < segmentsOf(before).length - 8)
  const report = await checkLog(disk, '/data')
  assert.deepEqual(report?.problems, [])
  const engine = await openWithTenants(disk, BOUNDS)
  await assertServed(engine)
  await engine.close()
})

test('an index that is made again from a rewritten segment is the same', async () => {
  const disk = await rewritten()
  const engine = await openWithTenants(disk, BOUNDS)
  const stored = [engine.storedBytesOf('a'), engine.storedBytesOf('b')]
  await engine.close()
  for (const path of disk.paths()) if (path.endsWith('.index')) await disk.remove(path)
  const again = await openWithTenants(disk, BOUNDS)
  for (let count = 0; count < 40; count += 1) await again.maintain()
  await assertServed(again)
  assert.deepEqual([again.storedBytesOf('a'), again.storedBytesOf('b')], stored)
  await again.close()
})

test('a reader that is behind gets everything that is still stored, in order, across a rewriting', async () => {
  const engine = await openWithTenants(await unbounded(), BOUNDS, { cacheBytes: 0, decodedBytes: 0, indexBytes: 0 })
  const found: number[] = []
  let maintaining: Promise<void> | undefined
  for (let from = 0; from < engine.tail(0);) {
    const reading = engine.read(0, from, 5)
    if (from > 60) maintaining ??= engine.maintain()
    const result = await reading
    assert.equal(result.lost, 0)
    found.push(...numbers(result.messages))
    from = result.next
  }
  await maintaining
  assert.deepEqual(
    found.filter((number) => number % 3 === 2),
    OF_B,
  )
  assert.deepEqual(
    found,
    found.toSorted((one, other) => one - other),
  )
  await engine.close()
})

test('the history is whole while segments are rewritten', async () => {
  for (const direction of ['oldest first', 'newest first'] as const) {
    const engine = await openWithTenants(await unbounded(), BOUNDS, { cacheBytes: 0, indexBytes: 0 })
    const maintaining = engine.maintain()
    const found = await Promise.all(Array.from({ length: 30 }, () => history(engine, 'b', direction)))
    for (const list of found) assert.deepEqual(list, direction === 'oldest first' ? OF_B : OF_B.toReversed())
    await maintaining
    await engine.close()
  }
})

test('a power cut or a kill at any moment of a rewriting leaves all messages of other tenants, and no damage', async () => {
  const whole = await unbounded(120)
  let operations = 0
  for (let hasEnded = false; !hasEnded; operations += 1) {
    const disk = new SimulatedDisk()
    for (const path of whole.paths()) disk.replace(path, whole.content(path))
    const engine = await openWithTenants(disk, BOUNDS)
    const died = disk.dieAfter(operations).then(() => 'died' as const)
    hasEnded = (await Promise.race([died, engine.maintain()])) !== 'died'
    const after = operations % 4 === 0 ? disk.kill() : disk.powerCut(seededRandom(operations))
    assert.deepEqual(await problemsOf(after), [], `${operations}`)
    const next = await openWithTenants(after, BOUNDS)
    // A power cut may have taken indexes, and with them the knowledge whose bytes these are.
    await assertServed(next, `${operations} operations`, false, 120)
    if (operations % 8 === 0) {
      for (let count = 0; count < 60; count += 1) await next.maintain()
      await assertServed(next, `${operations} operations, later`, true, 120)
    }
    await next.close()
    assert.ok(!after.paths().some((path) => path.endsWith('.new')))
  }
  assert.ok(operations > 50, `${operations}`)
})

test('a disk that fails during a rewriting costs nothing', async () => {
  const random = seededRandom(7)
  const disk = await unbounded()
  const engine = await openWithTenants(disk, BOUNDS)
  disk.fault = (operation) => (operation !== 'read' && operation !== 'open' && random() < 0.1 ? 'ENOSPC' : undefined)
  for (let count = 0; count < 50; count += 1) {
    await engine.maintain()
    await assertServed(engine, `${count}`, count > 10)
  }
  disk.fault = undefined
  await engine.close()
  assert.deepEqual(await problemsOf(disk), [])
})

test('no segment is rewritten while a backup reads the files, and a backup has the rewritten ones', async () => {
  const disk = await unbounded()
  const engine = await openWithTenants(disk, BOUNDS)
  const { release } = await engine.pinFiles()
  const before = bytesOf(disk)
  await engine.maintain()
  assert.equal(bytesOf(disk), before)
  release()
  await engine.maintain()
  assert.ok(bytesOf(disk) < 0.7 * before)
  const restored = new SimulatedDisk()
  await restoreLog(restored, '/data', archiveOf(backupEntries(engine)), { random: seededRandom(1), nowMs: 5 })
  await engine.close()
  const again = await openWithTenants(restored, BOUNDS)
  for (let count = 0; count < 40; count += 1) await again.maintain()
  const read = await readAll(again, 0)
  assert.deepEqual(
    numbers(read.messages).filter((number) => number % 3 === 2),
    OF_B,
  )
  assert.equal(read.lost, 0)
  await again.close()
})

test('a rewriting that a backup interrupts leaves nothing behind, and begins again later', async () => {
  const disk = await unbounded()
  const engine = await openWithTenants(disk, BOUNDS)
  const before = bytesOf(disk)
  const created = Promise.withResolvers<void>()
  disk.fault = (operation, path) => {
    if (operation === 'create' && path.endsWith('.new') && path.includes('/log/')) created.resolve()
    return undefined
  }
  const maintaining = engine.maintain()
  await created.promise
  const { release } = await engine.pinFiles()
  await maintaining
  assert.ok(!disk.paths().some((path) => path.endsWith('.new')))
  assert.equal(bytesOf(disk), before)
  release()
  await engine.maintain()
  assert.ok(bytesOf(disk) < 0.7 * before)
  await assertServed(engine)
  await engine.close()
})

test('damage of a rewritten segment costs the damaged messages alone, and their number is told', async () => {
  const disk = await rewritten()
  const path = disk.paths().find((one) => one.endsWith('.log')) ?? assert.fail()
  const bytes = Buffer.from(disk.content(path))
  bytes.fill(7, 700, 720)
  disk.replace(path, bytes)
  const report = await checkLog(disk, '/data')
  assert.deepEqual([report?.lostMessages, report?.furtherAtMost], [0, 1])
  assert.equal(report?.problems.length, 1)
  const engine = await openWithTenants(disk, BOUNDS)
  assert.equal((await history(engine, 'b', 'oldest first')).length, 99)
  await engine.close()
})

test('the damaged head of a rewritten segment is made again', async () => {
  const disk = await rewritten()
  const path = disk.paths().find((one) => one.endsWith('.log')) ?? assert.fail()
  const bytes = Buffer.from(disk.content(path))
  bytes.fill(7, 20, 60)
  disk.replace(path, bytes)
  const report = await checkLog(disk, '/data')
  assert.deepEqual([report?.lostMessages, report?.furtherAtMost, report?.problems.length], [0, 0, 1])
  const engine = await openWithTenants(disk, BOUNDS)
  assert.deepEqual(await history(engine, 'b', 'oldest first'), OF_B)
  await engine.close()
})

test('the state is as before a rewriting, also when the newest snapshot is damaged, and old values never come back', async () => {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk, BOUNDS)
  for (let number = 0; number < 300; number += 1) {
    const tenant = number % 3 === 2 ? 'b' : 'a'
    const message = messageOf(`application/${tenant}/device/1/event/up`, `${number}`.padEnd(100))
    await append(
      engine,
      0,
      message,
      changesOf({ [`of ${tenant}`]: `${number}`, early: number < 30 ? `${number}` : '29' }),
    )
  }
  await engine.maintain()
  await engine.close()
  const expected = [
    ['early', '29'],
    ['of a', '298'],
    ['of b', '299'],
  ]
  const snapshots = disk.paths().filter((path) => path.endsWith('.snapshot'))
  assert.equal(snapshots.length, 2)
  for (const damaged of [[], snapshots.slice(1), snapshots]) {
    for (const path of damaged) disk.replace(path, Buffer.alloc(40))
    const again = await openWithTenants(disk.kill(), BOUNDS)
    assert.deepEqual(await loadAll(again), expected)
    await again.close()
  }
})

test('a directory of version 1 opens whole, and the stored bytes of its tenants are known', async () => {
  const disk = new SimulatedDisk()
  writeVersion1(disk, '/data')
  const tenants = { tenantOf: () => 'all', maximumStoredBytesOf: () => Infinity }
  const engine = await openWithTenants(disk, {}, { partitions: 2, tenants })
  assert.equal((await readAll(engine, 1)).messages.length, 2)
  assert.ok(engine.storedBytesOf('all') > 0)
  await engine.close()
})

test('a log whose indexes have no shares opens whole, and has them after a while', async () => {
  const disk = await unbounded()
  for (const path of disk.paths()) {
    if (path.endsWith('.index')) disk.replace(path, indexOfVersion1(disk.content(path), path))
  }
  assert.deepEqual((await checkLog(disk, '/data'))?.problems, [])
  const engine = await openWithTenants(disk, BOUNDS)
  assert.deepEqual(await history(engine, 'b', 'oldest first'), OF_B)
  const before = engine.storedBytesOf('b')
  for (let count = 0; count < 60; count += 1) await engine.maintain()
  assert.ok(engine.storedBytesOf('b') > 5 * before)
  await assertServed(engine)
  await engine.close()
})

/** The index of a segment with one partition as earlier programs wrote it. */
function indexOfVersion1(content: Buffer, path: string): Buffer {
  const number = Number(/(\d{20})\.index$/.exec(path)?.[1])
  const stored = decodeIndex(Buffer.from(new Uint8Array(content).buffer), 1, number, new Accounts())
  const entries = stored?.index.partition(0)
  if (stored === undefined || entries === undefined) return assert.fail()
  const head = Buffer.alloc(64)
  head.write('FGATEIDX', 0, 'latin1')
  head.writeUInt32LE(1, 8)
  head.writeDoubleLE(number, 16)
  head.writeDoubleLE(stored.length, 24)
  head.writeDoubleLE(stored.index.createdAtMs, 32)
  head.writeUInt32LE(1, 40)
  head.writeUInt32LE(0, 48)
  head.writeUInt32LE(entries.length, 52)
  head.writeDoubleLE(entries.base, 56)
  const columns = [entries.positions, entries.times, entries.branches].map((column) =>
    Buffer.from(column.buffer, column.byteOffset, 4 * entries.length),
  )
  const bytes = Buffer.concat([head, ...columns])
  bytes.writeUInt32LE(crc32(bytes.subarray(16)), 12)
  return bytes
}
