/** Retained messages of several nodes over real servers of NATS. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createHarness } from '../../test/support/broker-harness.ts'
import type { Harness } from '../../test/support/broker-harness.ts'
import type { RetainedEntry } from '../broker/ports/retained-snapshot.ts'
import { systemClock } from '../clock.ts'
import { append, messageOf } from '../engine/engine-client.testing.ts'
import { NatsEngine } from '../engine/nats/nats-engine.ts'
import { NatsLink } from '../engine/nats/nats-link.ts'
import { natsServerProgram } from '../engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../engine/nats/nats-servers.testing.ts'
import { LocalDeployment } from '../nodes.testing.ts'
import { NatsRetainedSnapshot } from './retained-snapshot.ts'

const PARTITIONS = 2
const RETENTION_BYTES = 2 * 65_536
const READS = 10
const FILLER = 'x'.repeat(8_192)

const found = natsServerProgram()

function entryOf(topicName: string, offset: number, text?: string): RetainedEntry {
  return { topicName, partition: 1, offset, record: text === undefined ? undefined : Buffer.from(text) }
}

function textsOf(entries: Iterable<RetainedEntry>): Record<string, string> {
  const texts = [...entries].map(({ topicName, partition, offset, record }): [string, string] => [
    topicName,
    `${partition}-${offset} ${record?.toString() ?? 'removed'}`,
  ])
  return Object.fromEntries(texts)
}

/** The retained messages of a node: the Topic Names with the payloads. */
function keptBy({ broker: { retained } }: Harness): Record<string, string> {
  const names = [...retained.topicNames('kept/')].toSorted()
  return Object.fromEntries(names.map((topicName) => [topicName, `${retained.find(topicName)?.payload.toString()}`]))
}

describe('the snapshot of retained messages over NATS', () => {
  if ('missing' in found) {
    test('works', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
  })
  after(async () => {
    await servers[Symbol.asyncDispose]()
  })

  const open = async (prefix: string): Promise<NatsRetainedSnapshot> => {
    const link = await NatsLink.over(await servers.connect(), systemClock)
    return await NatsRetainedSnapshot.open({ link, clock: systemClock, prefix, replicas: 3 })
  }

  test('has the last entry of each topic, and the mark', async () => {
    const snapshot = await open('last')
    const other = await open('last')
    assert.equal((await other.load()).mark, undefined)
    assert.equal((await snapshot.lock()).mark, undefined)
    assert.equal(await snapshot.write([entryOf('a/b', 5, 'one'), entryOf('c', 6, 'two')], [0, 7]), true)
    assert.equal(await snapshot.write([entryOf('a/b', 8), entryOf('d', 9, '')], [3, 10]), true)
    const { entries, mark } = await other.load()
    // An empty record is no record: retained messages have a head.
    assert.deepEqual(textsOf(entries), { 'a/b': '1-8 removed', c: '1-6 two', d: '1-9 removed' })
    assert.deepEqual(mark, [3, 10])
  })

  test('has one writer: whoever took the lock last', async () => {
    const one = await open('lock')
    const other = await open('lock')
    assert.equal(await one.write([], [1]), false, 'nobody writes without the lock')
    await one.lock()
    assert.equal(await one.write([entryOf('a', 1, 'one')], [1, 1]), true)
    const { entries } = await other.lock()
    assert.deepEqual(textsOf(entries), { a: '1-1 one' })
    assert.equal(await one.write([entryOf('a', 2, 'late')], [9, 9]), false)
    assert.equal(await other.write([entryOf('b', 3, 'other')], [4, 4]), true)
    const content = await one.load()
    assert.deepEqual(textsOf(content.entries), { a: '1-1 one', b: '1-3 other' })
    assert.deepEqual(content.mark, [4, 4])
    await one.lock()
    assert.equal(await one.write([entryOf('a', 5, 'again')], [5, 5]), true, 'the lock can be taken back')
  })

  test('is read completely while it is written', async () => {
    const topics = 1_000
    const writer = await open('busy')
    const reader = await open('busy')
    await writer.lock()
    const round = (number: number): RetainedEntry[] =>
      Array.from({ length: topics }, (_, topic) => entryOf(`t/${topic}`, number, `${number}`))
    assert.equal(await writer.write(round(0), [0, 0]), true)
    const over = new AbortController()
    const written = { rounds: 0 }
    const writing = (async () => {
      while (!over.signal.aborted) {
        written.rounds += 1
        const { rounds } = written
        // A part of the topics in each round, so that entries move from the front to the end.
        const part = round(rounds).filter((_, topic) => topic % 7 === rounds % 7)
        assert.equal(await writer.write(part, [0, rounds]), true)
        await new Promise(setImmediate)
      }
    })()
    try {
      for (let reads = 0; reads < READS || written.rounds < READS; reads += 1) {
        const { entries, mark } = await reader.load()
        const all = [...entries]
        assert.equal(all.length, topics)
        const [, upTo = 0] = mark ?? []
        for (const { topicName, offset } of all) {
          const topic = Number(topicName.slice(2))
          // The last round up to the mark that wrote the topic, or a later one.
          let last = upTo
          while (last > 0 && last % 7 !== topic % 7) last -= 1
          assert.ok(offset >= last, `${topicName} is of round ${offset}, and not of ${last}`)
        }
      }
    } finally {
      over.abort()
      await writing
    }
  })

  test('tells a node that starts the retained messages that retention took from the log', async () => {
    const deployment = new LocalDeployment()
    const start = async (name: string): Promise<Harness> => {
      const engine = new NatsEngine({
        connect: () => servers.connect(),
        prefix: 'retention',
        node: name,
        partitions: PARTITIONS,
        retentionBytes: RETENTION_BYTES,
        tailBytes: 1,
        cacheBytes: 1,
      })
      const retainedSnapshot = await open('retention')
      return await createHarness({ engine, clock: systemClock, nodes: deployment.join(name), retainedSnapshot })
    }
    const a = await start('a')
    const b = await start('b')
    const publisher = await a.connect()
    for (const [topicName, text] of [
      ['kept/1', 'old'],
      ['kept/2', 'old'],
      ['kept/3', 'old'],
      ['kept/1', 'new'],
      ['kept/2', ''],
    ] as const) {
      publisher.publish(topicName, text, { qos: 1, retain: true })
      await publisher.next('puback')
    }
    publisher.publish('kept/4', 'without an answer', { qos: 0, retain: true })
    const watcher = await open('retention')
    // Ticks of the broker until the snapshot has them.
    for (;;) {
      a.broker.tick()
      const { entries } = await watcher.load()
      if ([...entries].some(({ topicName }) => topicName === 'kept/4')) break
    }
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      for (let number = 0; number < 20; number += 1) {
        await append(a.broker.engine, partition, messageOf('filler', FILLER, { qos: 1 }))
      }
    }
    publisher.publish('kept/5', 'behind the mark', { qos: 1, retain: true })
    await publisher.next('puback')
    const c = await start('c')
    const expected = { 'kept/1': 'new', 'kept/3': 'old', 'kept/4': 'without an answer', 'kept/5': 'behind the mark' }
    assert.deepEqual(keptBy(c), expected)
    assert.deepEqual(keptBy(a), expected)
    const place = c.broker.retained.find('kept/3')
    assert.ok(place !== undefined)
    const { offsets } = await c.broker.engine.read(place.partition, place.offset, 1)
    assert.ok((offsets[0] ?? Infinity) > place.offset, 'retention has taken the message')
    const reader = await b.connect()
    await reader.subscribe('kept/3')
    assert.equal((await reader.next('publish')).payload.toString(), 'old')
    for (const { broker } of [a, b, c]) await broker.close()
  })
})
