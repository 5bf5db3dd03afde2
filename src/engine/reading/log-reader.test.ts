import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EmbeddedEngine } from '../embedded.ts'
import type { EmbeddedEngineOptions } from '../embedded.ts'
import { append, messageOf, readAll, scanAll, texts } from '../engine-client.testing.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'
import { TestClock } from '../../clock.testing.ts'

const TOTAL = 3_000

/** An engine with some 200 KB of messages on disk; only the last 100 KB are in memory as well. */
async function filled(
  options: Partial<EmbeddedEngineOptions> = {},
): Promise<{ readonly engine: EmbeddedEngine; readonly disk: SimulatedDisk }> {
  const disk = new SimulatedDisk()
  const clock = new TestClock()
  const sizes = { segmentBytes: 1_000_000, tailBytes: 100_000, gatherMs: 0 }
  const engine = new EmbeddedEngine({ disk, directory: '/data', partitions: 2, clock, ...sizes, ...options })
  await engine.open()
  for (let first = 0; first < TOTAL; first += 50) {
    const numbers = Array.from({ length: 50 }, (_, number) => first + number)
    await Promise.all(numbers.map((number) => append(engine, 0, messageOf(`a/b/c/${number % 100}/e`, `${number}`))))
  }
  return { engine, disk }
}

function countReads(disk: SimulatedDisk): () => number {
  let reads = 0
  disk.fault = (operation) => {
    if (operation === 'read') reads += 1
    return undefined
  }
  return () => reads
}

test('readers that catch up at the same time share the blocks read from disk', async () => {
  const alone = await filled()
  const readsOfOne = countReads(alone.disk)
  await readAll(alone.engine, 0)
  const together = await filled()
  const readsOfMany = countReads(together.disk)
  const all = await Promise.all(Array.from({ length: 50 }, () => readAll(together.engine, 0)))
  for (const { messages, lost } of all) assert.deepEqual([messages.length, lost], [TOTAL, 0])
  assert.ok(
    readsOfOne() > 0 && readsOfMany() <= readsOfOne() + 5,
    `${readsOfMany()} reads for 50, ${readsOfOne()} for one`,
  )
  await Promise.all([alone.engine.close(), together.engine.close()])
})

test('readers of the same messages get the same objects, so each is encoded once for all of them', async () => {
  const { engine } = await filled()
  const [one, other] = [await engine.read(0, 0, 10), await engine.read(0, 0, 10)]
  assert.ok(one.messages[3] !== undefined && one.messages[3] === other.messages[3])
  await engine.close()
})

test('messages at the tail are read without waiting', async () => {
  const { engine } = await filled()
  assert.ok(!(engine.read(0, TOTAL - 5, 10) instanceof Promise))
  assert.ok(engine.read(0, 0, 10) instanceof Promise)
  await engine.close()
})

test('a segment that retention removes while it is read counts as lost for the reader, without an error', async () => {
  const { engine, disk } = await filled({ retentionBytes: 60_000, segmentBytes: 20_000, indexBytes: 0, cacheBytes: 0 })
  disk.fault = (operation, path) => (operation === 'open' && !disk.paths().includes(path) ? 'ENOENT' : undefined)
  const query = { partition: 0, topicPrefix: 'a/', direction: 'oldest first', maximumMessages: 10_000 } as const
  const reads = Array.from({ length: 20 }, (_, number) => readAll(engine, 0, 100 * number))
  const [scan, , ...results] = await Promise.all([engine.scan(query), engine.maintain(), ...reads])
  for (const [number, { lost, messages }] of results.entries()) {
    assert.equal(lost + messages.length, TOTAL - 100 * number)
  }
  assert.deepEqual(
    texts(scan.messages),
    texts(scan.messages).toSorted((a, b) => Number(a) - Number(b)),
  )
  await engine.close()
})

test('a disk that can not be read fails the read, and the next one succeeds', async () => {
  const { engine, disk } = await filled()
  disk.fault = (operation) => (operation === 'read' ? 'EIO' : undefined)
  await assert.rejects(async () => await engine.read(0, 0, 10), { code: 'EIO' })
  const query = { partition: 0, topicPrefix: 'a/b/', direction: 'oldest first', maximumMessages: 10 } as const
  await assert.rejects(engine.scan(query), { code: 'EIO' })
  disk.fault = undefined
  assert.deepEqual(texts((await engine.read(0, 0, 2)).messages), ['0', '1'])
  await engine.close()
})

test('a scan without matches does a bounded share of the work per call, and ends', async () => {
  const { engine } = await filled()
  const query = { partition: 0, topicPrefix: 'a/', direction: 'newest first', accepts: () => false } as const
  let calls = 0
  let afterOffset: number | undefined
  for (let more = true; more; calls += 1) {
    const page = await engine.scan({ ...query, afterOffset, maximumMessages: 1 })
    assert.deepEqual(page.messages, [])
    more = page.more
    afterOffset = page.nextAfterOffset
  }
  assert.equal(calls, 1, '3,000 are within one share')
  assert.deepEqual(texts(await scanAll(engine, { ...query, accepts: (name) => name.includes('/7/') }, 3)).length, 30)
  await engine.close()
})

test('a scan of one device reads the entries of the device, and no index as a whole', async () => {
  const options = { segmentBytes: 20_000, tailBytes: 1, indexBytes: 0, cacheBytes: 0 }
  const { engine, disk } = await filled(options)
  const query = { partition: 0, topicPrefix: 'a/b/c/7/', direction: 'newest first' } as const
  let bytes = 0
  const open = disk.open.bind(disk)
  disk.open = async (path) => {
    const file = await open(path)
    if (!path.endsWith('.index')) return file
    const read = file.read.bind(file)
    file.read = async (pieces, position) => {
      bytes += pieces.reduce((sum, { length }) => sum + length, 0)
      return await read(pieces, position)
    }
    return file
  }
  const expected = Array.from({ length: TOTAL / 100 }, (_, number) => String(100 * number + 7)).toReversed()
  assert.deepEqual(texts(await scanAll(engine, query, 7)), expected)
  const ofDevice = bytes
  bytes = 0
  await scanAll(engine, { ...query, topicPrefix: 'a/b/' }, 7)
  assert.ok(ofDevice > 0 && ofDevice < bytes / 2, `${ofDevice} bytes for a device, ${bytes} for all`)
  await engine.close()
})

test('an index whose entries by device are damaged, or that has none, costs no message', async () => {
  for (const spoil of [
    (content: Buffer) => content.fill(0x41, content.length - 400),
    (content: Buffer) => content.subarray(0, content.length - 400),
  ]) {
    const { engine, disk } = await filled({ segmentBytes: 20_000, tailBytes: 1, indexBytes: 0 })
    // The index of the last complete segment may still be on its way to the disk.
    const written = disk.paths().filter((path) => path.endsWith('.index') && disk.content(path).length > 400)
    assert.ok(written.length > 2)
    for (const path of written) disk.replace(path, spoil(Buffer.from(disk.content(path))))
    const query = { partition: 0, topicPrefix: 'a/b/c/99/', direction: 'oldest first' } as const
    const expected = Array.from({ length: TOTAL / 100 }, (_, number) => String(100 * number + 99))
    assert.deepEqual(texts(await scanAll(engine, query, 1_000)), expected)
    await engine.close()
  }
})
