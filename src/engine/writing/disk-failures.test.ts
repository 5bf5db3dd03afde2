import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineHealth } from '../../broker/ports/engine.ts'
import { EmbeddedEngine } from '../embedded.ts'
import type { EmbeddedEngineOptions } from '../embedded.ts'
import { RefusedError, append, changesOf, loadAll, messageOf, readAll, texts, write } from '../engine-client.testing.ts'
import { SimulatedDisk, seededRandom } from '../ports/simulated-disk.testing.ts'
import { TestClock } from '../../clock.testing.ts'

interface Setup {
  readonly disk: SimulatedDisk
  readonly clock: TestClock
  readonly engine: EmbeddedEngine
  readonly open: (disk: SimulatedDisk) => Promise<EmbeddedEngine>
}

async function setUp(options: Partial<EmbeddedEngineOptions> = {}): Promise<Setup> {
  const clock = new TestClock()
  const open = async (disk: SimulatedDisk): Promise<EmbeddedEngine> => {
    const engine = new EmbeddedEngine({ disk, directory: '/data', partitions: 4, clock, gatherMs: 0, ...options })
    await engine.open()
    return engine
  }
  const disk = new SimulatedDisk()
  return { disk, clock, engine: await open(disk), open }
}

/** The refusal of a request. */
async function refusal(request: Promise<unknown>): Promise<{ readonly reasonCode: number; readonly reason: string }> {
  try {
    await request
  } catch (error) {
    if (error instanceof RefusedError) return error.failure
    throw error
  }
  return assert.fail('it is refused')
}

/** Lets the engine try the disk again. Returns the engine's health after that. */
async function afterProbe({ engine, clock }: Setup): Promise<EngineHealth> {
  clock.advance(1_000)
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  return engine.health()
}

test('a full disk refuses with 0x97 and a reason, says so, and takes messages again by itself when there is room', async () => {
  const setup = await setUp()
  const { disk, engine, open } = setup
  await append(engine, 0, messageOf('a', 'before'), changesOf({ k: 'before' }))
  disk.capacityBytes = disk.content('/data/log/00000000000000000001.log').length + 100
  const failure = { reasonCode: 0x97, reason: 'The disk is full.' }
  const both = [refusal(append(engine, 0, messageOf('a', 'x'.repeat(200)))), refusal(write(engine, { k: 'too late' }))]
  assert.deepEqual(await Promise.all(both), [failure, failure])
  assert.deepEqual(engine.health(), { canWrite: false, reason: 'The disk is full.' })
  assert.deepEqual(await refusal(append(engine, 1, messageOf('a', 'y'))), failure)
  assert.equal((await afterProbe(setup)).canWrite, false)
  assert.deepEqual(texts((await readAll(engine, 0)).messages), ['before'], 'what is there can be read')
  disk.capacityBytes = Infinity
  assert.deepEqual(await afterProbe(setup), { canWrite: true, reason: '' })
  assert.equal(await append(engine, 0, messageOf('a', 'after')), 1)
  assert.deepEqual(texts((await readAll(engine, 0)).messages), ['before', 'after'])
  const again = await open(disk.powerCut(seededRandom(1)))
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['before', 'after'])
  assert.deepEqual(await loadAll(again), [['k', 'before']])
})

test('a failed sync is never tried again: the batch is refused, and later records go to a new segment', async () => {
  const setup = await setUp()
  const { disk, engine, open } = setup
  await append(engine, 0, messageOf('a', 'first'))
  let syncs = 0
  disk.fault = (operation, path) => {
    if (operation !== 'datasync' || !path.endsWith('1.log')) return undefined
    syncs += 1
    return syncs === 1 ? 'EIO' : undefined
  }
  const { reasonCode, reason } = await refusal(append(engine, 0, messageOf('a', 'lost by the disk')))
  assert.deepEqual([reasonCode, reason], [0x97, 'The disk can’t be written (EIO).'])
  assert.equal((await afterProbe(setup)).canWrite, true)
  assert.equal(await append(engine, 0, messageOf('a', 'second')), 1)
  assert.ok(disk.paths().includes('/data/log/00000000000000000002.log'))
  const again = await open(disk.powerCut(seededRandom(2)))
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['first', 'second'])
})

test('a refused message is not found after a restart, even if the disk let nothing be cut off', async () => {
  const setup = await setUp()
  const { disk, engine, open } = setup
  await append(engine, 0, messageOf('a', 'first'))
  disk.fault = (operation) => (operation === 'datasync' || operation === 'truncate' ? 'EIO' : undefined)
  await refusal(append(engine, 0, messageOf('a', 'refused')))
  disk.fault = undefined
  await afterProbe(setup)
  await append(engine, 0, messageOf('a', 'second'))
  const again = await open(disk.kill())
  assert.deepEqual(texts((await readAll(again, 0)).messages), ['first', 'second'])
})

test('requests that wait for a disk without an answer are bounded; beyond, messages are refused, and health tells it', async () => {
  const { disk, clock, engine } = await setUp({ waitingBytes: 10_000 })
  await append(engine, 0, messageOf('a', 'first'))
  const died = disk.dieAfter(0)
  const outcomes: string[] = []
  const refused: Promise<unknown>[] = []
  for (let number = 0; number < 20; number += 1) {
    const failed = refusal(append(engine, 0, messageOf('a', 'x'.repeat(1_000)))).then(({ reason }) =>
      outcomes.push(reason),
    )
    if (number >= 8) refused.push(failed)
    if (number === 0) await died
  }
  await Promise.all(refused.slice(1))
  assert.deepEqual(new Set(outcomes), new Set(['The disk is slower than what is published.']))
  assert.ok(outcomes.length >= 11 && outcomes.length <= 13)
  assert.equal(engine.health().canWrite, true)
  clock.advance(12_000)
  assert.deepEqual(engine.health(), { canWrite: false, reason: 'The disk has not answered for 12 s.' })
})

test('a small message does not overtake a large one of the same turn for which there was no room', async () => {
  const { engine } = await setUp({ waitingBytes: 10_000 })
  const outcomes = await Promise.allSettled(
    [8_000, 5_000, 100].map((length) => append(engine, 0, messageOf('a', 'x'.repeat(length)))),
  )
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
  assert.equal(await append(engine, 0, messageOf('a', 'y')), 1)
})

test('messages leave a reserve to changes of state, and the reserve is bounded too', async () => {
  const { engine } = await setUp({ waitingBytes: 10_000 })
  const payload = 'x'.repeat(1_000)
  const values = Object.fromEntries(['1', '2', '3'].map((key) => [key, 'y'.repeat(600)]))
  const outcomes = await Promise.allSettled([
    ...Array.from({ length: 10 }, () => append(engine, 0, messageOf('a', payload))),
    ...Object.entries(values).map(([key, value]) => write(engine, { [key]: value })),
  ])
  const owned = (from: number, to: number): number =>
    outcomes.slice(from, to).filter(({ status }) => status === 'fulfilled').length
  assert.deepEqual([owned(0, 10), owned(10, 13)], [7, 3])
  const more = await Promise.allSettled(
    Array.from({ length: 20 }, (_, key) => write(engine, { [key]: 'z'.repeat(600) })),
  )
  assert.equal(more.filter(({ status }) => status === 'rejected').length, 9)
  await engine.close()
})

test('a message whose properties could not be read again is refused, and no other message with it', async () => {
  const { engine } = await setUp()
  const unfit = [{ correlationData: Buffer.alloc(65_536) }, { responseTopic: 'a/+' }, { responseTopic: '' }]
  const outcomes = await Promise.all([
    append(engine, 0, messageOf('a', 'before')),
    ...unfit.map((properties) =>
      refusal(append(engine, 0, messageOf('a', 'b', { properties }))).then(({ reasonCode }) => reasonCode),
    ),
    append(engine, 0, messageOf('a', 'after')),
  ])
  assert.deepEqual(outcomes, [0, 0x83, 0x83, 0x83, 1])
  assert.deepEqual(texts((await readAll(engine, 0)).messages), ['before', 'after'])
  await engine.close()
})

test('a closed engine refuses', async () => {
  const { engine } = await setUp()
  await engine.close()
  assert.equal((await refusal(append(engine, 0, messageOf('a', 'x')))).reason, 'The log is closed.')
})

test('under load a batch waits for more requests; a single request does not wait', async () => {
  const { disk, clock, engine } = await setUp({ gatherMs: 2 })
  for (let number = 0; number < 5; number += 1) await append(engine, 0, messageOf('a', 'alone'))
  assert.equal(disk.datasyncs, 1 + 5, 'one for the format, and one for each')
  clock.advance(100)
  await Promise.all(Array.from({ length: 50 }, () => append(engine, 0, messageOf('a', 'together'))))
  const before = disk.datasyncs
  const late = [append(engine, 0, messageOf('a', 'late'))]
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  late.push(append(engine, 0, messageOf('a', 'later')))
  assert.equal(disk.datasyncs, before, 'it waits')
  clock.advance(2)
  await Promise.all(late)
  assert.equal(disk.datasyncs, before + 1)
  await engine.close()
})
