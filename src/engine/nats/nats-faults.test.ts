/**
 * The engine over NATS while servers are killed, paused and restarted: what was acknowledged is
 * there, once and in order. Two nodes append at the same time, with changes of state, and each
 * follows all streams.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Message } from '../../broker/ports/message.ts'
import { append, changesOf, loadAll, messageOf, readAll, texts } from '../engine-client.testing.ts'
import { NatsEngine } from './nats-engine.ts'
import { natsServerProgram } from './nats-server-binary.testing.ts'
import { NatsServers } from './nats-servers.testing.ts'

const PARTITIONS = 2
const KEPT = { partitions: PARTITIONS, retentionBytes: 1_073_741_824 }
/** Publishers of a node; each has one message on its way at a time. */
const PUBLISHERS = 8
/** Messages that are acknowledged before a fault, and after it. */
const MESSAGES = 300
const WAIT_MS = 30_000

const found = natsServerProgram()

/** An engine under load: it notes what it acknowledged, and what arrived. */
class LoadedNode {
  readonly engine: NatsEngine
  /** By partition. */
  readonly arrived: string[][] = Array.from({ length: PARTITIONS }, () => [])
  readonly acknowledged: string[] = []
  readonly #name: string
  readonly #publishers: Promise<void>[] = []
  #isOver = false
  #watch: () => void = () => {}

  constructor(name: string, prefix: string, replicas: number, open: () => Promise<NatsConnection>) {
    this.#name = name
    this.engine = new NatsEngine({ connect: open, prefix, node: name, replicas, ...KEPT })
  }

  async start(): Promise<void> {
    const arrived = (message: Message): void => {
      this.arrived[message.partition]?.push(message.payload.toString())
    }
    await this.engine.open(undefined, { arrived })
    for (let publisher = 0; publisher < PUBLISHERS; publisher += 1) this.#publishers.push(this.#publish(publisher))
  }

  /** Resolves when as many more messages are acknowledged. */
  async acknowledges(more: number): Promise<void> {
    const wanted = this.acknowledged.length + more
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(this.engine.health().reason)), WAIT_MS)
      this.#watch = () => {
        if (this.acknowledged.length < wanted) return
        clearTimeout(timer)
        this.#watch = () => {}
        resolve()
      }
    })
  }

  /** Resolves when everything that was sent is acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#publishers)
  }

  /** Each publisher keeps the number of its last message as state. */
  async #publish(publisher: number): Promise<void> {
    for (let number = 0; !this.#isOver; number += 1) {
      const text = `${this.#name} ${publisher} ${number}`
      const qos = number % 2 === 0 ? 1 : 2
      const changes = changesOf({ [`${this.#name}/${publisher}`]: `${number}` })
      await append(this.engine, publisher % PARTITIONS, messageOf('a/b', text, { qos }), changes)
      this.acknowledged.push(text)
      this.#watch()
    }
  }
}

describe('while servers of NATS fail', () => {
  if ('missing' in found) {
    test('the engine over NATS loses nothing', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let nodes: readonly LoadedNode[]
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
    nodes = ['a', 'b'].map((name) => new LoadedNode(name, 'faults', 3, open))
    for (const node of nodes) await node.start()
  })
  after(async () => {
    await servers[Symbol.asyncDispose]()
  })

  const open = (): Promise<NatsConnection> => servers.connect()
  const goesOn = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.acknowledges(MESSAGES)))
  }
  /** The server that leads the first stream. */
  const leader = async (): Promise<string> => {
    const connection = await open()
    try {
      const manager = await jetstreamManager(connection)
      const { cluster } = await manager.streams.info('faults-log-0')
      return cluster?.leader ?? (servers.names[0] as string)
    } finally {
      await connection.close()
    }
  }

  test('a killed leader of a stream holds the publishers up, and no more', { timeout: 60_000 }, async () => {
    await goesOn()
    const killed = await leader()
    await servers.signal(killed, 'SIGKILL')
    await goesOn()
    servers.restart(killed)
    await goesOn()
  })

  test('neither does a leader that is paused', { timeout: 60_000 }, async () => {
    await servers.ready()
    const paused = await leader()
    await servers.signal(paused, 'SIGSTOP')
    await goesOn()
    await servers.signal(paused, 'SIGCONT')
    await goesOn()
  })

  test('all servers killed and started again own what they owned', { timeout: 60_000 }, async () => {
    await servers.ready()
    for (const name of servers.names) await servers.signal(name, 'SIGKILL')
    for (const name of servers.names) servers.restart(name)
    await servers.ready()
    await goesOn()
  })

  test(
    'each acknowledged message is there once, in order, at both nodes, with its state',
    { timeout: 60_000 },
    async () => {
      for (const node of nodes) await node.stop()
      const [a, b] = nodes as readonly [LoadedNode, LoadedNode]
      const acknowledged = [...a.acknowledged, ...b.acknowledged]
      const stored: string[] = []
      for (let partition = 0; partition < PARTITIONS; partition += 1) {
        const read = texts((await readAll(a.engine, partition)).messages)
        stored.push(...read)
        assert.deepEqual(a.arrived[partition], read.slice(-(a.arrived[partition]?.length ?? 0)))
        assert.deepEqual(b.arrived[partition], read.slice(-(b.arrived[partition]?.length ?? 0)))
      }
      assert.equal(new Set(stored).size, stored.length, 'none is there twice')
      assert.deepEqual(new Set(stored), new Set(acknowledged), 'all are there')
      const last = new Map<string, number>()
      for (const text of stored) {
        const [name, publisher, number] = text.split(' ') as [string, string, string]
        const key = `${name} ${publisher}`
        assert.equal(Number(number), (last.get(key) ?? -1) + 1, 'in order')
        last.set(key, Number(number))
      }
      for (const [name, node] of [['a', a] as const, ['b', b] as const]) {
        const expected = Array.from({ length: PUBLISHERS }, (_, publisher) => [
          `${name}/${publisher}`,
          `${last.get(`${name} ${publisher}`)}`,
        ])
        assert.deepEqual(await loadAll(node.engine), expected)
        const again = new NatsEngine({ connect: open, prefix: 'faults', node: name, ...KEPT })
        // A process that takes the node's place has the state without the first one's end.
        await again.open()
        assert.deepEqual(await loadAll(again), expected)
        await again.close()
        await assert.rejects(append(node.engine, 0, messageOf('a', 'late')), { message: /Another process/ })
        await node.engine.close()
      }
    },
  )
})
