/**
 * Nodes whose messages, homes and ends are events of the schedule. They keep the rules of
 * `cluster/`, step by step, where LocalDeployment takes several steps at once.
 */
import assert from 'node:assert/strict'
import { NoAnswerError, RequestRefusedError } from '../../src/nodes.ts'
import type { Clock, SteadyMs } from '../../src/clock.ts'
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
} from '../../src/nodes.ts'
import { Claims } from './claims.ts'
import type { Channel, Schedule } from './schedule.ts'

const TAKE_MS = 5_000
const RELEASE_AFTER_MS = 30_000

/** The nodes of one run. */
export class SteppedDeployment {
  readonly schedule: Schedule
  readonly claims = new Claims()
  /** All processes there have been, by incarnation. */
  readonly processes = new Map<string, SteppedNode>()
  readonly #ways = new Map<string, Channel>()
  #lastIncarnation = 0

  constructor(schedule: Schedule) {
    this.schedule = schedule
  }

  join(name: string): SteppedNode {
    this.#lastIncarnation += 1
    const self = { name, incarnation: `${name}${this.#lastIncarnation}` }
    const node = new SteppedNode(this, self)
    this.processes.set(self.incarnation, node)
    this.claims.processes.set(self.incarnation, { name, heir: undefined, stage: 'living' })
    return node
  }

  /** The way of the messages from one node to another. */
  way(from: SteppedNode, to: SteppedNode): Channel {
    const name = `${from.bus.self.incarnation} to ${to.bus.self.incarnation}`
    let way = this.#ways.get(name)
    if (way === undefined) {
      way = { name, isOpen: () => from.isOnline && to.isOnline }
      this.#ways.set(name, way)
    }
    return way
  }

  isWay(channel: Channel): boolean {
    return this.#ways.get(channel.name) === channel
  }

  /** Resolves when the event happens: an exchange with the servers. */
  event(node: SteppedNode, label: string, isReady: () => boolean = () => true): Promise<void> {
    const channel = { name: label, isOpen: () => node.isOnline && isReady() }
    return new Promise((resolve) => this.schedule.post(channel, `${node.name} ${label}`, resolve))
  }

  /** The living processes are told that a node is gone. */
  tellGone(gone: SteppedNode): void {
    for (const node of this.processes.values()) {
      if (!node.isOnline || node === gone) continue
      node.bus.gone(gone.bus.self)
      for (const listener of node.mourners) listener(gone.bus.self)
    }
  }
}

/** One process of a node. */
export class SteppedNode implements Nodes {
  readonly bus: SteppedBus
  readonly homes: SteppedHomes
  readonly heirs: ((inheritance: Inheritance) => Promise<void>)[] = []
  readonly mourners: ((node: NodeId) => void)[] = []
  readonly clock: Clock
  /** False: the process has ended. */
  isRunning = true
  /** Whether the process knows that it is silent: a fault may come before it does. */
  readonly isCutOff = false
  /** True: no server and no other node hears the process. */
  isSilent = false
  readonly #deployment: SteppedDeployment

  constructor(deployment: SteppedDeployment, self: NodeId) {
    const { schedule } = deployment
    this.#deployment = deployment
    this.bus = new SteppedBus(deployment, this, self)
    this.homes = new SteppedHomes(deployment, this)
    const whileRunning = (run: () => void) => (): void => {
      if (this.isRunning) run()
    }
    this.clock = {
      now: () => schedule.nowMs,
      steady: () => schedule.nowMs as SteadyMs,
      afterTurn: (run) => schedule.afterTurn(whileRunning(run)),
      after: (ms, run) => schedule.after(ms, whileRunning(run)),
      cpu: () => 0,
      rest: () => {},
    }
  }

  get name(): string {
    return this.bus.self.incarnation
  }

  get isOnline(): boolean {
    return this.isRunning && !this.isSilent
  }

  /** Nobody has become its heir, and nobody is about to. */
  get isAtHome(): boolean {
    return this.#deployment.claims.isAtHome(this.name)
  }

  living(): readonly LivingNode[] {
    return [...this.#deployment.processes.values()]
      .filter((node) => node.isAtHome)
      .map(({ bus: { self } }) => {
        const { name, incarnation } = self
        return { name, incarnation, version: 'test', startedAtMs: 0, isReady: true, silentMs: 0 }
      })
  }

  lost(): readonly LostNode[] {
    return []
  }

  onInherited(listener: (inheritance: Inheritance) => Promise<void>): void {
    this.heirs.push(listener)
  }

  async successorOf({ incarnation }: NodeId): Promise<NodeId> {
    await this.#deployment.event(this, `asks who is in the place of ${incarnation}`)
    const { claims, processes } = this.#deployment
    const successor = processes.get(claims.mergedInto(incarnation))
    if (successor?.isAtHome !== true) throw new Error('the node is dead, and has no heir yet')
    return successor.bus.self
  }

  onGone(listener: (node: NodeId) => void): void {
    this.mourners.push(listener)
  }
}

/** A request that has no answer yet. */
interface Asked {
  readonly to: NodeId
  readonly fail: () => void
}

class SteppedBus implements Bus {
  readonly self: NodeId
  readonly #deployment: SteppedDeployment
  readonly #node: SteppedNode
  readonly #handlers = new Map<string, RequestHandler>()
  readonly #listeners = new Map<string, (body: Buffer, from: NodeId) => void>()
  readonly #asked = new Set<Asked>()

  constructor(deployment: SteppedDeployment, node: SteppedNode, self: NodeId) {
    this.#deployment = deployment
    this.#node = node
    this.self = self
  }

  async request(to: NodeId, kind: string, body: Buffer, timeoutMs: number): Promise<Buffer> {
    const { schedule, processes } = this.#deployment
    const target = processes.get(to.incarnation)
    if (target?.isRunning !== true || !target.isAtHome) throw new NoAnswerError(to, kind)
    return await new Promise<Buffer>((resolve, reject) => {
      const settle = (run: () => void): void => {
        cancel()
        this.#asked.delete(asked)
        run()
      }
      const fail = (): void => settle(() => reject(new NoAnswerError(to, kind)))
      const asked: Asked = { to, fail }
      const cancel = this.#node.clock.after(timeoutMs, fail)
      this.#asked.add(asked)
      const back = (run: () => void): void => {
        if (!target.isRunning) return
        schedule.post(
          this.#deployment.way(target, this.#node),
          `${target.name} answers ${this.#node.name} ${kind}`,
          () => settle(run),
        )
      }
      schedule.post(this.#deployment.way(this.#node, target), `${this.#node.name} asks ${target.name} ${kind}`, () => {
        target.bus.handle(kind, body, this.self).then(
          (answer) => back(() => resolve(answer)),
          (error: unknown) => back(() => reject(new RequestRefusedError(to, kind, String(error)))),
        )
      })
    })
  }

  async gather(kind: string, body: Buffer, timeoutMs: number): Promise<Gathered> {
    const answers: { from: NodeId; body: Buffer }[] = []
    const missing: NodeId[] = []
    const others = this.#node.living().filter(({ incarnation }) => incarnation !== this.self.incarnation)
    await Promise.all(
      others.map(({ name, incarnation }) =>
        this.request({ name, incarnation }, kind, body, timeoutMs).then(
          (answer) => answers.push({ from: { name, incarnation }, body: answer }),
          () => missing.push({ name, incarnation }),
        ),
      ),
    )
    return { answers, missing }
  }

  serve(kind: string, handler: RequestHandler): void {
    assert(!this.#handlers.has(kind))
    this.#handlers.set(kind, handler)
  }

  cast(kind: string, body: Buffer): void {
    const { schedule, processes } = this.#deployment
    for (const other of processes.values()) {
      if (other === this.#node || !other.isRunning) continue
      schedule.post(this.#deployment.way(this.#node, other), `${this.#node.name} tells ${other.name} ${kind}`, () =>
        other.bus.#listeners.get(kind)?.(body, this.self),
      )
    }
  }

  hear(kind: string, listener: (body: Buffer, from: NodeId) => void): void {
    assert(!this.#listeners.has(kind))
    this.#listeners.set(kind, listener)
  }

  /** The node is gone: its requests have no answer. */
  gone({ incarnation }: NodeId): void {
    for (const { to, fail } of this.#asked) if (to.incarnation === incarnation) fail()
  }

  async handle(kind: string, body: Buffer, from: NodeId): Promise<Buffer> {
    const handler = this.#handlers.get(kind)
    if (handler === undefined) throw new Error(`no handler for ${kind}`)
    return Buffer.from(await handler(body, from))
  }
}

class SteppedHomes implements Homes {
  readonly #deployment: SteppedDeployment
  readonly #node: SteppedNode
  /** Things that are over, by key: since when. */
  readonly #over = new Map<string, number>()

  constructor(deployment: SteppedDeployment, node: SteppedNode) {
    this.#deployment = deployment
    this.#node = node
  }

  async find(key: string, timeoutMs: number): Promise<KnownHome> {
    const { claims, processes } = this.#deployment
    await this.#within(
      timeoutMs,
      this.#deployment.event(this.#node, `finds ${short(key)}`, () => claims.find(key) !== undefined),
    )
    const found = claims.find(key)
    if (found === undefined) throw new Error('the home is dead, and has no heir yet')
    const isOver = found.home === this.#node.name && this.#over.has(key)
    const node = found.home === undefined || isOver ? undefined : processes.get(found.home)
    return { node: node?.bus.self, revision: found.revision }
  }

  async take(key: string, { node, revision }: KnownHome): Promise<boolean> {
    const { claims } = this.#deployment
    this.#over.delete(key)
    if (node !== undefined && node.incarnation !== this.#node.name) {
      await this.#within(TAKE_MS, this.#deployment.event(this.#node, `asks whether ${node.incarnation} is at home`))
      if (!claims.isAtHome(node.incarnation)) return false
    }
    return await this.#within(TAKE_MS, this.#change(key, revision, node?.incarnation))
  }

  async areHere(keys: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#deployment.event(this.#node, 'asks for its things')
    const { claims } = this.#deployment
    return new Set(
      keys.filter((key) => {
        const home = claims.claimed(key)
        return home !== undefined && claims.holderOf(home) === this.#node.name && !this.#over.has(key)
      }),
    )
  }

  release(key: string): void {
    const { claims, schedule } = this.#deployment
    const since = schedule.nowMs
    this.#over.set(key, since)
    this.#node.clock.after(RELEASE_AFTER_MS, () => {
      if (this.#over.get(key) !== since || !this.#node.isOnline) return
      this.#over.delete(key)
      const home = claims.claimed(key)
      if (home !== undefined && claims.holderOf(home) === this.#node.name) {
        claims.change(key, undefined, claims.revision(key))
      }
    })
  }

  /** The change may come through, and its answer may not. */
  async #change(key: string, revision: number, before: string | undefined): Promise<boolean> {
    const { claims } = this.#deployment
    await this.#deployment.event(this.#node, `takes ${short(key)}`)
    const stored = claims.change(key, this.#node.name, revision, before)
    const isTaken = stored !== undefined
    await this.#deployment.event(this.#node, `hears that ${short(key)} is ${isTaken ? 'its own' : 'taken'}`)
    if (!isTaken) return false
    await this.#deployment.event(this.#node, 'asks whether it has an heir')
    if (!this.#node.isAtHome) throw new Error('this process has an heir')
    return !claims.isBehind(before, stored)
  }

  async #within<Result>(ms: number, waiting: Promise<Result>): Promise<Result> {
    const { promise, reject } = Promise.withResolvers<Result>()
    const cancel = this.#node.clock.after(ms, () => reject(new Error('the servers do not answer')))
    return await Promise.race([waiting, promise]).finally(cancel)
  }
}

function short(key: string): string {
  return key.split('\0').join(' ')
}
