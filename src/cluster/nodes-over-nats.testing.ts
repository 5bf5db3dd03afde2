/** Nodes over real servers of NATS within one process, with states in memory, and no engines. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { StateEntry, StateRequest } from '../broker/ports/engine.ts'
import { systemClock } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'
import { later } from '../clock.ts'
import { NatsLink } from '../engine/nats/nats-link.ts'
import type { NatsServers } from '../engine/nats/nats-servers.testing.ts'
import type { NodeId } from '../nodes.ts'
import { anotherServer } from '../engine/nats/another-server.ts'
import { NatsNodes } from './nats-nodes.ts'
import type { NodeSpaces } from './node-spaces.ts'
import { RecordStream } from './record-stream.ts'

/** The machine's clock; a test pauses it, or sets it forward. */
export class MovableClock implements Clock {
  readonly #timers = new Set<{ readonly atMs: number; readonly run: () => void }>()
  #aheadMs = 0
  #isPaused = false

  now(): number {
    return systemClock.now() + this.#aheadMs
  }

  steady(): SteadyMs {
    return later(systemClock.steady(), this.#aheadMs)
  }

  afterTurn(run: () => void): void {
    systemClock.afterTurn(run)
  }

  after(ms: number, run: () => void): () => void {
    const timer = { atMs: this.steady() + ms, run }
    this.#timers.add(timer)
    const cancel = systemClock.after(ms, () => this.#runDue())
    return () => {
      cancel()
      this.#timers.delete(timer)
    }
  }

  cpu(): number {
    return systemClock.cpu()
  }

  rest(ms: number): void {
    systemClock.rest(ms)
  }

  /** Runs no timers until `goOn`. */
  pause(): void {
    this.#isPaused = true
  }

  goOn(): void {
    this.#isPaused = false
    this.#runDue()
  }

  forward(ms: number): void {
    this.#aheadMs += ms
    this.#runDue()
  }

  #runDue(): void {
    if (this.#isPaused) return
    for (const timer of this.#timers) {
      if (timer.atMs > this.steady() + 1) continue
      this.#timers.delete(timer)
      timer.run()
    }
  }
}

/** The states of all nodes of a deployment. */
class FakeStates {
  readonly byNode = new Map<string, Map<string, Buffer>>()
  readonly fenced: string[] = []
  /** A test holds up the reading of a state. */
  reading: (reader: string) => Promise<void> = () => Promise.resolve()

  of(node: string): Map<string, Buffer> {
    const state = this.byNode.get(node) ?? new Map<string, Buffer>()
    this.byNode.set(node, state)
    return state
  }

  /** The engine of one node. */
  spacesOf(own: string): NodeSpaces {
    return {
      fence: async (node) => {
        this.fenced.push(`${own} ${node}`)
      },
      stateOf: async (node): Promise<readonly StateEntry[]> => {
        assert(this.fenced.includes(`${own} ${node}`))
        await this.reading(own)
        return [...this.of(node)]
          .map(([key, value]) => ({ key, value }))
          .toSorted((one, other) => (one.key < other.key ? -1 : 1))
      },
      forgetStateOf: async (node) => void this.byNode.delete(node),
      write: (request: StateRequest) => {
        for (const { key, value } of request.changes) {
          if (value === undefined) this.of(own).delete(key)
          else this.of(own).set(key, value)
        }
        queueMicrotask(() => request.committed())
      },
    }
  }
}

/** One node, with what its listeners were told. */
export interface TestedNode {
  readonly nodes: NatsNodes
  readonly self: NodeId
  readonly clock: MovableClock
  readonly gone: string[]
  /** `<name of the dead node> <keys>`. */
  readonly inherited: string[]
  readonly replaced: Promise<void>
}

/** A deployment of nodes with a prefix of its own. */
export class TestedDeployment {
  readonly states = new FakeStates()
  /** A test holds up the listeners of an heir. */
  inheriting: (heir: string) => Promise<void> = () => Promise.resolve()
  readonly #servers: NatsServers
  readonly #prefix: string
  readonly #joined: NatsNodes[] = []
  readonly #replicas: number
  #changed: () => void = () => {}

  constructor(servers: NatsServers, prefix: string, replicas: number) {
    this.#servers = servers
    this.#prefix = prefix
    this.#replicas = replicas
  }

  /** The node connects to a server of this place in their list first. Default: any. */
  async join(name: string, { begins = true, first }: { begins?: boolean; first?: number } = {}): Promise<TestedNode> {
    const { urls } = this.#servers
    const choice = first === undefined ? {} : { servers: urls.splice(first).concat(urls), noRandomize: true }
    const clock = new MovableClock()
    const { promise: replaced, resolve } = Promise.withResolvers<void>()
    const nodes = await NatsNodes.join({
      connect: () => this.#servers.connect({ ...choice, reconnectToServer: anotherServer }),
      prefix: this.#prefix,
      name,
      version: 'test',
      replicas: this.#replicas,
      homeKeyOf: (key) => (key === 'own' ? undefined : key.split('.')[0]),
      replaced: resolve,
      clock,
    })
    this.#joined.push(nodes)
    const node: TestedNode = { nodes, self: nodes.bus.self, clock, gone: [], inherited: [], replaced }
    nodes.onGone((other) => {
      node.gone.push(other.name)
      this.#changed()
    })
    nodes.onInherited(async (inheritance) => {
      await this.inheriting(name)
      const keys: string[] = []
      for await (const { key } of inheritance.load('')) keys.push(key)
      node.inherited.push(`${inheritance.from.name} ${inheritance.isOrderly ? 'left' : 'died'} ${keys.join()}`)
      this.#changed()
    })
    if (begins) await this.begin(node)
    return node
  }

  /** Stores a claim as a process does whose packet reaches the servers late. */
  async claimLate(key: string, home: NodeId, before: NodeId): Promise<void> {
    const clock = systemClock
    const link = await NatsLink.over(await this.#servers.connect({}), clock)
    const stream = `${this.#prefix}-claims`
    // Begins the ids of the changes: the process itself may count its own from 1 on.
    const incarnation = `late ${home.incarnation}`
    const claims = new RecordStream({ link, clock, stream, replicas: this.#replicas, incarnation })
    const subject = createHash('sha256').update(key).digest('hex').slice(0, 32)
    const { sequence, bytes } = await claims.read(subject, 5_000)
    assert.equal((JSON.parse(String(bytes)) as { readonly home: string }).home, before.incarnation)
    const claim = Buffer.from(JSON.stringify({ key, home: home.incarnation, before: before.incarnation }))
    assert.ok((await claims.change(subject, claim, sequence, { timeoutMs: 5_000 })) !== undefined)
    await link.connection.close()
  }

  async begin({ nodes, self }: TestedNode): Promise<void> {
    await nodes.begin(this.states.spacesOf(self.name))
    nodes.isReady = true
  }

  /** Resolves when it holds; it is asked whenever a listener was told something. */
  async until(holds: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#changed = () => {
        if (holds()) resolve()
      }
      this.#changed()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const nodes of this.#joined) await nodes.close()
  }
}

/** Makes the node the home of these things. */
export async function takeAll({ nodes }: Pick<TestedNode, 'nodes'>, keys: readonly string[]): Promise<void> {
  for (const key of keys) assert.equal(await nodes.homes.take(key, await nodes.homes.find(key, 5_000)), true)
}
