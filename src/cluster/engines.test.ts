/** Nodes with their engines over NATS: the state of a dead node goes to its heir. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { NatsConnection } from '@nats-io/transport-node'
import { append, changesOf, loadAll, messageOf, write } from '../engine/engine-client.testing.ts'
import { NatsEngine } from '../engine/nats/nats-engine.ts'
import { natsServerProgram } from '../engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../engine/nats/nats-servers.testing.ts'
import { anotherServer } from '../engine/nats/another-server.ts'
import { NatsNodes } from './nats-nodes.ts'
import { MovableClock, takeAll } from './nodes-over-nats.testing.ts'

const LONG = { timeout: 60_000 }
const SESSIONS = 1_000

const found = natsServerProgram()

class Process {
  readonly name: string
  readonly clock = new MovableClock()
  readonly connections: NatsConnection[] = []
  readonly fenced = Promise.withResolvers<void>()
  readonly replaced = Promise.withResolvers<void>()
  readonly inherited = Promise.withResolvers<number>()
  readonly #servers: NatsServers
  readonly #prefix: string
  #parts: { readonly nodes: NatsNodes; readonly engine: NatsEngine } | undefined

  constructor(name: string, servers: NatsServers, prefix: string) {
    this.name = name
    this.#servers = servers
    this.#prefix = prefix
  }

  async start(): Promise<this> {
    const { name, clock } = this
    const connect = async (): Promise<NatsConnection> => {
      const connection = await this.#servers.connect({ reconnectToServer: anotherServer })
      this.connections.push(connection)
      return connection
    }
    const nodes = await NatsNodes.join({
      connect,
      prefix: this.#prefix,
      name,
      version: 'test',
      clock,
      homeKeyOf: (key) => (key.startsWith('session/') ? key.split('/', 2).join('/') : undefined),
      replaced: () => this.replaced.resolve(),
    })
    const engine = new NatsEngine({
      connect,
      prefix: this.#prefix,
      node: name,
      incarnation: nodes.bus.self.incarnation,
      fenced: () => this.fenced.resolve(),
      clock,
      retentionBytes: 1_073_741_824,
    })
    if (nodes.hasForeignState) await engine.forgetStateOf(name)
    await engine.open()
    nodes.onInherited(async (inheritance) => {
      let count = 0
      for await (const entry of inheritance.load('session/')) count += entry.value.length > 0 ? 1 : 0
      this.inherited.resolve(count)
    })
    await nodes.begin(engine)
    nodes.isReady = true
    this.#parts = { nodes, engine }
    return this
  }

  get nodes(): NatsNodes {
    return this.#parts?.nodes ?? assert.fail()
  }

  get engine(): NatsEngine {
    return this.#parts?.engine ?? assert.fail()
  }

  async kill(): Promise<void> {
    this.clock.pause()
    for (const connection of this.connections) await connection.close()
  }
}

describe('nodes with their engines over NATS', () => {
  if ('missing' in found) {
    test('are tested with servers', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let a: Process
  let b: Process
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
    const both = await Promise.all(['a', 'b'].map((name) => new Process(name, servers, 'e').start()))
    ;[a, b] = both as [Process, Process]
  })
  after(async () => {
    await b.kill()
    await a.kill()
    await servers[Symbol.asyncDispose]()
  })

  test('an heir has each change that the dead node was told is owned', LONG, async () => {
    const keys = Array.from({ length: SESSIONS }, (_, number) => `session/${number}`)
    await Promise.all(keys.map((key) => takeAll({ nodes: a.nodes }, [key])))
    await Promise.all(keys.map((key) => write(a.engine, { [key]: `of ${key}`, [`${key}/part`]: 'x' })))
    await write(a.engine, { own: 'not of a Session' })
    // A Session that went to another node.
    await takeAll({ nodes: b.nodes }, ['session/7'])
    await append(a.engine, 0, messageOf('a/b', 'text', { qos: 1 }), changesOf({ 'session/9': 'with a message' }))
    await a.kill()
    const since = performance.now()
    assert.equal(await b.inherited.promise, 2 * SESSIONS - 2)
    const tookMs = performance.now() - since
    assert.ok(tookMs < 10_000, `${tookMs} ms`)
    const state = new Map(await loadAll(b.engine))
    assert.equal(state.size, 2 * SESSIONS - 2)
    assert.equal(state.get('session/9'), 'with a message')
    assert.equal(state.get('session/8'), 'of session/8')
    assert.equal(state.has('own') || state.has('session/7'), false)
    assert.deepEqual((await b.nodes.homes.find('session/8', 20_000)).node, b.nodes.bus.self)
  })

  test('a node that starts again is empty, and inherits the next one that ends in order', LONG, async () => {
    a = await new Process('a', servers, 'e').start()
    assert.deepEqual(await loadAll(a.engine), [])
    const { nodes, engine } = b
    await write(engine, { 'session/7': 'of b' })
    await nodes.drain()
    await engine.close()
    await nodes.leave()
    assert.equal(await a.inherited.promise, 2 * SESSIONS - 1)
    b = await new Process('b', servers, 'e').start()
    assert.deepEqual(await loadAll(b.engine), [])
    assert.deepEqual((await b.nodes.homes.find('session/7', 20_000)).node, a.nodes.bus.self)
    const here = await a.nodes.homes.areHere(['session/8', 'session/7', 'session/x'])
    assert.deepEqual([...here].toSorted(), ['session/7', 'session/8'])
    assert.equal(new Map(await loadAll(a.engine)).get('session/7'), 'of b')
  })

  test('a process that was paused stores nothing late, and ends', LONG, async () => {
    const paused = new Process('c', servers, 'e')
    await paused.start()
    await takeAll({ nodes: paused.nodes }, ['session/c'])
    await write(paused.engine, { 'session/c': 'before' })
    paused.clock.pause()
    const home = Promise.withResolvers<Process>()
    for (const heir of [a, b]) heir.nodes.onInherited(async () => home.resolve(heir))
    const heir = await home.promise
    paused.clock.goOn()
    await assert.rejects(write(paused.engine, { 'session/c': 'late' }))
    await Promise.all([paused.fenced.promise, paused.replaced.promise])
    await assert.rejects(paused.nodes.homes.take('session/new', { node: undefined, revision: 0 }))
    assert.equal(new Map(await loadAll(heir.engine)).get('session/c'), 'before')
    await paused.kill()
  })
})
