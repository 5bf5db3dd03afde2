import assert from 'node:assert/strict'
import { mkdtemp, readFile, readdir, readlink, rm, stat } from 'node:fs/promises'
import { constants } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { EmbeddedEngine } from '../embedded.ts'
import { append, changesOf, loadAll, messageOf, readAll, scanAll, texts } from '../engine-client.testing.ts'
import { nodeDisk } from './node-disk.ts'

function topicName(number: number): string {
  return `application/1/device/${number % 10}/event/up`
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'fieldgate-disk-'))
  t.after(() => rm(directory, { recursive: true }))
  return directory
}

test('more pieces than a system call takes are written and read whole', async (t) => {
  const directory = await temporaryDirectory(t)
  const file = await nodeDisk.create(`${directory}/a`)
  const pieces = Array.from({ length: 2_500 }, (_, number) => Buffer.from(String(number).padStart(5)))
  await file.write(pieces, 3)
  await file.datasync()
  assert.equal(await file.size(), 3 + 12_500)
  const read = pieces.map(() => Buffer.alloc(5))
  assert.equal(await file.read([...read, Buffer.alloc(10)], 3), 12_500)
  assert.deepEqual(read, pieces)
  await file.truncate(8)
  assert.equal(await file.size(), 8)
  await file.close()
})

test('bytes are written and read at their positions, in one piece or several, in any order', async (t) => {
  const directory = await temporaryDirectory(t)
  const file = await nodeDisk.create(`${directory}/a`)
  await file.write([Buffer.from('tail')], 8)
  await file.write([Buffer.from('he'), Buffer.from('ad')], 0)
  await file.write([Buffer.from('bo')], 4)
  await file.write([Buffer.from('d'), Buffer.from('y')], 6)
  await file.write([Buffer.from('H')], 0)
  await file.close()
  assert.equal(await readFile(`${directory}/a`, 'latin1'), 'Headbodytail')
  const again = await nodeDisk.open(`${directory}/a`)
  await again.write([Buffer.from('T')], 8)
  assert.equal(await again.size(), 12)
  const body = Buffer.alloc(4)
  assert.equal(await again.read([body], 4), 4)
  const [ta, il] = [Buffer.alloc(2), Buffer.alloc(2)]
  assert.equal(await again.read([ta, il], 8), 4)
  assert.deepEqual([body, ta, il].map(String), ['body', 'Ta', 'il'])
  await again.close()
})

test('a synced file is a file as any other, and is not made twice', async (t) => {
  const path = `${await temporaryDirectory(t)}/a`
  const file = await nodeDisk.createSynced(path)
  await file.write([Buffer.from('tail')], 8)
  await file.write([Buffer.from('head'), Buffer.from('body')], 0)
  await file.truncate(10)
  await file.datasync()
  await file.close()
  assert.equal(await readFile(path, 'latin1'), 'headbodyta')
  await assert.rejects(nodeDisk.createSynced(path), { code: 'EEXIST' })
})

test('on Linux the system syncs each write of a synced file, and of no other', async (t) => {
  if (process.platform !== 'linux') return t.skip('reads /proc')
  const directory = await temporaryDirectory(t)
  const files = [await nodeDisk.createSynced(`${directory}/synced`), await nodeDisk.create(`${directory}/other`)]
  assert.equal((await openFlags(`${directory}/synced`)) & constants.O_DSYNC, constants.O_DSYNC)
  assert.equal((await openFlags(`${directory}/other`)) & constants.O_DSYNC, 0)
  for (const file of files) await file.close()
})

/** The flags with which this process has the file open (proc(5), `fdinfo`). */
async function openFlags(path: string): Promise<number> {
  for (const descriptor of await readdir('/proc/self/fd')) {
    if ((await readlink(`/proc/self/fd/${descriptor}`).catch(() => '')) !== path) continue
    const [, flags = ''] = /^flags:\s+([0-7]+)$/m.exec(await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? []
    return Number.parseInt(flags, 8)
  }
  assert.fail(`${path} is open`)
}

test('opening a missing file fails with the system’s code; removing one does nothing; a missing directory is empty', async (t) => {
  const directory = await temporaryDirectory(t)
  await assert.rejects(nodeDisk.open(`${directory}/a`), { code: 'ENOENT' })
  await nodeDisk.remove(`${directory}/a`)
  await (await nodeDisk.create(`${directory}/a`)).close()
  await assert.rejects(nodeDisk.create(`${directory}/a`), { code: 'EEXIST' })
  assert.deepEqual(await nodeDisk.list(`${directory}/none`), [])
  await nodeDisk.rename(`${directory}/a`, `${directory}/b`)
  assert.deepEqual(await nodeDisk.list(directory), ['b'])
})

test('directories are made one in another, and files and directories are for their owner alone', async (t) => {
  const directory = await temporaryDirectory(t)
  await nodeDisk.makeDirectory(`${directory}/x/y/z`)
  await nodeDisk.makeDirectory(`${directory}/x/y/z`)
  await (await nodeDisk.create(`${directory}/x/y/z/file`)).close()
  await nodeDisk.syncDirectory(`${directory}/x/y/z`)
  assert.equal((await stat(`${directory}/x/y`)).mode & 0o777, 0o700)
  assert.equal((await stat(`${directory}/x/y/z/file`)).mode & 0o777, 0o600)
})

test('an engine on the machine’s disk keeps what it owned', async (t) => {
  const directory = `${await temporaryDirectory(t)}/log`
  const open = async (): Promise<EmbeddedEngine> => {
    const engine = new EmbeddedEngine({ disk: nodeDisk, directory, partitions: 2, segmentBytes: 100_000, tailBytes: 0 })
    await engine.open()
    return engine
  }
  const engine = await open()
  for (let batch = 0; batch < 20; batch += 1) {
    const numbers = Array.from({ length: 100 }, (_, index) => 100 * batch + index)
    const changes = changesOf({ batch: `${batch}` })
    await Promise.all(numbers.map((number) => append(engine, 0, messageOf(topicName(number), `${number}`), changes)))
  }
  const expected = Array.from({ length: 2_000 }, (_, number) => `${number}`)
  assert.deepEqual(texts((await readAll(engine, 0, 0, 500)).messages), expected)
  await engine.close()
  const again = await open()
  assert.deepEqual(texts((await readAll(again, 0, 0, 500)).messages), expected)
  const query = { partition: 0, topicPrefix: 'application/1/device/7/', direction: 'newest first' } as const
  const ofDevice = expected.filter((text) => text.endsWith('7')).toReversed()
  assert.deepEqual(texts(await scanAll(again, query, 50)), ofDevice)
  assert.deepEqual(await loadAll(again), [['batch', '19']])
  await again.close()
  const format = await readFile(`${directory}/format`, 'utf8')
  assert.match(format, /^fieldgate-log 2 partitions 2 seal [0-9a-f]{8} check [0-9a-f]{8}\n$/)
})
