/** Engines of several nodes on the same servers: one order for all, and a fence around the dead. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { NatsConnection } from '@nats-io/transport-node'
import { systemClock } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Message } from '../../broker/ports/message.ts'
import { append, changesOf, loadAll, messageOf, readAll, texts, write } from '../engine-client.testing.ts'
import { NatsEngine } from './nats-engine.ts'
import { natsServerProgram } from './nats-server-binary.testing.ts'
import { NatsServers } from './nats-servers.testing.ts'

const PARTITIONS = 2
const MESSAGES = 50

const found = natsServerProgram()

/** A message as a node sees it. */
function placeOf({ partition, offset, ownedAtMs, payload }: Message): string {
  return `${partition}-${offset} ${ownedAtMs} ${payload.toString()}`
}

/** The clock of a process that can be killed: nothing runs in it from then on. */
class MortalClock implements Clock {
  readonly #timers = new Set<() => void>()
  #isDead = false

  now(): number {
    return systemClock.now()
  }

  steady(): SteadyMs {
    return systemClock.steady()
  }

  afterTurn(run: () => void): void {
    if (!this.#isDead) systemClock.afterTurn(run)
  }

  after(ms: number, run: () => void): () => void {
    if (this.#isDead) return () => {}
    const cancel = systemClock.after(ms, () => {
      this.#timers.delete(cancel)
      run()
    })
    this.#timers.add(cancel)
    return () => {
      this.#timers.delete(cancel)
      cancel()
    }
  }

  cpu(): number {
    return systemClock.cpu()
  }

  rest(ms: number): void {
    systemClock.rest(ms)
  }

  kill(): void {
    this.#isDead = true
    for (const cancel of this.#timers) cancel()
  }
}

class Node {
  readonly #clock = new MortalClock()
  readonly name: string
  readonly engine: NatsEngine
  readonly arrived: string[] = []
  readonly fenced: Promise<void>
  connection: NatsConnection | undefined
  fences = 0

  constructor(name: string, prefix: string, servers: NatsServers) {
    this.name = name
    let fence: () => void
    this.fenced = new Promise((resolve) => {
      fence = resolve
    })
    this.engine = new NatsEngine({
      connect: async () => {
        this.connection = await servers.connect()
        return this.connection
      },
      prefix,
      node: name,
      clock: this.#clock,
      partitions: PARTITIONS,
      retentionBytes: 1_073_741_824,
      fenced: () => {
        this.fences += 1
        fence()
      },
    })
  }

  async open(): Promise<this> {
    await this.engine.open(undefined, {
      arrived: (message) => {
        this.arrived.push(placeOf(message))
      },
    })
    return this
  }

  /** Ends as a killed process does: nothing more is written, and nobody is told. */
  async kill(): Promise<void> {
    this.#clock.kill()
    await this.connection?.close()
  }
}

function byKey([one]: readonly string[], [other]: readonly string[]): number {
  return (one ?? '') < (other ?? '') ? -1 : 1
}

/** The places of a partition, without those of the last messages. */
function ofPartition(places: readonly string[], partition: number): string[] {
  return places.filter((place) => place.startsWith(`${partition}-`) && !place.endsWith(' end'))
}

/** The node's entries as text. */
async function stateOf(heir: Node, dead: Node): Promise<[key: string, value: string][]> {
  const entries = await heir.engine.stateOf(dead.name)
  return entries.map(({ key, value }) => [key, value.toString()])
}

/** Appends to both partitions, each message with a change of state. Resolves when all are owned. */
async function work({ name, engine }: Node, from: number, count: number): Promise<void> {
  for (let number = from; number < from + count; number += 1) {
    const text = `${name} ${number}`
    const changes = changesOf({
      [`last/${number % 2}`]: text,
      [`gone/${number - 1}`]: undefined,
      [`gone/${number}`]: text,
    })
    await append(engine, number % PARTITIONS, messageOf('a/b', text), changes)
    await write(engine, { [`alone/${number % 3}`]: text })
  }
}

describe('the engine over NATS with several nodes', () => {
  if ('missing' in found) {
    test('works', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let prefixes = 0
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
  })
  after(async () => {
    await servers[Symbol.asyncDispose]()
  })

  /** Opens a node each, in a deployment of their own. */
  const start = async (...names: readonly string[]): Promise<{ readonly prefix: string; readonly nodes: Node[] }> => {
    prefixes += 1
    const prefix = `several${prefixes}`
    const nodes: Node[] = []
    for (const name of names) nodes.push(await new Node(name, prefix, servers).open())
    return { prefix, nodes }
  }

  test('all nodes see the same messages at the same places, and each has its own state', async () => {
    const { nodes } = await start('a', 'b')
    const [a, b] = nodes as [Node, Node]
    await Promise.all([work(a, 0, MESSAGES), work(b, 0, MESSAGES)])
    // A message more in each partition: whoever has it has everything before it.
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      await append(a.engine, partition, messageOf('a/b', 'end of a'))
      await append(b.engine, partition, messageOf('a/b', 'end of b'))
      await append(a.engine, partition, messageOf('a/b', 'end'))
      await append(b.engine, partition, messageOf('a/b', 'end'))
    }
    const read: string[][] = []
    for (const { engine } of nodes) {
      const ofNode: string[] = []
      for (let partition = 0; partition < PARTITIONS; partition += 1) {
        const upTo = (await readAll(engine, partition)).messages.map(placeOf)
        ofNode.push(
          ...upTo.slice(
            0,
            upTo.findIndex((place) => place.endsWith(' end')),
          ),
        )
      }
      read.push(ofNode)
    }
    assert.equal(read[0]?.length, 2 * MESSAGES + 2 * PARTITIONS)
    assert.deepEqual(read[1], read[0])
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      // Node b opened later, when nothing had been appended yet.
      assert.deepEqual(ofPartition(a.arrived, partition), ofPartition(read[0] ?? [], partition))
      assert.deepEqual(ofPartition(b.arrived, partition), ofPartition(read[0] ?? [], partition))
    }
    const last = MESSAGES - 1
    for (const { name, engine } of nodes) {
      assert.deepEqual(
        await loadAll(engine),
        [
          ['alone/0', `${name} ${last - 1}`],
          ['alone/1', `${name} ${last}`],
          ['alone/2', `${name} ${last - 2}`],
          [`gone/${last}`, `${name} ${last}`],
          ['last/0', `${name} ${last - 1}`],
          ['last/1', `${name} ${last}`],
        ].toSorted(byKey),
      )
      await engine.close()
    }
  })

  test('a node that is killed leaves everything that it was told to be owned', async () => {
    const { prefix, nodes } = await start('a', 'b')
    const [a, b] = nodes as [Node, Node]
    await work(b, 0, MESSAGES)
    const owned = await loadAll(b.engine)
    // On its way when the node ends: stored as a whole, or not at all.
    const onItsWay = append(b.engine, 0, messageOf('a/b', 'last words'), changesOf({ 'last/words': 'yes' }))
    onItsWay.catch(() => undefined)
    await b.kill()
    await a.engine.fence('b')
    const left = await stateOf(a, b)
    await append(a.engine, 0, messageOf('a/b', 'behind the fence'))
    const stored = texts((await readAll(a.engine, 0)).messages)
    const isStored = stored.includes('last words')
    assert.deepEqual(left, isStored ? [...owned, ['last/words', 'yes']].toSorted(byKey) : owned)
    assert.deepEqual(await stateOf(a, b), left, 'reading changes nothing')
    await a.engine.forgetStateOf('b')
    const again = await new Node('b', prefix, servers).open()
    assert.deepEqual(await loadAll(again.engine), [])
    await again.engine.close()
    await a.engine.close()
  })

  test('a living node that was fenced is told, and stores nothing more', async () => {
    const { prefix, nodes } = await start('a', 'b')
    const [a, b] = nodes as [Node, Node]
    await work(b, 0, 4)
    const owned = await loadAll(b.engine)
    const fence = a.engine.fence('b')
    // These are on both sides of the fence.
    const fates = await Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        const text = `late ${number}`
        const changes = changesOf({ [`late/${String(number).padStart(2, '0')}`]: text })
        return await append(b.engine, number % PARTITIONS, messageOf('a/b', text), changes).then(
          () => text,
          () => undefined,
        )
      }),
    )
    await fence
    await b.fenced
    assert.equal(b.engine.health().canWrite, false)
    const told = fates.filter((text) => text !== undefined)
    const stored: string[] = []
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      await append(a.engine, partition, messageOf('a/b', 'behind the fence'))
      stored.push(...texts((await readAll(a.engine, partition)).messages))
    }
    assert.deepEqual(stored.filter((text) => text.startsWith('late')).toSorted(), told.toSorted())
    const left = await stateOf(a, b)
    assert.deepEqual(
      left.filter(([key]) => !key.startsWith('late/')),
      owned,
    )
    assert.deepEqual(
      left.filter(([key]) => key.startsWith('late/')).map(([, text]) => text),
      told.toSorted((one, other) => Number(one.slice(5)) - Number(other.slice(5))),
    )
    await assert.rejects(append(b.engine, 0, messageOf('a/b', 'too late')), { message: /Another process/ })
    await assert.rejects(write(b.engine, { late: 'x' }), { message: /Another process/ })
    await a.engine.forgetStateOf('b')
    // The fenced process ends, and leaves nothing behind.
    await b.engine.close()
    assert.equal(b.fences, 1)
    const again = await new Node('b', prefix, servers).open()
    assert.deepEqual(await loadAll(again.engine), [])
    await again.engine.close()
    await a.engine.close()
  })

  test('a fence of a node that never was is possible, and there is no state behind it', async () => {
    const { nodes } = await start('a')
    const [a] = nodes as [Node]
    await a.engine.fence('nobody')
    assert.deepEqual(await a.engine.stateOf('nobody'), [])
    await a.engine.forgetStateOf('nobody')
    await a.engine.close()
  })

  test('what a later process of a node wrote outlives the forgetting of the earlier one', async () => {
    const { prefix, nodes } = await start('a', 'b')
    const [a, b] = nodes as [Node, Node]
    await write(b.engine, { old: 'x' })
    await b.kill()
    await a.engine.fence('b')
    const later = new Node('b', prefix, servers)
    await later.engine.forgetStateOf('b')
    await later.open()
    assert.deepEqual(await loadAll(later.engine), [])
    await write(later.engine, { new: 'y' })
    await later.engine.close()
    await a.engine.forgetStateOf('b')
    const last = await new Node('b', prefix, servers).open()
    assert.deepEqual(await loadAll(last.engine), [['new', 'y']])
    await last.engine.close()
    await a.engine.close()
  })
})
