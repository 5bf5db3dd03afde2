import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { checkLog } from './check-log.ts'
import { EmbeddedEngine } from '../embedded.ts'
import { append, loadAll, messageOf, readAll, texts, write } from '../engine-client.testing.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'
import { FIRST, filled, openOn, recordingLogger } from '../segments/small-log.testing.ts'
import { TestClock } from '../../clock.testing.ts'
import { VERSION_1_EXPECTED, writeVersion1 } from './version-1.testing.ts'

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

test('a log of a newer version is refused with a sentence, wherever the version shows', async () => {
  const format = new SimulatedDisk()
  const line = 'fieldgate-log 3 partitions 2 and more'
  format.replace('/data/format', Buffer.from(`${line} check ${crc32(line).toString(16).padStart(8, '0')}\n`))
  await assert.rejects(openOn(format), { code: 'newer_format', message: /of version 3, written by a newer Fieldgate/ })
  const head = new SimulatedDisk()
  writeVersion1(head, '/data', { headVersion: 4 })
  await assert.rejects(openOn(head), { code: 'newer_format', message: /records of version 4/ })
  const record = new SimulatedDisk()
  writeVersion1(record, '/data', { recordVersion: 9 })
  await assert.rejects(openOn(record), { code: 'newer_format', message: /records of version 9.*Use the newer one/ })
})

test('a directory with other partitions is refused', async () => {
  await assert.rejects(openOn(await filled(10), undefined, 3), { code: 'partitions_differ' })
})

test('a log whose format is missing or damaged is read with the format in its segments, and the format is written again', async () => {
  for (const content of [
    undefined,
    'something else',
    'fieldgate-log 3 partitions 2\n',
    'fieldgate-log 2 partitions 4 seal',
  ]) {
    const disk = await filled(10)
    const whole = disk.content('/data/format')
    if (content === undefined) await disk.remove('/data/format')
    else disk.replace('/data/format', Buffer.from(content))
    const report = await checkLog(disk, '/data')
    assert.match(report?.problems.join() ?? '', /^format: it is damaged or missing.* Nothing is lost\.$/)
    const engine = await openOn(disk)
    assert.equal((await readAll(engine, 0)).messages.length, 5)
    assert.deepEqual(disk.content('/data/format'), whole)
    await engine.close()
  }
})

test('a directory whose format neither a file nor a segment tells is refused', async () => {
  const disk = new SimulatedDisk()
  disk.replace('/data/format', Buffer.from('something else'))
  await assert.rejects(openOn(disk), { code: 'not_a_log' })
  await disk.remove('/data/format')
  disk.replace(FIRST, Buffer.alloc(1_000))
  await assert.rejects(openOn(disk), { code: 'not_a_log', message: /"format" in \/data is missing/ })
})

test('a torn end is cut, and the next message follows the last whole one', async () => {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  for (const text of ['0', '1', '2']) await append(engine, 0, messageOf('a', text))
  const whole = disk.content(FIRST)
  const killed = disk.kill()
  killed.replace(FIRST, whole.subarray(0, whole.length - 5))
  const { logger, messages } = recordingLogger()
  const again = await openOn(killed, logger)
  assert.ok(messages.includes('warn log.tail_cut'))
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['0', '1'])
  assert.equal(await append(again, 0, messageOf('a', '2 again')), 2)
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['0', '1', '2 again'])
  assert.equal((await readAll(again, 0)).lost, 0)
})

test('damage in a complete segment is reported, skipped and counted as lost; all other messages are there', async () => {
  const disk = await filled(60)
  const bytes = Buffer.from(disk.content(FIRST))
  bytes[900] = (bytes[900] as number) ^ 0x40
  disk.replace(FIRST, bytes)
  await disk.remove('/data/log/00000000000000000001.index')
  const report = await checkLog(disk, '/data')
  assert.equal(report?.messages, 59)
  assert.match(
    report?.problems.join('\n') ?? '',
    /^log\/0{19}1\.log: 157 bytes \(873 to 1029\) are damaged\. 1 message is lost, taken between .*: partition 1 offset 2 \(id 1-2\)\.$/,
  )
  const { logger, messages } = recordingLogger()
  const engine = await openOn(disk, logger)
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

test('damage that an index does not know is reported, skipped and counted when it is read', async () => {
  const disk = await filled(60)
  const bytes = Buffer.from(disk.content(FIRST))
  bytes[900] = (bytes[900] as number) ^ 0x40
  disk.replace(FIRST, bytes)
  const { logger, messages } = recordingLogger()
  const engine = await openOn(disk, logger)
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

test('a missing segment is reported, and its messages count as lost', async () => {
  const disk = await filled(60)
  await disk.remove('/data/log/00000000000000000002.log')
  assert.match(
    (await checkLog(disk, '/data'))?.problems.join('\n') ?? '',
    /^log\/0{19}2\.log: the file is missing\. 13 messages are lost: partition 0 offsets 7 to 12 \(id 0-7 to 0-12\)/,
  )
  const { logger, messages } = recordingLogger()
  const engine = await openOn(disk, logger)
  assert.ok(messages.includes('error log.damaged'))
  const { lost, messages: read } = await readAll(engine, 0)
  assert.ok(lost > 0)
  assert.equal(lost + read.length, 30)
  await engine.close()
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
      // The key is forgotten in one round, and comes back at another place in the next.
      if ((number + round) % 5 === 0) expected.delete(`k${number}`)
      else expected.set(`k${number}`, value)
      await write(engine, { [`k${number}`]: expected.get(`k${number}`) })
    }
  }
  const snapshots = disk.paths().filter((path) => path.endsWith('.snapshot'))
  assert.equal(snapshots.length, 2)
  assert.ok(disk.content(snapshots[1] as string).length > 2_000_000)
  const again = await openOn(disk.kill())
  assert.deepEqual(new Map(await loadAll(again)), expected)
  await again.close()
})
