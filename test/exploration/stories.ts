/** The clients of a run, and the rules that must hold whatever goes wrong. */
import { Robot } from './robot.ts'
import type { Channel, Chooser } from './schedule.ts'
import { World } from './world.ts'
import type { FaultBounds, NodeName } from './world.ts'

/** A step of a client, at any time after the step before it. */
export interface Step {
  readonly robot: string
  readonly connect?: NodeName
  readonly publish?: string
  readonly drop?: boolean
  /** This node ends in order; the client does nothing. */
  readonly end?: NodeName
}

export interface Story {
  readonly name: string
  readonly robots: readonly (ConstructorParameters<typeof Robot>[0] & {
    readonly at: NodeName
    /** True: each packet that the client gets is a step of the schedule. */
    readonly isStepped?: boolean
  })[]
  /** Happens before the exploration, in the usual order. */
  readonly before: readonly Step[]
  /** Happens within the exploration: in order for each robot. */
  readonly within: readonly Step[]
  /** True: the steps come as soon as they can, and not when all else is over. */
  readonly isEager: boolean
  readonly bounds: FaultBounds
  /** Throws a sentence when something does not hold. */
  readonly check: (robots: ReadonlyMap<string, Robot>) => void
}

export interface Outcome {
  /** Undefined: everything holds. */
  readonly fault: string | undefined
  readonly widths: readonly number[]
  readonly trace: readonly string[]
}

export async function play(story: Story, choose: Chooser): Promise<Outcome> {
  let world: World | undefined
  let fault: string | undefined
  try {
    world = await World.open(choose, story.bounds)
    await new Play(story, world).run()
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error)
  }
  const { widths = [], trace = [] } = world?.schedule ?? {}
  return { fault, widths, trace }
}

/** Time in which everything comes to its end, ms: a home waits for 15 s, and tells after 30 s. */
const REST_MS = 60_000

class Play {
  readonly #story: Story
  readonly #world: World
  readonly #robots = new Map<string, Robot>()
  readonly #stepped = new Map<Robot, Channel>()

  constructor(story: Story, world: World) {
    this.#story = story
    this.#world = world
    world.schedule.stepped = () => this.#read()
  }

  async run(): Promise<void> {
    const { schedule } = this.#world
    const { robots, before, within, isEager } = this.#story
    for (const of of robots) {
      const robot = new Robot(of)
      this.#robots.set(of.clientId, robot)
      robot.connect(this.#world.get(of.at))
      await schedule.settle(() => robot.isDone, `${of.clientId} is there`)
    }
    for (const step of before) {
      this.#do(step)
      await schedule.settle(() => this.#isDone, `before: ${JSON.stringify(step)}`)
    }
    for (const { clientId, isStepped } of robots) {
      const robot = this.#robots.get(clientId) as Robot
      const channel: Channel = { name: clientId, isOpen: () => robot.hasPackets }
      if (isStepped === true) this.#stepped.set(robot, channel)
    }
    const scripts = new Map<string, Channel>()
    for (const step of within) {
      const script = scripts.get(step.robot) ?? { name: `script of ${step.robot}`, isOpen: () => true }
      scripts.set(step.robot, script)
      if (!isEager) schedule.letWait(script)
      const { robot, ...what } = step
      schedule.post(script, `${robot}: ${JSON.stringify(what)}`, () => this.#do(step))
    }
    const isOver = (): boolean => [...scripts.values()].every((script) => !schedule.hasPosted(script)) && this.#isDone
    await schedule.explore(isOver)
    this.#stepped.clear()
    await this.#end()
  }

  /** All faults are over, and all clients come back. */
  async #end(): Promise<void> {
    const { schedule } = this.#world
    this.#world.heal()
    await this.#settleNodes()
    await schedule.pass(REST_MS)
    this.#assertQuiet()
    await this.#comeBack('again')
    // A process that starts again knows nothing of Sessions that are elsewhere.
    for (const { node } of this.#world.online) {
      this.#world.restart(node.bus.self.name)
      await this.#settleNodes()
    }
    await schedule.pass(2_000)
    this.#assertQuiet()
    await this.#comeBack('last')
    for (const { faults } of this.#robots.values()) for (const fault of faults) throw new Error(fault)
    this.#story.check(this.#robots)
  }

  async #settleNodes(): Promise<void> {
    const { schedule, errors } = this.#world
    await schedule.settle(() => !this.#world.isChanging || errors.length > 0, 'all nodes are there, or have an heir')
  }

  /** All clients connect where there is a node, and get what they are owed. */
  async #comeBack(payload: string): Promise<void> {
    const { schedule } = this.#world
    for (const robot of this.#robots.values()) await this.#connect(robot)
    for (const robot of this.#robots.values()) robot.publish(`${robot.clientId} ${payload}`)
    await schedule.settle(() => this.#isDone, `all have got everything ${payload}`)
    await schedule.pass(REST_MS)
  }

  async #connect(robot: Robot): Promise<void> {
    const { schedule } = this.#world
    const again = (): boolean => {
      if (robot.isOpen && !robot.hasPackets) return robot.isConnected
      const at = this.#world.online[0]
      if (at !== undefined && !robot.isOpen) robot.connect(at)
      return false
    }
    await schedule.settle(again, `${robot.clientId} comes back`, 120_000)
  }

  /** Each client has one connection at most, and each Session is at one node. */
  #assertQuiet(): void {
    const { errors, online } = this.#world
    const [error] = errors
    if (error !== undefined) throw new Error(error)
    for (const { clientId } of this.#robots.values()) {
      const at = this.#liveAt(clientId)
      if (at.length > 1) throw new Error(`“${clientId}” is connected at ${at.join(' and ')}`)
    }
    let count = 0
    for (const { broker } of online) count += broker.usageOf('tenant').sessions ?? 0
    if (count > this.#robots.size) throw new Error(`${count} Sessions of ${this.#robots.size} clients`)
  }

  /** The processes that would store what the client does on a live connection there. */
  #liveAt(clientId: string): string[] {
    const at: string[] = []
    for (const { node, engine, broker } of this.#world.nodes.values()) {
      if (!node.isRunning || engine.isFenced) continue
      for (const view of broker.connections()) if (view.clientId === clientId) at.push(node.name)
    }
    return at
  }

  #read(): boolean {
    const { schedule } = this.#world
    let isBusy = false
    for (const robot of this.#robots.values()) {
      const channel = this.#stepped.get(robot)
      if (channel === undefined) {
        for (; robot.hasPackets; isBusy = true) robot.take()
      } else if (robot.hasPackets && !schedule.hasPosted(channel)) {
        schedule.post(channel, `${robot.clientId} takes a packet`, () => robot.take())
      }
      const at = this.#liveAt(robot.clientId)
      if (at.length > 1) this.#world.errors.push(`“${robot.clientId}” is connected at ${at.join(' and ')}`)
    }
    return isBusy
  }

  get #isDone(): boolean {
    return [...this.#robots.values()].every((robot) => robot.isDone && robot.isOpen && !robot.hasPackets)
  }

  #do({ robot: clientId, connect, publish, drop, end }: Step): void {
    const robot = this.#robots.get(clientId) as Robot
    if (drop === true) robot.drop()
    if (publish !== undefined) robot.publish(publish)
    if (end !== undefined) this.#world.leave(this.#world.get(end))
    const at = connect === undefined ? undefined : this.#world.get(connect)
    if (at !== undefined && (at.node.isSilent || this.#world.online.includes(at))) robot.connect(at)
  }
}
