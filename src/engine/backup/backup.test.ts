import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ArchiveError, archiveOf, readArchive } from './archive.ts'
import type { ArchiveEntry } from './archive.ts'
import { LogRestore, backupEntries, restoreLog } from './backup.ts'
import { checkLog } from '../opening/check-log.ts'
import { EmbeddedEngine } from '../embedded.ts'
import { append, changesOf, loadAll, messageOf, readAll, scanAll, texts, write } from '../engine-client.testing.ts'
import { readFormat } from '../segments/log-directory.ts'
import { GAP_UNIT } from '../segments/segment.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'
import { TestClock } from '../../clock.testing.ts'

const clock = new TestClock()
const world = { random: () => 0.5, nowMs: clock.now() }

async function openOn(disk: SimulatedDisk, retentionBytes = 1e9): Promise<EmbeddedEngine> {
  const sizes = { segmentBytes: 3_000, tailBytes: 0, retentionBytes }
  const engine = new EmbeddedEngine({ disk, directory: '/data', partitions: 2, clock, gatherMs: 0, ...sizes })
  await engine.open()
  return engine
}

async function appendMany(engine: EmbeddedEngine, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number += 1) {
    await append(engine, 0, messageOf('a/b', `${number}`), changesOf({ last: `${number}` }))
  }
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function backupOf(engine: EmbeddedEngine, whileWriting: () => Promise<void> = async () => {}): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const bytes of archiveOf(backupEntries(engine))) {
    pieces.push(Buffer.from(bytes))
    // The first pieces are the archive's own head.
    if (pieces.length > 1) await whileWriting()
  }
  return Buffer.concat(pieces)
}

test('a backup made while messages come and retention is at work holds everything that was owned when it was begun', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk, 10_000)
  await write(engine, { early: 'kept' })
  await appendMany(engine, 0, 300)
  let next = 300
  const backup = await backupOf(engine, async () => {
    await appendMany(engine, next, next + 10)
    next += 10
    await engine.maintain()
  })
  await engine.maintain()
  const held = await readAll(engine, 0)
  await engine.close()
  const restored = new SimulatedDisk()
  await restoreLog(restored, '/data', inPieces(backup, 777), world)
  assert.deepEqual((await checkLog(restored, '/data'))?.problems, [])
  const again = await openOn(restored)
  const { messages, lost } = await readAll(again, 0)
  assert.equal(lost + messages.length, 300)
  assert.ok(lost > 0 && held.lost > lost, 'retention had been at work before, and went on after')
  assert.deepEqual(
    texts(messages),
    Array.from({ length: 300 - lost }, (_, index) => `${lost + index}`),
  )
  assert.deepEqual(await loadAll(again), [
    ['early', 'kept'],
    ['last', '299'],
  ])
  await again.close()
})

test('after a restore no place names two messages, nothing counts as lost, and a reader goes on over the gap', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  await appendMany(engine, 0, 20)
  const backup = await backupOf(engine)
  await engine.close()
  const restored = new SimulatedDisk()
  await restoreLog(restored, '/data', inPieces(backup, 10_000), world)
  const again = await openOn(restored)
  const tail = 20 + 129 * GAP_UNIT
  assert.deepEqual([again.tail(0), again.tail(1)], [tail, 129 * GAP_UNIT])
  assert.equal(await append(again, 0, messageOf('a/b', '20')), tail)
  assert.equal(await append(again, 1, messageOf('a/b', 'other')), 129 * GAP_UNIT)
  const all = await readAll(again, 0, 0, 7)
  assert.deepEqual([texts(all.messages).length, all.lost, all.next], [21, 0, tail + 1])
  const fromTheEnd = await again.read(0, 20, 10)
  assert.deepEqual([texts(fromTheEnd.messages), fromTheEnd.lost], [['20'], 0])
  // The lost log gave this place to another message after the backup.
  assert.deepEqual(texts((await again.read(0, 25, 10)).messages), ['20'])
  const scanned = await scanAll(again, { partition: 0, topicPrefix: 'a/', direction: 'newest first' }, 4)
  assert.deepEqual(
    texts(scanned),
    Array.from({ length: 21 }, (_, index) => `${20 - index}`),
  )
  const second = await openOn(restored.kill())
  assert.equal(second.tail(0), tail + 1)
  assert.equal((await readAll(second, 0)).lost, 0)
})

test('a backup that is cut, spoiled, no backup or of a newer version is refused, and its directory is no log', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  await appendMany(engine, 0, 20)
  const backup = await backupOf(engine)
  await engine.close()
  const spoiled = Buffer.from(backup)
  spoiled[Math.floor(backup.length / 2)] = (spoiled[Math.floor(backup.length / 2)] as number) ^ 1
  const newer = Buffer.from(backup)
  newer.writeUInt32LE(2, 8)
  for (const [bytes, code] of [
    [backup.subarray(0, backup.length - 1), 'archive_damaged'],
    [backup.subarray(0, 5), 'archive_damaged'],
    [spoiled, 'archive_damaged'],
    [Buffer.alloc(100), 'archive_damaged'],
    [newer, 'newer_format'],
  ] as const) {
    const target = new SimulatedDisk()
    await assert.rejects(restoreLog(target, '/data', inPieces(bytes, 100), world), (error) => {
      assert.ok(error instanceof ArchiveError)
      return error.code === code
    })
    assert.ok(!target.paths().includes('/data/format'))
  }
})

test('a backup is not restored over a log', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  await appendMany(engine, 0, 3)
  const backup = await backupOf(engine)
  await engine.close()
  await assert.rejects(restoreLog(disk, '/data', inPieces(backup, 100), world), {
    message: /is a log in \/data already/,
  })
})

test('a name that leads out of the directory is not taken', async () => {
  const head = Buffer.from('FGATEARC\u0001\0\0\0', 'latin1')
  const name = Buffer.from('log/../../evil')
  const fixed = Buffer.alloc(12)
  fixed.writeUInt32LE(name.length, 0)
  const archive = Buffer.concat([head, fixed, name, Buffer.alloc(4)])
  const target = new SimulatedDisk()
  await assert.rejects(restoreLog(target, '/data', inPieces(archive, 100), world), { code: 'archive_damaged' })
  assert.deepEqual(target.paths(), ['/data/restore-unfinished'])
  await assert.rejects(readFormat(target, '/data'), { code: 'not_a_log', message: /a restore was not finished/ })
})

test('a backup of the log and of other files is one archive', async () => {
  const engine = await openOn(new SimulatedDisk())
  await appendMany(engine, 0, 3)
  const pieces: Buffer[] = []
  const entries = async function* (): AsyncGenerator<ArchiveEntry> {
    yield { name: 'registry.db', size: 5, content: inPieces(Buffer.from('users'), 2) }
    yield* backupEntries(engine)
  }
  for await (const bytes of archiveOf(entries())) pieces.push(Buffer.from(bytes))
  await engine.close()
  const restored = new SimulatedDisk()
  const restore = new LogRestore(restored, '/data', world.random)
  await restore.begin()
  const others: string[] = []
  await readArchive(inPieces(Buffer.concat(pieces), 64), async (entry) => {
    if (await restore.take(entry)) return
    let text = ''
    for await (const bytes of entry.content) text += bytes.toString()
    others.push(`${entry.name}: ${text}`)
  })
  await restore.finish(clock.now())
  assert.deepEqual(others, ['registry.db: users'])
  const again = await openOn(restored)
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['0', '1', '2'])
  await again.close()
})
