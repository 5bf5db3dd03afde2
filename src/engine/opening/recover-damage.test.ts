import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLog } from './check-log.ts'
import { EmbeddedEngine } from '../embedded.ts'
import { append, changesOf, loadAll, messageOf, readAll, texts, write } from '../engine-client.testing.ts'
import { writeChangesRecord } from '../segments/record.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'
import { FIRST, filled, openOn, recordingLogger } from '../segments/small-log.testing.ts'
import { TestClock } from '../../clock.testing.ts'

/** The content with a few wrong bytes. */
function spoiled(content: Buffer, at: number): Buffer {
  const bytes = Buffer.from(content)
  for (let index = at; index < Math.min(at + 4, bytes.length); index += 1)
    bytes[index] = (bytes[index] as number) ^ 0x55
  return bytes
}

/** A log whose beginning was removed by retention and whose snapshots were spoiled. */
async function withoutSnapshots(spoil: (disk: SimulatedDisk, path: string) => unknown): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const clock = new TestClock()
  const options = { disk, directory: '/data', partitions: 2, clock, gatherMs: 0, segmentBytes: 2_000 }
  const engine = new EmbeddedEngine({ ...options, retentionMs: 60_000 })
  await engine.open()
  await write(engine, { old: 'in the snapshot alone' })
  for (let number = 0; number < 60; number += 1) await append(engine, 0, messageOf('a', `${number}`.padEnd(100)))
  clock.advance(120_000)
  await write(engine, { young: 'in the log' })
  await append(engine, 0, messageOf('a', 'last'))
  await engine.maintain()
  await engine.close()
  for (const path of disk.paths()) if (path.endsWith('.snapshot')) await spoil(disk, path)
  return disk
}

test('a damaged snapshot loses nothing if the snapshot before it and the log hold the same state', async () => {
  const disk = await filled(400)
  const snapshots = disk.paths().filter((path) => path.endsWith('.snapshot'))
  assert.equal(snapshots.length, 2)
  const newest = snapshots[1] ?? assert.fail()
  const broken = disk.kill()
  broken.replace(newest, spoiled(disk.content(newest), 20))
  const report = await checkLog(broken, '/data')
  assert.match(
    report?.problems.join() ?? '',
    /^state\/.*snapshot: \d+ bytes \(.*\) are damaged\. Nothing of the state is lost/,
  )
  const { logger, messages } = recordingLogger()
  const engine = await openOn(broken, logger)
  assert.ok(messages.includes('error log.damaged'))
  assert.deepEqual(await loadAll(engine), [['last', '399']])
  await engine.close()
  assert.deepEqual((await checkLog(broken, '/data'))?.problems, [], 'a new snapshot has taken its place')
  assert.ok(
    broken.paths().some((path) => path.startsWith('/data/damaged/')),
    'and the damaged one is kept',
  )
})

test('without any whole snapshot, the changes in the log are there, and the loss of the rest is reported', async () => {
  const cases = [
    {
      spoil: (disk: SimulatedDisk, path: string) => disk.remove(path),
      told: /^state: there is no snapshot of the state/,
    },
    {
      spoil: (disk: SimulatedDisk, path: string) => disk.replace(path, spoiled(disk.content(path), 15)),
      told: /are damaged\. \d of \d of the entries of the state were there/,
    },
    { spoil: (disk: SimulatedDisk, path: string) => disk.replace(path, Buffer.alloc(0)), told: /An unknown number/ },
  ]
  for (const { spoil, told } of cases) {
    const disk = await withoutSnapshots(spoil)
    assert.match((await checkLog(disk, '/data'))?.problems.join('\n') ?? '', told)
    const { logger, messages } = recordingLogger()
    const engine = await openOn(disk, logger)
    assert.ok(messages.includes('error log.damaged'))
    const state = new Map(await loadAll(engine))
    assert.equal(state.get('young'), 'in the log')
    assert.equal(await append(engine, 0, messageOf('a', 'and on')), 61)
    await engine.close()
    assert.deepEqual((await checkLog(disk, '/data'))?.problems, [])
  }
})

test('damage in the newest segment is passed over: records behind it are served, damaged bytes are counted and kept', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  for (let number = 0; number < 10; number += 1) {
    await append(engine, number % 2, messageOf('a/b', `${number}`.padEnd(100)), changesOf({ [`k${number}`]: 'v' }))
  }
  const whole = Buffer.from(disk.content(FIRST))
  const killed = disk.kill()
  const bytes = Buffer.from(whole)
  // The whole third message, with its head.
  const at = whole.indexOf(Buffer.from('2'.padEnd(100))) - 55
  bytes.fill(0xa5, at, at + 64)
  killed.replace(FIRST, bytes)
  const report = await checkLog(killed, '/data')
  assert.deepEqual([report?.messages, report?.lostMessages], [9, 1])
  assert.match(
    report?.problems.join() ?? '',
    /^log\/0{19}1\.log: 1\d\d bytes .* 1 message is lost.* partition 0 offset 1 \(id 0-1\)\. Changes/,
  )
  const { logger, messages } = recordingLogger()
  const again = await openOn(killed, logger)
  assert.ok(messages.includes('error log.damaged') && !messages.includes('warn log.tail_cut'))
  const read = [await readAll(again, 0), await readAll(again, 1)]
  assert.deepEqual(
    read.map(({ messages: found }) => texts(found).map((text) => text.trim())),
    [
      ['0', '4', '6', '8'],
      ['1', '3', '5', '7', '9'],
    ],
  )
  assert.deepEqual((await loadAll(again)).length, 9)
  assert.ok((read[0]?.lost ?? 0) >= 1, 'its readers are told')
  const kept = killed.paths().filter((path) => path.startsWith('/data/damaged/'))
  assert.equal(kept.length, 1)
  assert.ok(killed.content(kept[0] ?? '').includes(Buffer.alloc(64, 0xa5)))
  await append(again, 0, messageOf('a/b', 'next'))
  const offset = again.tail(0)
  await again.close()
  const third = await openOn(killed)
  assert.equal(third.tail(0), offset)
  assert.equal((await readAll(third, 0)).messages.length, 5)
  await third.close()
})

test('no payload is taken for a record: bytes behind damage that look like a record have no seal', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  const forged = Buffer.alloc(200)
  const forgedBytes = writeChangesRecord(forged, 0, changesOf({ forged: 'yes' }), 0)
  const payload = Buffer.concat(Array.from({ length: 20 }, () => forged.subarray(0, forgedBytes)))
  await append(engine, 0, messageOf('a', payload.toString('latin1')))
  await append(engine, 0, messageOf('a', '', { payload }))
  await append(engine, 0, messageOf('a', 'behind'))
  const killed = disk.kill()
  const bytes = Buffer.from(killed.content(FIRST))
  const at = bytes.indexOf(payload)
  bytes.fill(0, at - 60, at + 10)
  for (const content of [bytes, bytes.subarray(0, at + payload.length - 3)]) {
    const torn = disk.kill()
    torn.replace(FIRST, content)
    const again = await openOn(torn)
    assert.deepEqual(await loadAll(again), [])
    await again.close()
  }
})

test('a segment whose head is damaged is read without it, wherever it stands', async () => {
  const heads = (await filled(60)).paths().filter((path) => path.endsWith('.log'))
  for (const path of heads) {
    for (const withIndexes of [true, false]) {
      const disk = await filled(60)
      const bytes = Buffer.from(disk.content(path))
      bytes.fill(0, 0, 88)
      disk.replace(path, bytes)
      if (!withIndexes) for (const one of disk.paths()) if (one.endsWith('.index')) await disk.remove(one)
      const report = await checkLog(disk, '/data')
      assert.deepEqual([report?.messages, report?.lostMessages], [60, 0], path)
      assert.match(report?.problems.join() ?? '', /its head is damaged/)
      const engine = await openOn(disk)
      for (const partition of [0, 1]) {
        const { messages, lost } = await readAll(engine, partition)
        assert.deepEqual([messages.length, lost], [30, 0], path)
      }
      assert.deepEqual([engine.tail(0), engine.tail(1)], [30, 30])
      await engine.close()
    }
  }
})

test('a newest segment that is shorter than its index or a snapshot says never gives away one of its offsets again', async () => {
  for (const withIndex of [true, false]) {
    const disk = await filled(200)
    const last = disk.paths().findLast((path) => path.endsWith('.log')) ?? assert.fail()
    if (!withIndex) {
      await disk.remove(last.replace('.log', '.index'))
      // Makes a snapshot that stands for the whole log.
      const engine = await openOn(disk)
      await engine.close()
    }
    const newest = disk.paths().findLast((path) => path.endsWith('.log')) ?? assert.fail()
    disk.replace(newest, disk.content(newest).subarray(0, 400))
    const report = await checkLog(disk, '/data')
    const { logger } = recordingLogger()
    const engine = await openOn(disk, logger)
    if (withIndex) {
      assert.deepEqual([engine.tail(0), engine.tail(1)], [100, 100])
      const read = [await readAll(engine, 0), await readAll(engine, 1)]
      const lost = read.reduce((sum, one) => sum + one.lost, 0)
      assert.ok(lost > 0)
      assert.equal(report?.lostMessages, lost)
      assert.equal(read.reduce((sum, one) => sum + one.messages.length, 0) + lost, 200)
    }
    await engine.close()
  }
})

test('bytes that the disk can not read are passed over like damaged ones', async () => {
  const disk = await filled(60)
  disk.fault = (operation, path, position) =>
    operation === 'read' && path === FIRST && position !== undefined ? 'EIO' : undefined
  const report = await checkLog(disk, '/data')
  const engine = await openOn(disk)
  const read = [await readAll(engine, 0), await readAll(engine, 1)]
  const lost = read.reduce((sum, one) => sum + one.lost, 0)
  assert.deepEqual([report?.lostMessages, report?.messages], [lost, 60 - lost])
  assert.equal(read.reduce((sum, { messages }) => sum + messages.length, 0) + lost, 60)
  await engine.close()
})
