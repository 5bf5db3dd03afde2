import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { checkLog } from './check-log.ts'
import { EmbeddedEngine } from './embedded.ts'
import { append, changesOf, loadAll, messageOf, readAll, texts, write } from './engine-client.testing.ts'
import { SimulatedDisk } from './simulated-disk.testing.ts'
import { TestClock } from './test-clock.testing.ts'
import { VERSION_1_EXPECTED, writeVersion1 } from './version-1.testing.ts'

const FIRST = '/data/log/00000000000000000001.log'

function recordingLog(): { readonly log: Log; readonly messages: string[] } {
  const messages: string[] = []
  const note = (level: string) => (_: object, message: string) => void messages.push(`${level} ${message}`)
  return { log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }, messages }
}

async function openOn(disk: SimulatedDisk, log?: Log, partitions = 2): Promise<EmbeddedEngine> {
  const options = {
    directory: '/data',
    partitions,
    clock: new TestClock(),
    gatherMs: 0,
    segmentBytes: 2_000,
    tailBytes: 0,
  }
  const engine = new EmbeddedEngine({ disk, ...options, ...(log === undefined ? {} : { log }) })
  await engine.open()
  return engine
}

async function filled(count: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  for (let number = 0; number < count; number += 1) {
    await append(engine, number % 2, messageOf('a/b', `${number}`.padEnd(100)), changesOf({ last: `${number}` }))
  }
  await engine.close()
  return disk
}

test('a log of version 1 is read, message by message and key by key', async () => {
  const disk = new SimulatedDisk()
  writeVersion1(disk, '/data')
  const engine = await openOn(disk)
  assert.deepEqual(await loadAll(engine), VERSION_1_EXPECTED.state)
  const { messages, offsets, lost } = await readAll(engine, 1)
  assert.deepEqual([offsets, lost], [VERSION_1_EXPECTED.offsets, VERSION_1_EXPECTED.lost])
  for (const [index, expected] of VERSION_1_EXPECTED.messages.entries()) {
    const { topicName, payload, qos, retain, properties, publisherKey, expiresAtMs, ownedAtMs } =
      messages[index] ?? assert.fail()
    const read = {
      topicName,
      payload: payload.toString(),
      qos,
      retain,
      properties,
      publisherKey,
      expiresAtMs,
      ownedAtMs,
    }
    assert.deepEqual(read, expected)
  }
  assert.deepEqual((await checkLog(disk, '/data'))?.problems, [])
  await engine.close()
})

test('what a newer version wrote is refused with a sentence, wherever it shows', async () => {
  const format = new SimulatedDisk()
  format.replace('/data/format', Buffer.from('fieldgate-log 2 partitions 2\n'))
  await assert.rejects(openOn(format), { code: 'newer_format', message: /of version 2, written by a newer Fieldgate/ })
  const head = new SimulatedDisk()
  writeVersion1(head, '/data', { headVersion: 2 })
  await assert.rejects(openOn(head), { code: 'newer_format', message: /records of version 2/ })
  const record = new SimulatedDisk()
  writeVersion1(record, '/data', { recordVersion: 9 })
  await assert.rejects(openOn(record), { code: 'newer_format', message: /records of version 9.*Use the newer one/ })
})

test('a directory with other partitions, without its format or with a strange one is refused', async () => {
  const disk = await filled(10)
  await assert.rejects(openOn(disk, undefined, 3), { code: 'partitions_differ' })
  await disk.remove('/data/format')
  await assert.rejects(openOn(disk), { code: 'not_a_log', message: /"format" is missing/ })
  disk.replace('/data/format', Buffer.from('something else'))
  await assert.rejects(openOn(disk), { code: 'not_a_log' })
})

test('a torn end is cut, and what comes next follows what is left', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  for (const text of ['0', '1', '2']) await append(engine, 0, messageOf('a', text))
  const whole = disk.content(FIRST)
  const killed = disk.kill()
  killed.replace(FIRST, whole.subarray(0, whole.length - 5))
  const { log, messages } = recordingLog()
  const again = await openOn(killed, log)
  assert.ok(messages.includes('warn log.tail_cut'))
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['0', '1'])
  assert.equal(await append(again, 0, messageOf('a', '2 again')), 2)
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['0', '1', '2 again'])
  assert.equal((await readAll(again, 0)).lost, 0)
})

test('damage in a complete segment is told, skipped and counted as lost; all else is there', async () => {
  const disk = await filled(60)
  const bytes = Buffer.from(disk.content(FIRST))
  bytes[900] = (bytes[900] as number) ^ 0x40
  disk.replace(FIRST, bytes)
  await disk.remove('/data/log/00000000000000000001.index')
  const report = await checkLog(disk, '/data')
  assert.equal(report?.messages, 59)
  assert.match(
    report?.problems.join('\n') ?? '',
    /^log\/0{19}1\.log: 1\d\d bytes are damaged; what was there is lost\.$/,
  )
  const { log, messages } = recordingLog()
  const engine = await openOn(disk, log)
  const all = [await readAll(engine, 0), await readAll(engine, 1)]
  assert.equal(
    all.reduce((sum, { lost }) => sum + lost, 0),
    1,
  )
  assert.equal(
    all.reduce((sum, { messages: read }) => sum + read.length, 0),
    59,
  )
  assert.ok(messages.includes('error log.damaged'))
  assert.deepEqual(await loadAll(engine), [['last', '59']])
  await engine.close()
})

test('damage that an index does not know of is told, skipped and counted when it is read', async () => {
  const disk = await filled(60)
  const bytes = Buffer.from(disk.content(FIRST))
  bytes[900] = (bytes[900] as number) ^ 0x40
  disk.replace(FIRST, bytes)
  const { log, messages } = recordingLog()
  const engine = await openOn(disk, log)
  const all = [await readAll(engine, 0, 0, 3), await readAll(engine, 1, 0, 3)]
  assert.equal(
    all.reduce((sum, { lost }) => sum + lost, 0),
    1,
  )
  assert.ok(messages.includes('error log.record_damaged'))
  const query = { topicPrefix: 'a/', direction: 'newest first', maximumMessages: 100 } as const
  const scans = await Promise.all([0, 1].map((partition) => engine.scan({ ...query, partition })))
  assert.equal(
    scans.reduce((sum, { messages: found }) => sum + found.length, 0),
    59,
  )
  await engine.close()
})

test('an index that is rotten or missing is made again', async () => {
  const disk = await filled(60)
  for (const path of disk.paths().filter((name) => name.endsWith('.index'))) disk.replace(path, Buffer.from('rubbish'))
  const engine = await openOn(disk)
  assert.equal((await readAll(engine, 0)).messages.length, 30)
  assert.equal((await readAll(engine, 1)).messages.length, 30)
  await engine.close()
  assert.ok(disk.content('/data/log/00000000000000000001.index').length > 100)
})

test('a missing segment is told, and what was in it counts as lost', async () => {
  const disk = await filled(60)
  await disk.remove('/data/log/00000000000000000002.log')
  assert.match((await checkLog(disk, '/data'))?.problems.join('\n') ?? '', /segments are missing/)
  const { log, messages } = recordingLog()
  const engine = await openOn(disk, log)
  assert.ok(messages.includes('error log.segment_missing'))
  const { lost, messages: read } = await readAll(engine, 0)
  assert.ok(lost > 0)
  assert.equal(lost + read.length, 30)
  await engine.close()
})

test('a log whose state could not be recovered does not open', async () => {
  const disk = await filled(200)
  const snapshot = disk.paths().find((path) => path.endsWith('.snapshot')) ?? assert.fail('there is a snapshot')
  const bytes = Buffer.from(disk.content(snapshot))
  const broken = disk.kill()
  broken.replace(snapshot, bytes.subarray(0, bytes.length - 1))
  await assert.rejects(openOn(broken), { code: 'snapshot_damaged' })
  assert.match((await checkLog(broken, '/data'))?.problems.join('\n') ?? '', /snapshot of the state.*damaged/)
})

test('the state outlives the segments that it was written in, and tails outlive their messages', async () => {
  const disk = new SimulatedDisk()
  const clock = new TestClock()
  const options = {
    disk,
    directory: '/data',
    partitions: 2,
    clock,
    gatherMs: 0,
    segmentBytes: 2_000,
    retentionMs: 60_000,
  }
  const engine = new EmbeddedEngine(options)
  await engine.open()
  await write(engine, { old: 'but kept' })
  await append(engine, 1, messageOf('a', 'only one'))
  for (let number = 0; number < 100; number += 1) await append(engine, 0, messageOf('a', `${number}`.padEnd(100)))
  clock.advance(120_000)
  await append(engine, 0, messageOf('a', 'last'))
  await engine.maintain()
  await engine.close()
  const again = new EmbeddedEngine(options)
  await again.open()
  assert.deepEqual(await loadAll(again), [['old', 'but kept']])
  assert.deepEqual([again.tail(0), again.tail(1)], [101, 1])
  assert.equal((await readAll(again, 1)).lost, 1)
  assert.ok((await readAll(again, 0)).lost > 50)
  assert.equal(await append(again, 1, messageOf('a', 'second')), 1)
  await again.close()
})

test('a large state is written to snapshots while it changes, and is whole after a kill', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  const expected = new Map<string, string>()
  for (let round = 0; round < 4; round += 1) {
    for (let number = 0; number < 60; number += 1) {
      const value = `${round}:${number}`.padEnd(number % 7 === 0 ? 150_000 : 40_000)
      // Gone in one round, back at another place in the next.
      if ((number + round) % 5 === 0) expected.delete(`k${number}`)
      else expected.set(`k${number}`, value)
      await write(engine, { [`k${number}`]: expected.get(`k${number}`) })
    }
  }
  const snapshots = disk.paths().filter((path) => path.endsWith('.snapshot'))
  assert.equal(snapshots.length, 1)
  assert.ok(disk.content(snapshots[0] as string).length > 2_000_000)
  const again = await openOn(disk.kill())
  assert.deepEqual(new Map(await loadAll(again)), expected)
  await again.close()
})
