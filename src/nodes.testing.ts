/**
 * Nodes of a deployment within one process, for tests. They share memory in place of servers. A
 * test kills nodes, names their heirs, and holds messages up or drops them.
 */
import assert from 'node:assert/strict'
import { systemClock } from './clock.ts'
import type { Clock, SteadyMs } from './clock.ts'
import { NoAnswerError, RequestRefusedError } from './nodes.ts'
import type {
  Bus,
  Gathered,
  Homes,
  Inheritance,
  KnownHome,
  LivingNode,
  LostNode,
  NodeId,
  Nodes,
  RequestHandler,
} from './nodes.ts'

const MAXIMUM_BODY_BYTES = 900_000

/** A message between two nodes, as `LocalDeployment.delivery` sees it. */
export interface LocalMessage {
  readonly from: NodeId
  readonly to: NodeId
  readonly kind: string
  readonly type: 'request' | 'answer' | 'cast'
}

/** An entry of the state of a node. */
export interface LocalEntry {
  readonly key: string
  readonly value: Buffer
}

/** The end of a node, as a test decides it. */
export interface LocalEnd {
  readonly heir: LocalNode
  /** The dead node's entries, in any order. Default: none. */
  readonly entries?: readonly LocalEntry[]
  /** Default: false. */
  readonly isOrderly?: boolean
}

interface Home {
  node: LocalNode | undefined
  revision: number
}

/** A request that has no answer yet. */
interface Asked {
  readonly to: NodeId
  fail(): void
}

export class LocalDeployment {
  readonly clock: Clock
  /**
   * Decides on each message: undefined delivers it, 'drop' loses it, and a promise delivers it when
   * it resolves. Later messages of the same two nodes wait behind it.
   */
  delivery: (message: LocalMessage) => Promise<void> | 'drop' | undefined = () => undefined
  /** True: `release` has no effect, as when a node dies soon after it. */
  losesReleases = false
  readonly nodes: LocalNode[] = []
  readonly homes = new Map<string, Home>()
  readonly asked = new Set<Asked>()
  readonly #waiting = new Set<() => void>()
  readonly #ways = new Map<string, Promise<void>>()
  #lastIncarnation = 0

  constructor(clock: Clock = systemClock) {
    this.clock = clock
  }

  /** Begins a node. A name may come again when its earlier node is dead. */
  join(name: string): LocalNode {
    assert(!this.nodes.some((node) => node.bus.self.name === name && node.end === 'none'), `“${name}” is free`)
    this.#lastIncarnation += 1
    const node = new LocalNode(this, { name, incarnation: this.#lastIncarnation.toString(16).padStart(16, '0') })
    this.nodes.push(node)
    return node
  }

  /** The node says and hears nothing from here on. The others have not noticed yet. */
  silence(node: LocalNode): void {
    if (node.end !== 'none') return
    node.end = 'silent'
    node.silentSince = this.clock.steady()
  }

  /** The others notice that a node is dead. It has no heir yet. */
  declareGone(node: LocalNode): void {
    this.silence(node)
    if (node.end === 'gone') return
    node.end = 'gone'
    for (const asked of this.asked) if (asked.to === node.bus.self) asked.fail()
    for (const other of this.nodes) if (other.end === 'none') other.tellGone(node.bus.self)
  }

  /** Kills a node, or goes on with one that is silent or gone. Resolves when its heir has all. */
  async kill(node: LocalNode, { heir, entries = [], isOrderly = false }: LocalEnd): Promise<void> {
    this.declareGone(node)
    await heir.inherit(node.bus.self, entries, isOrderly)
    node.heir = heir
    for (const home of this.homes.values()) {
      if (home.node !== node) continue
      home.node = heir
      home.revision += 1
    }
    for (const wake of this.#waiting) wake()
  }

  async successorOf(incarnation: string, timeoutMs: number): Promise<NodeId> {
    const since = this.clock.steady()
    for (let at = this.nodes.find(({ bus }) => bus.self.incarnation === incarnation); ; at = at?.heir ?? at) {
      if (at !== undefined && at.end !== 'gone') return at.bus.self
      if (at?.heir !== undefined) continue
      const left = timeoutMs - (this.clock.steady() - since)
      if (left <= 0) throw new Error('the node is dead, and has no heir yet')
      await this.inherited(left)
    }
  }

  /** Resolves when a node has inherited, or after the time. */
  async inherited(timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done)
        cancel()
        resolve()
      }
      const cancel = this.clock.after(timeoutMs, done)
      this.#waiting.add(done)
    })
  }

  /** Delivers a message behind the earlier ones of the same two nodes. */
  send(message: LocalMessage, deliver: () => void): void {
    const { from, to } = message
    const way = `${from.incarnation} ${to.incarnation}`
    const sent = (this.#ways.get(way) ?? Promise.resolve()).then(async () => {
      if (this.#isMute(from)) return
      const decision = this.delivery(message)
      if (decision === 'drop') return
      await decision
      if (!this.#isMute(to)) deliver()
    })
    this.#ways.set(way, sent)
  }

  #isMute(node: NodeId): boolean {
    return this.nodes.some(({ bus, end }) => bus.self === node && end !== 'none')
  }
}

/** A node of a LocalDeployment. */
export class LocalNode implements Nodes {
  readonly bus: LocalBus
  readonly homes: LocalHomes
  isReady = true
  isCutOff = false
  /** How far the node's death is known. */
  end: 'none' | 'silent' | 'gone' = 'none'
  silentSince: SteadyMs | undefined
  heir: LocalNode | undefined
  readonly #deployment: LocalDeployment
  readonly #startedAtMs: number
  readonly #heirs: ((inheritance: Inheritance) => Promise<void>)[] = []
  readonly #gone: ((node: NodeId) => void)[] = []

  constructor(deployment: LocalDeployment, self: NodeId) {
    this.#deployment = deployment
    this.#startedAtMs = deployment.clock.now()
    this.bus = new LocalBus(deployment, self)
    this.homes = new LocalHomes(deployment, this)
  }

  living(): readonly LivingNode[] {
    const { nodes, clock } = this.#deployment
    return nodes
      .filter(({ end }) => end !== 'gone')
      .map(({ bus, isReady, silentSince, startedAtMs }) => ({
        name: bus.self.name,
        incarnation: bus.self.incarnation,
        version: 'test',
        startedAtMs,
        isReady,
        silentMs: silentSince === undefined ? 0 : clock.steady() - silentSince,
      }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  lost(): readonly LostNode[] {
    const { nodes } = this.#deployment
    const names = new Set(nodes.filter(({ end }) => end !== 'gone').map(({ bus }) => bus.self.name))
    return nodes
      .filter(({ end, bus }) => end === 'gone' && !names.has(bus.self.name))
      .map(({ bus, heir, startedAtMs }) => {
        return { name: bus.self.name, endedAtMs: startedAtMs, isOrderly: false, heir: heir?.bus.self.name }
      })
  }

  get startedAtMs(): number {
    return this.#startedAtMs
  }

  onInherited(listener: (inheritance: Inheritance) => Promise<void>): void {
    this.#heirs.push(listener)
  }

  async successorOf({ incarnation }: NodeId, timeoutMs: number): Promise<NodeId> {
    return await this.#deployment.successorOf(incarnation, timeoutMs)
  }

  onGone(listener: (node: NodeId) => void): void {
    this.#gone.push(listener)
  }

  tellGone(node: NodeId): void {
    for (const listener of this.#gone) listener(node)
  }

  async inherit(from: NodeId, entries: readonly LocalEntry[], isOrderly: boolean): Promise<void> {
    const sorted = entries.toSorted((one, other) => (one.key < other.key ? -1 : 1))
    const load = async function* (prefix: string): AsyncGenerator<LocalEntry> {
      yield* sorted.filter(({ key }) => key.startsWith(prefix))
    }
    for (const listener of this.#heirs) await listener({ from, isOrderly, load })
  }
}

class LocalBus implements Bus {
  readonly self: NodeId
  readonly #deployment: LocalDeployment
  readonly #handlers = new Map<string, RequestHandler>()
  readonly #listeners = new Map<string, (body: Buffer, from: NodeId) => void>()

  constructor(deployment: LocalDeployment, self: NodeId) {
    this.#deployment = deployment
    this.self = self
  }

  async request(to: NodeId, kind: string, body: Buffer, timeoutMs: number): Promise<Buffer> {
    const { nodes, asked, clock } = this.#deployment
    assert(body.length <= MAXIMUM_BODY_BYTES)
    const sent = Buffer.from(body)
    const node = nodes.find(({ bus }) => bus.self.incarnation === to.incarnation)
    if (node === undefined || node.end === 'gone') throw new NoAnswerError(to, kind)
    return await new Promise<Buffer>((resolve, reject) => {
      const settle = (run: () => void): void => {
        cancel()
        asked.delete(waiting)
        run()
      }
      const fail = (): void => settle(() => reject(new NoAnswerError(to, kind)))
      const waiting: Asked = { to: node.bus.self, fail }
      const cancel = clock.after(timeoutMs, fail)
      asked.add(waiting)
      this.#deployment.send({ from: this.self, to: node.bus.self, kind, type: 'request' }, () => {
        node.bus.answer(kind, sent, this.self).then(
          (answer) => this.#answered(node, kind, () => settle(() => resolve(answer))),
          (error: unknown) => {
            const reason = error instanceof Error ? error.message : String(error)
            this.#answered(node, kind, () => settle(() => reject(new RequestRefusedError(to, kind, reason))))
          },
        )
      })
    })
  }

  async gather(kind: string, body: Buffer, timeoutMs: number): Promise<Gathered> {
    const others = this.#others()
    const answers: { from: NodeId; body: Buffer }[] = []
    const missing: NodeId[] = []
    const ask = async (from: NodeId): Promise<void> => {
      try {
        answers.push({ from, body: await this.request(from, kind, body, timeoutMs) })
      } catch {
        missing.push(from)
      }
    }
    await Promise.all(others.map(({ bus }) => ask(bus.self)))
    return { answers, missing }
  }

  serve(kind: string, handler: RequestHandler): void {
    assert(!this.#handlers.has(kind), `“${kind}” has one handler`)
    this.#handlers.set(kind, handler)
  }

  cast(kind: string, body: Buffer): void {
    assert(body.length <= MAXIMUM_BODY_BYTES)
    for (const { bus } of this.#others()) {
      const sent = Buffer.from(body)
      const message: LocalMessage = { from: this.self, to: bus.self, kind, type: 'cast' }
      this.#deployment.send(message, () => bus.#listeners.get(kind)?.(sent, this.self))
    }
  }

  hear(kind: string, listener: (body: Buffer, from: NodeId) => void): void {
    assert(!this.#listeners.has(kind), `“${kind}” has one listener`)
    this.#listeners.set(kind, listener)
  }

  async answer(kind: string, body: Buffer, from: NodeId): Promise<Buffer> {
    const handler = this.#handlers.get(kind)
    if (handler === undefined) throw new Error(`The node has no handler for “${kind}”.`)
    return Buffer.from(await handler(body, from))
  }

  #answered(node: LocalNode, kind: string, deliver: () => void): void {
    this.#deployment.send({ from: node.bus.self, to: this.self, kind, type: 'answer' }, deliver)
  }

  #others(): LocalNode[] {
    return this.#deployment.nodes.filter(({ bus, end }) => bus !== this && end !== 'gone')
  }
}

class LocalHomes implements Homes {
  readonly #deployment: LocalDeployment
  readonly #node: LocalNode

  constructor(deployment: LocalDeployment, node: LocalNode) {
    this.#deployment = deployment
    this.#node = node
  }

  async find(key: string, timeoutMs: number): Promise<KnownHome> {
    const { clock, homes } = this.#deployment
    await this.#reach()
    const since = clock.steady()
    for (;;) {
      const { node, revision } = homes.get(key) ?? { node: undefined, revision: 0 }
      if (node?.end !== 'gone') return { node: node?.bus.self, revision }
      const left = timeoutMs - (clock.steady() - since)
      if (left <= 0) throw new Error(`the home of “${key}” is dead, and has no heir yet`)
      await this.#deployment.inherited(left)
    }
  }

  async take(key: string, found: KnownHome): Promise<boolean> {
    await this.#reach()
    const { homes } = this.#deployment
    const { node, revision } = homes.get(key) ?? { node: undefined, revision: 0 }
    if (revision !== found.revision || node?.end === 'gone') return false
    homes.set(key, { node: this.#node, revision: revision + 1 })
    return true
  }

  async areHere(keys: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#reach()
    return new Set(keys.filter((key) => this.#deployment.homes.get(key)?.node === this.#node))
  }

  release(key: string): void {
    const home = this.#deployment.homes.get(key)
    if (home?.node !== this.#node || this.#node.end !== 'none' || this.#deployment.losesReleases) return
    home.node = undefined
    home.revision += 1
  }

  /** Rejects for a dead node: the servers do not answer it. */
  async #reach(): Promise<void> {
    await Promise.resolve()
    if (this.#node.end !== 'none') throw new Error('the servers do not answer')
  }
}
