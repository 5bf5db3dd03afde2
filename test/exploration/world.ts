/** Nodes with brokers, and what may go wrong with them: all of it by the schedule. */
import { Broker } from '../../src/broker/broker.ts'
import type { StateEntry } from '../../src/broker/ports/engine.ts'
import { withCursors } from '../../src/broker/restoring/explicit-cursors.ts'
import { homeKeyOf } from '../../src/broker/restoring/session-moves.ts'
import { TestPermit, TestPolicy } from '../support/broker-harness.ts'
import { SharedLog } from '../support/shared-log.ts'
import { Schedule } from './schedule.ts'
import type { Chooser, Event } from './schedule.ts'
import { SteppedEngine } from './stepped-engine.ts'
import { SteppedDeployment } from './stepped-nodes.ts'
import type { SteppedNode } from './stepped-nodes.ts'

const NAMES = ['a', 'b', 'c'] as const
export type NodeName = (typeof NAMES)[number]

/** How often each kind of fault may happen in a run. */
export interface FaultBounds {
  /** Ends of processes: killed, or silent for so long that they get an heir. */
  readonly ends: number
  /** Ends in order. Default: 0. */
  readonly leaves?: number
  /** Messages between nodes that get lost. */
  readonly losses: number
  /** Times in which nothing arrives anywhere. */
  readonly stalls: number
}

export interface WorldNode {
  readonly node: SteppedNode
  readonly engine: SteppedEngine
  readonly broker: Broker
}

/** Wills of dead nodes are asked for by their ground. */
class HeirPolicy extends TestPolicy {
  permitOn(): Promise<TestPermit> {
    return Promise.resolve(new TestPermit())
  }
}

export class World {
  readonly schedule: Schedule
  readonly deployment: SteppedDeployment
  /** The processes that run, by the names of their nodes. */
  readonly nodes = new Map<string, WorldNode>()
  readonly #started = new Set<WorldNode>()
  /** Processes that are about to end in order. */
  readonly #leaving = new Set<WorldNode>()
  /** Inheritances that are under way. */
  #inheriting = 0
  readonly #log: SharedLog
  readonly #bounds: FaultBounds & { ends: number; leaves: number; losses: number; stalls: number }
  /** The faults within the world itself. */
  readonly errors: string[] = []

  private constructor(log: SharedLog, choose: Chooser, bounds: FaultBounds) {
    this.#log = log
    this.#bounds = { leaves: 0, ...bounds }
    this.schedule = new Schedule(choose)
    this.deployment = new SteppedDeployment(this.schedule)
    this.schedule.second = () => {
      // The service begins to tick when the broker has started.
      for (const one of this.nodes.values()) if (one.node.isRunning && this.#started.has(one)) one.broker.tick()
    }
  }

  static async open(choose: Chooser, bounds: FaultBounds): Promise<World> {
    const world = new World(await SharedLog.open(), choose, bounds)
    for (const name of NAMES) world.#begin(name, new Map())
    await world.schedule.settle(() => world.online.length === NAMES.length, 'all nodes run')
    world.schedule.faults = () => world.#faults()
    return world
  }

  get(name: string): WorldNode {
    return this.nodes.get(name) as WorldNode
  }

  /** The nodes that clients can connect to. */
  get online(): readonly WorldNode[] {
    return [...this.nodes.values()].filter((one) => one.node.isOnline && one.node.isAtHome && this.#started.has(one))
  }

  /** True while a process is between two lives. */
  get isChanging(): boolean {
    const isStarting = [...this.nodes.values()].some((one) => one.node.isOnline && !this.#started.has(one))
    return this.#inheriting > 0 || this.#leaving.size > 0 || isStarting
  }

  /** The process ends without a word. */
  kill({ node }: WorldNode): void {
    node.isRunning = false
  }

  /** The process ends in order, as at SIGTERM. Then another node becomes its heir. */
  leave(leaving: WorldNode): void {
    const { node } = leaving
    if (this.#leaving.has(leaving) || !node.isOnline || !node.isAtHome || !this.#started.has(leaving)) return
    this.#leaving.add(leaving)
    this.#end(leaving).then(
      () => this.#leaving.delete(leaving),
      (error: unknown) => this.errors.push(`${node.name} did not end: ${String(error)}`),
    )
  }

  /** Ends all faults: silent processes end, and everybody who is dead gets an heir. */
  heal(): void {
    for (const dead of this.nodes.values()) {
      if (dead.node.isOnline && dead.node.isAtHome) continue
      if (dead.node.isAtHome) {
        const heir = this.online[0]
        if (heir !== undefined) this.#beginInheriting(dead, heir)
      }
      this.kill(dead)
    }
  }

  /** Begins a process with the state that an earlier one of the node has left, as its own heir. */
  restart(name: string): void {
    const earlier = this.get(name)
    this.kill(earlier)
    earlier.engine.fence()
    this.#begin(name, new Map(earlier.engine.state), earlier.node.name)
    this.deployment.tellGone(earlier.node)
  }

  #begin(name: string, state: Map<string, Buffer>, earlier?: string): void {
    const { schedule, deployment } = this
    const node = deployment.join(name)
    const record = earlier === undefined ? undefined : deployment.claims.processes.get(earlier)
    if (record !== undefined && earlier !== undefined) {
      record.heir = node.name
      record.stage = 'copied'
      deployment.claims.fence(earlier)
    }
    const engine = new SteppedEngine(schedule, node, this.#log, state)
    const broker = new Broker({ policy: new HeirPolicy(), engine, clock: node.clock, nodes: node })
    const begun: WorldNode = { node, engine, broker }
    this.nodes.set(name, begun)
    broker.start().then(
      () => {
        if (record !== undefined && node.isAtHome) record.stage = 'merged'
        this.#started.add(begun)
      },
      (error: unknown) => this.errors.push(`${node.name} did not start: ${String(error)}`),
    )
  }

  #faults(): readonly Event[] {
    const { schedule } = this
    const faults: Event[] = []
    if (this.#bounds.losses > 0) {
      for (const [channel, label] of schedule.waiting()) {
        if (!this.deployment.isWay(channel)) continue
        faults.push({
          label: `lost: ${label}`,
          run: () => {
            this.#bounds.losses -= 1
            schedule.lose(channel)
          },
        })
      }
    }
    if (this.#bounds.stalls > 0) {
      for (const ms of [6_000, 12_000]) {
        faults.push({
          label: `nothing arrives for ${ms} ms`,
          run: async () => {
            this.#bounds.stalls -= 1
            await schedule.stall(ms)
          },
        })
      }
    }
    faults.push(...this.#ends(), ...this.#leaves())
    return faults
  }

  *#leaves(): Generator<Event> {
    if (this.#bounds.leaves === 0) return
    for (const one of this.online) {
      yield {
        label: `${one.node.name} ends in order`,
        run: () => {
          this.#bounds.leaves -= 1
          this.leave(one)
        },
      }
    }
  }

  *#ends(): Generator<Event> {
    for (const dead of this.nodes.values()) {
      const { node } = dead
      if (this.#bounds.ends > 0 && node.isOnline && node.isAtHome) {
        yield { label: `${node.name} is killed`, run: () => this.#lose(dead, false) }
        yield { label: `${node.name} is silent`, run: () => this.#lose(dead, true) }
      }
      if (node.isAtHome && !node.isRunning) {
        yield { label: `${node.name} starts again`, run: () => this.restart(node.bus.self.name) }
      }
      if (node.isAtHome && !node.isOnline) {
        for (const heir of this.online) {
          yield {
            label: `${heir.node.name} becomes the heir of ${node.name}`,
            run: () => this.#beginInheriting(dead, heir),
          }
        }
      }
      if (!node.isAtHome && node.isRunning) {
        if (node.isSilent) yield { label: `${node.name} is heard again`, run: () => void (node.isSilent = false) }
        yield { label: `${node.name} knows that it has an heir`, run: () => this.kill(dead) }
      }
    }
  }

  #lose(dead: WorldNode, isSilent: boolean): void {
    this.#bounds.ends -= 1
    if (isSilent) dead.node.isSilent = true
    else this.kill(dead)
  }

  /** The steps of a service that ends: the broker, its engine, and then the node. */
  async #end(leaving: WorldNode): Promise<void> {
    const { deployment } = this
    const { node, broker } = leaving
    await broker.close()
    await deployment.event(node, 'leaves')
    const record = deployment.claims.processes.get(node.name)
    if (record?.stage !== 'living') return
    record.stage = 'left'
    this.kill(leaving)
    deployment.tellGone(node)
    const heir = this.online[0]
    if (heir !== undefined) this.#beginInheriting(leaving, heir)
  }

  #beginInheriting(dead: WorldNode, heir: WorldNode): void {
    this.#inheriting += 1
    this.#inherit(dead, heir).then(
      () => (this.#inheriting -= 1),
      (error: unknown) => this.errors.push(`${heir.node.name} did not inherit: ${String(error)}`),
    )
  }

  /** The steps of `Inheritances`. */
  async #inherit(dead: WorldNode, heir: WorldNode): Promise<void> {
    const { deployment } = this
    const { claims } = deployment
    const from = dead.node.bus.self
    const record = claims.processes.get(from.incarnation)
    if (record === undefined) throw new Error('no record')
    const isOrderly = record.stage === 'left'
    record.heir = heir.node.name
    record.stage = 'named'
    deployment.tellGone(dead.node)
    await deployment.event(heir.node, `fences ${dead.node.name}`)
    dead.engine.fence()
    const stored = dead.engine.entries()
    await deployment.event(heir.node, `fences the claims of ${dead.node.name}`)
    claims.fence(from.incarnation)
    await deployment.event(heir.node, `asks for the claims of ${dead.node.name}`)
    const entries = stored.filter(({ key }) => {
      const home = homeKeyOf(key)
      if (home === undefined) return key === 'checkpoint'
      const claimed = claims.claimed(home)
      return claimed !== undefined && claims.holderOf(claimed) === dead.node.name
    })
    await new Promise<void>((resolve) => {
      const changes = withCursors(entries)
      if (changes.length === 0) resolve()
      else heir.engine.write({ changes, committed: resolve, failed: () => {} })
    })
    record.stage = 'copied'
    const load = async function* (prefix: string): AsyncGenerator<StateEntry> {
      for (const entry of entries) if (entry.key.startsWith(prefix)) yield entry
    }
    for (const listener of heir.node.heirs) {
      try {
        await listener({ from, isOrderly, load })
      } catch (error) {
        this.errors.push(`${heir.node.name} failed as the heir of ${dead.node.name}: ${String(error)}`)
      }
    }
    await deployment.event(heir.node, `is merged with ${dead.node.name}`)
    record.stage = 'merged'
  }
}
