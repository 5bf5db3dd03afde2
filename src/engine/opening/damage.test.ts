/**
 * Damages random places of a log. Whole records are served, lost ones are counted and reported, and
 * `check` reports the same as the start.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '../../logger.ts'
import { silentLogger } from '../../logger.ts'
import { checkLog } from './check-log.ts'
import type { LogReport } from './check-log.ts'
import { EmbeddedEngine } from '../embedded.ts'
import { append, changesOf, loadAll, messageOf, readAll, write } from '../engine-client.testing.ts'
import { parseFormat } from '../segments/log-directory.ts'
import { KIND_MESSAGE, kindOf, placeOfRecord } from '../segments/record.ts'
import { scanRecords } from '../segments/scan-records.ts'
import { segmentHeaderBytes } from '../segments/segment-header.ts'
import { SimulatedDisk, seededRandom } from '../ports/simulated-disk.testing.ts'
import type { Random } from '../ports/simulated-disk.testing.ts'
import { spoil } from './spoil.testing.ts'
import { TestClock } from '../../clock.testing.ts'

/**
 * `FIELDGATE_DAMAGES=1000` runs more. `FIELDGATE_DAMAGE_SEED` repeats the seed of a failure first.
 */
const DAMAGES = Number(process.env['FIELDGATE_DAMAGES'] ?? 120)
const FIRST_SEED = Number(process.env['FIELDGATE_DAMAGE_SEED'] ?? 1)
const PARTITIONS = 3

/** A message and its place. */
interface Stored {
  readonly partition: number
  readonly offset: number
  readonly text: string
  readonly file: string
  readonly from: number
  readonly to: number
}

/** A log that will be damaged, and everything in it. */
interface Whole {
  readonly name: string
  readonly files: ReadonlyMap<string, Buffer>
  readonly messages: readonly Stored[]
  readonly state: ReadonlyMap<string, string>
  readonly newest: string
}

const counts = { damages: 0, served: 0, lost: 0, further: 0, torn: 0, stateTold: 0 }

test(`after damage at ${DAMAGES} random places all whole records are served, and check reports the lost ones`, async () => {
  const logs = [await makeLog('closed'), await makeLog('killed')]
  for (let seed = FIRST_SEED; seed < FIRST_SEED + DAMAGES; seed += 1) {
    const whole = logs[seed % logs.length] ?? assert.fail()
    await new Case(whole, seed).run()
  }
  assert.ok(counts.lost > 0 && counts.served > counts.lost)
  console.log(
    `${counts.damages} damages in ${DAMAGES} logs: ${counts.served} messages served, ${counts.lost} told as lost by place and ${counts.further} by number, ` +
      `${counts.torn} behind the end of a log that was killed; ${counts.stateTold} times a loss of state was told`,
  )
})

class Case {
  readonly #whole: Whole
  readonly #random: Random
  readonly #disk = new SimulatedDisk()
  #what: string

  constructor(whole: Whole, seed: number) {
    this.#whole = whole
    this.#random = seededRandom(seed)
    this.#what = `seed ${seed}, ${whole.name}`
  }

  async run(): Promise<void> {
    for (const [path, content] of this.#whole.files) this.#disk.replace(path, content)
    const damages = this.#random() < 0.7 ? 1 : 1 + Math.floor(this.#random() * 3)
    for (let count = 0; count < damages; count += 1) await this.#damage()
    counts.damages += damages
    const before = this.#disk.paths().map((path) => [path, Buffer.from(this.#disk.content(path))] as const)
    const report = (await checkLog(this.#disk, '/data')) ?? assert.fail(`${this.#what}: there is a log`)
    for (const [path, content] of before) assert.deepEqual(this.#disk.content(path), content, `${path} is as it was`)
    const expected = this.#expected()
    const told: string[] = []
    const error = (fields: object): void => {
      if ('kind' in fields && 'file' in fields) told.push(`${String(fields.kind)} ${String(fields.file)}`)
    }
    const engine = await openOn(this.#disk, { ...silentLogger, error })
    const known = new Set(report.damages.map(({ kind, file }) => `${kind} ${file}`))
    for (const one of told) assert.ok(known.has(one), `${this.#what}: check tells ${one}, too`)
    await this.#checkMessages(engine, report, expected)
    this.#checkState(new Map(await loadAll(engine)), report)
    await this.#goesOn(engine)
    await engine.close()
    const again = await openOn(this.#disk)
    await this.#goesOn(again)
    await again.close()
  }

  async #damage(): Promise<void> {
    const kind = this.#random()
    const ending = kind < 0.55 ? '.log' : kind < 0.7 ? '.index' : kind < 0.95 ? '.snapshot' : 'format'
    const paths = this.#disk.paths().filter((path) => path.endsWith(ending))
    const path = paths[Math.floor(this.#random() * paths.length)]
    if (path === undefined) return
    const { what, content } = spoil(this.#disk.content(path), this.#random)
    this.#what += `, ${path} ${what}`
    if (content === undefined) await this.#disk.remove(path)
    else this.#disk.replace(path, content)
  }

  /** The messages whose bytes are unchanged. */
  #expected(): readonly Stored[] {
    const paths = this.#disk.paths()
    return this.#whole.messages.filter(({ file, from, to }) => {
      const original = this.#whole.files.get(file)?.subarray(from, to) ?? assert.fail()
      return paths.includes(file) && original.equals(this.#disk.content(file).subarray(from, to))
    })
  }

  async #checkMessages(engine: EmbeddedEngine, report: LogReport, expected: readonly Stored[]): Promise<void> {
    const what = this.#what
    const served = new Set<string>()
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const { messages, offsets, lost } = await readAll(engine, partition, 0, 40)
      assert.equal(messages.length + lost, engine.tail(partition), `${what}: partition ${partition} is told whole`)
      for (const [index, message] of messages.entries()) {
        const stored = this.#whole.messages.find((one) => one.partition === partition && one.offset === offsets[index])
        assert.equal(message.payload.toString(), stored?.text, `${what}: ${partition}-${offsets[index]}`)
        served.add(`${partition}-${offsets[index]}`)
      }
    }
    for (const { partition, offset } of expected) {
      assert.ok(served.has(`${partition}-${offset}`), `${what}: ${partition}-${offset} is whole, and is served`)
    }
    assert.equal(report.messages, served.size, `${what}: check counts what is served`)
    const told = new Set<string>()
    for (const { lost } of report.damages) {
      for (const { partition, from, to } of lost) {
        for (let offset = from; offset < to; offset += 1) {
          assert.ok(!told.has(`${partition}-${offset}`), `${what}: ${partition}-${offset} is told once`)
          told.add(`${partition}-${offset}`)
        }
      }
    }
    for (const place of told) assert.ok(!served.has(place), `${what}: ${place} is told as lost, and is not served`)
    const untold = this.#whole.messages.filter(({ partition, offset }) => {
      return !served.has(`${partition}-${offset}`) && !told.has(`${partition}-${offset}`)
    })
    // If a log was killed, only a whole record behind the damage shows that the log went further.
    const torn = untold.filter(({ file, from }) => {
      return (
        this.#whole.name === 'killed' &&
        expected.every((one) => one.file < file || (one.file === file && one.from < from))
      )
    })
    const further = untold.length - torn.length
    assert.ok(
      further <= report.furtherAtMost,
      `${what}: ${further} are told by number, ${report.furtherAtMost} at most`,
    )
    if (told.size + further > 0) assert.ok(report.problems.length > 0)
    counts.served += served.size
    counts.lost += told.size
    counts.further += further
    counts.torn += torn.length
  }

  #checkState(state: ReadonlyMap<string, string>, report: LogReport): void {
    const isTold = report.damages.some(({ state: lost }) => lost !== '' && !lost.startsWith('Nothing'))
    if (isTold) counts.stateTold += 1
    if (isTold || this.#whole.name === 'killed') {
      for (const [key, value] of state) assert.ok(value.startsWith(`${key}:`), `${this.#what}: ${key} is ${value}`)
    } else assert.deepEqual(state, this.#whole.state, this.#what)
  }

  async #goesOn(engine: EmbeddedEngine): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const tail = engine.tail(partition)
      assert.equal(await append(engine, partition, messageOf('a/b/c', 'new')), tail, this.#what)
      const read = await engine.read(partition, tail, 10)
      assert.deepEqual([read.messages.length, read.lost], [1, 0], this.#what)
      if (this.#whole.name !== 'closed') continue
      const end = this.#whole.messages.findLast((one) => one.partition === partition)?.offset ?? -1
      assert.ok(tail > end, `${this.#what}: no offset is given away a second time`)
    }
  }
}

async function openOn(disk: SimulatedDisk, logger: Logger = silentLogger): Promise<EmbeddedEngine> {
  const sizes = { segmentBytes: 6_000, tailBytes: 0, gatherMs: 0 }
  const engine = new EmbeddedEngine({
    disk,
    directory: '/data',
    partitions: PARTITIONS,
    clock: new TestClock(),
    logger,
    ...sizes,
  })
  await engine.open()
  return engine
}

/**
 * Makes a log of several segments: messages of many sizes, each with one or two changes of state,
 * snapshots, and records that hold only changes in between.
 */
async function makeLog(name: 'closed' | 'killed'): Promise<Whole> {
  const random = seededRandom(7)
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  const texts = new Map<string, string>()
  for (let number = 0; number < 160; number += 1) {
    const partition = Math.floor(random() * PARTITIONS)
    const text = `${number}:${'x'.repeat(Math.floor(random() ** 3 * 900))}`
    const key = `k${Math.floor(random() * 12)}`
    const changes = changesOf({ [key]: `${key}:${number}`, ...(number % 9 === 0 ? { gone: undefined } : {}) })
    const offset = await append(engine, partition, messageOf(`a/${partition}/b`, text), changes)
    texts.set(`${partition}-${offset}`, text)
    if (number % 7 === 0) await write(engine, { [`s${number % 5}`]: `s${number % 5}:${number}` })
  }
  const state = new Map(await loadAll(engine))
  if (name === 'closed') await engine.close()
  const left = name === 'closed' ? disk : disk.kill()
  const files = new Map(left.paths().map((path) => [path, Buffer.from(left.content(path))]))
  const logs = [...files.keys()].filter((path) => path.endsWith('.log'))
  const { seal = 0 } = parseFormat(files.get('/data/format') ?? assert.fail(), '/data') ?? {}
  const messages: Stored[] = []
  for (const path of logs) {
    const file = await left.open(path)
    const range = { from: segmentHeaderBytes(PARTITIONS), to: await file.size() }
    await scanRecords(file, range, seal, ({ bytes, start, position, length }) => {
      if (kindOf(bytes, start) !== KIND_MESSAGE) return
      const { partition, offset } = placeOfRecord(bytes, start)
      const text = texts.get(`${partition}-${offset}`) ?? assert.fail()
      messages.push({ partition, offset, text, file: path, from: position, to: position + length })
    })
  }
  assert.equal(messages.length, texts.size)
  return { name, files, messages, state, newest: logs.at(-1) ?? assert.fail() }
}
