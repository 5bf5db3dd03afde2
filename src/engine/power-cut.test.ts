import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StateChange } from '../broker/ports/engine.ts'
import { silentLogger } from '../logger.ts'
import type { Logger } from '../logger.ts'
import { EmbeddedEngine } from './embedded.ts'
import { loadAll, messageOf, readAll, texts } from './engine-client.testing.ts'
import { SimulatedDisk, seededRandom } from './ports/simulated-disk.testing.ts'
import type { Random } from './ports/simulated-disk.testing.ts'
import { TestClock } from '../clock.testing.ts'

/**
 * The number of simulated lives of a disk, each with several ends. `FIELDGATE_POWER_CUTS=2000` is
 * for a long night. `FIELDGATE_POWER_CUT_SEED` repeats the seed of a failure first.
 */
const LIVES = Number(process.env['FIELDGATE_POWER_CUTS'] ?? 60)
const FIRST_SEED = Number(process.env['FIELDGATE_POWER_CUT_SEED'] ?? 1)
const ENDS = 8
const PARTITIONS = 3
/** By partition: the owner of its messages and of its part of the state. */
const OWNERS = ['one', 'other', undefined] as const

/** A message with its changes, or changes alone: the engine owns all of them or none. */
interface Group {
  readonly number: number
  readonly partition: number | undefined
  readonly text: string
  readonly changes: readonly StateChange[]
  /** How often the engine had recovered from a failure before it got the group. */
  readonly episode: number
  fate: 'waiting' | 'owned' | 'refused'
}

const counts = {
  ends: 0,
  kills: 0,
  cuts: 0,
  owned: 0,
  refused: 0,
  survived: 0,
  holes: 0,
  checked: 0,
  retained: 0,
  removed: 0,
  rewritten: 0,
}
/** In some lives, the messages of partition 0 have this bound, and segments are rewritten. */
const BOUND_BYTES = 3_000

test(`after ${LIVES * ENDS} power cuts and kills, owned messages are there in order, once and whole; others are there wholly or not at all`, async () => {
  for (let life = 0; life < LIVES; life += 1) await new Life(FIRST_SEED + life).run()
  assert.ok(counts.owned > LIVES * ENDS && counts.cuts > LIVES && counts.kills > 0 && counts.refused > 0)
  assert.ok(counts.removed > 0 && counts.rewritten > 0)
  console.log(
    `${counts.cuts} power cuts and ${counts.kills} kills: ${counts.owned} groups owned, ${counts.refused} refused, ${counts.survived} unacknowledged ones survived, ${counts.holes} starts found holes among them; ` +
      `${counts.checked} messages read again, ${counts.retained} taken by retention, ${counts.removed} removed beyond a bound; ${counts.rewritten} times segments were rewritten`,
  )
})

const TENANTS = {
  tenantOf: (branch: string): string => branch,
  maximumStoredBytesOf: (tenant: string): number => (tenant === 'a/0' ? BOUND_BYTES : Infinity),
}

class Life {
  readonly #seed: number
  readonly #random: Random
  readonly #clock = new TestClock()
  #disk = new SimulatedDisk()
  /**
   * All owned groups, and behind them the groups that the present process got, in the order of the
   * calls.
   */
  #groups: Group[] = []
  #number = 0
  /**
   * A torn batch has left whole records behind torn ones: these records are served, and offsets are
   * left out.
   */
  #hasHoles = false

  constructor(seed: number) {
    this.#seed = seed
    this.#random = seededRandom(seed)
  }

  async run(): Promise<void> {
    for (let end = 0; end < ENDS; end += 1) {
      await this.#liveUntilTheEnd()
      counts.ends += 1
      const isKill = this.#chance(0.25)
      counts[isKill ? 'kills' : 'cuts'] += 1
      this.#disk = isKill ? this.#disk.kill() : this.#disk.powerCut(this.#random)
      await this.#check(`seed ${this.#seed}, end ${end}`)
    }
  }

  get #isBounded(): boolean {
    return this.#seed % 3 === 1
  }

  #engine(logger: Logger = silentLogger): EmbeddedEngine {
    return new EmbeddedEngine({
      logger: { ...logger, info: countRewritten },
      ...(this.#isBounded ? { tenants: TENANTS } : {}),
      disk: this.#disk,
      directory: '/data',
      partitions: PARTITIONS,
      clock: this.#clock,
      segmentBytes: 1_000 + Math.floor(this.#random() * 6_000),
      retentionBytes: this.#seed % 3 === 0 ? 12_000 : 1e9,
      tailBytes: 0,
      decodedBytes: this.#chance(0.5) ? 0 : 100_000,
      gatherMs: this.#chance(0.5) ? 0 : 2,
    })
  }

  async #liveUntilTheEnd(): Promise<void> {
    const died = this.#disk.dieAfter(Math.floor(this.#random() ** 2 * 300)).then(() => 'died' as const)
    const isFaulty = this.#seed % 2 === 0
    const engine = this.#engine()
    if ((await Promise.race([died, engine.open()])) === 'died') return
    let episode = 0
    let couldWrite = true
    if (isFaulty) this.#makeFaulty()
    for (let turn = 0; turn < 2_000; turn += 1) {
      const { canWrite } = engine.health()
      if (canWrite && !couldWrite) episode += 1
      couldWrite = canWrite
      for (let count = Math.floor(this.#random() * 6); count > 0; count -= 1) this.#giveTo(engine, episode)
      if (this.#chance(0.05)) void engine.maintain()
      if (this.#chance(0.02)) void readAll(engine, 0)
      this.#clock.advance(Math.floor(this.#random() * (canWrite ? 5 : 600)))
      if ((await Promise.race([died, eventLoop()])) === 'died') return
    }
    assert.fail('the disk dies in the end')
  }

  #makeFaulty(): void {
    const faulty = new Set(['create', 'write', 'datasync', 'syncDirectory', 'truncate', 'rename', 'remove'])
    this.#disk.fault = (operation) => {
      if (!faulty.has(operation) || !this.#chance(0.04)) return undefined
      return this.#chance(0.5) ? 'EIO' : 'ENOSPC'
    }
  }

  #giveTo(engine: EmbeddedEngine, episode: number): void {
    const number = (this.#number += 1)
    const text = `${number}:${'x'.repeat(Math.floor(this.#random() ** 4 * 2_000))}`
    const part = Math.floor(this.#random() * PARTITIONS)
    const owner = OWNERS[part]
    const partition = this.#chance(0.7) ? part : undefined
    const changes: StateChange[] = [{ key: `number ${part}`, value: Buffer.from(`${number}`) }]
    for (let count = Math.floor(this.#random() * 4); count > 0; count -= 1) {
      const key = `k${part}-${Math.floor(this.#random() * 20)}`
      changes.push({ key, value: this.#chance(0.3) ? undefined : Buffer.from(`${number}`.repeat(count)) })
    }
    changes.push({ key: `there ${number}`, value: Buffer.from('yes') })
    const group: Group = { number, partition, text, changes, episode, fate: 'waiting' }
    this.#groups.push(group)
    const committed = (): void => {
      assert.equal(group.fate, 'waiting', 'told once')
      group.fate = 'owned'
      counts.owned += 1
    }
    const failed = ({ reasonCode }: { readonly reasonCode: number }): void => {
      assert.equal(group.fate, 'waiting', 'told once')
      assert.equal(reasonCode, 0x97)
      group.fate = 'refused'
      counts.refused += 1
    }
    if (partition === undefined) engine.write({ owner, changes, committed, failed })
    else
      engine.append(partition, {
        message: messageOf(`a/${partition}/b/${number % 5}/c`, text),
        owner,
        changes,
        committed,
        failed,
      })
  }

  async #check(what: string): Promise<void> {
    const hadHoles = this.#hasHoles
    const error = (_: object, message: string): void => {
      if (message === 'log.damaged') this.#hasHoles = true
    }
    const engine = this.#engine({ ...silentLogger, error })
    await engine.open()
    if (this.#hasHoles && !hadHoles) counts.holes += 1
    const state = new Map(await loadAll(engine))
    const isThere = ({ number }: Group): boolean => state.has(`there ${number}`)
    const lastGroup = this.#groups.findLast(isThere)
    for (const group of this.#groups.filter(({ fate }) => fate === 'refused')) {
      // A refused group may be found again only if the disk died before the engine went on in
      // another segment.
      if (isThere(group)) assert.equal(lastGroup?.episode, group.episode, `${what}: ${group.number} was refused`)
    }
    const lost = this.#groups.filter((group) => group.fate === 'owned' && !isThere(group))
    assert.deepEqual(
      lost.map(({ number }) => number),
      [],
      `${what}: everything that was owned is there`,
    )
    this.#groups = this.#groups.filter(isThere)
    counts.survived += this.#groups.filter(({ fate }) => fate !== 'owned').length
    assert.deepEqual(state, stateAfter(this.#groups), `${what}: the state`)
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const expected = this.#groups.filter((group) => group.partition === partition).map(({ text }) => text)
      const read = await readAll(engine, partition, 0, 1 + Math.floor(this.#random() * 50))
      const tail = engine.tail(partition)
      const removed = read.removed.get(`a/${partition}`) ?? 0
      assert.equal(read.lost + removed + read.messages.length, tail, `${what}: ${partition} whole`)
      if (this.#isBounded && partition === 0) {
        assertInOrder(texts(read.messages), expected, `${what}: ${partition} in order, with the newest`)
        counts.removed += removed
        continue
      }
      assert.equal(removed, 0, what)
      const isAllRetained = this.#seed % 3 !== 0
      const count = isAllRetained ? expected.length : Math.min(read.messages.length, expected.length)
      assert.deepEqual(texts(read.messages), expected.slice(expected.length - count), `${what}: ${partition}`)
      for (const [index, offset] of read.offsets.entries()) {
        assert.ok(offset > (read.offsets[index - 1] ?? -1), `${what}: each offset once`)
      }
      if (!this.#hasHoles) {
        assert.equal(tail, expected.length, `${what}: the tail of ${partition}`)
        if (isAllRetained) assert.equal(read.lost, 0, `${what}: nothing is lost where all is retained`)
      }
      counts.checked += read.messages.length
      counts.retained += read.lost
    }
    for (const group of this.#groups) group.fate = 'owned'
    if (this.#chance(0.5)) await engine.close()
    else this.#disk = this.#disk.kill()
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }
}

function countRewritten(_: object, message: string): void {
  if (message === 'log.rewritten') counts.rewritten += 1
}

/** The messages are some of the expected ones, in their order, and the last one is there. */
function assertInOrder(found: readonly string[], expected: readonly string[], hint: string): void {
  let at = 0
  for (const text of found) {
    at = expected.indexOf(text, at) + 1
    assert.ok(at > 0, hint)
  }
  assert.equal(found.at(-1), expected.at(-1), hint)
}

function stateAfter(groups: readonly Group[]): Map<string, string> {
  const state = new Map<string, string>()
  for (const { changes } of groups) {
    for (const { key, value } of changes) {
      if (value === undefined) state.delete(key)
      else state.set(key, value.toString())
    }
  }
  return state
}

/** Resolves when all callbacks that are ready have run. */
function eventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
