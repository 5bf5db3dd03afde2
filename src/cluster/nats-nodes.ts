/**
 * The nodes of a deployment over NATS: the bus, the living nodes, the homes of things, and the
 * heirs of dead nodes. It has a connection of its own, so that much traffic of the engine does not
 * hold heartbeats up.
 */
import assert from 'node:assert'
import { randomBytes } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
import { systemClock } from '../clock.ts'
import type { Clock } from '../clock.ts'
import type { StateEntry } from '../broker/ports/engine.ts'
import { NatsLink } from '../engine/nats/nats-link.ts'
import { silentLogger } from '../logger.ts'
import type { Logger } from '../logger.ts'
import type { Inheritance, LivingNode, LostNode, NodeId, Nodes } from '../nodes.ts'
import { Heartbeats } from './heartbeats.ts'
import { Inheritances } from './inheritances.ts'
import { lostNodes } from './lost-nodes.ts'
import { NatsBus } from './nats-bus.ts'
import { NatsHomes } from './nats-homes.ts'
import { NodeRecords, isAtHome } from './node-records.ts'
import type { KnownRecord } from './node-records.ts'
import type { HomeKeyOf, NodeSpaces } from './node-spaces.ts'
import { PlaceTaking } from './place-taking.ts'
import { RecordStream } from './record-stream.ts'

/** Own heartbeats between two looks at the records. */
const ECHOES_PER_LOOK = 2
/** After this time without an own heartbeat a node is cut off. The others wait for 3 s, ms. */
const CUT_OFF_MS = 2_000
/** The kind of a cast: a record has changed. The body is its sequence, as decimal digits. */
const CHANGED = 'nodes.changed'

export interface NatsNodesOptions {
  /** Opens the connection, with `reconnectToServer: anotherServer`. The nodes close it. */
  readonly connect: () => Promise<NatsConnection>
  /** Begins the names of all streams and subjects. Default: `fieldgate`. */
  readonly prefix?: string
  /** The name of the node: letters, digits, `-` and `_`. */
  readonly name: string
  /** 16 hexadecimal digits. Default: drawn. */
  readonly incarnation?: string
  /** The version of Fieldgate. */
  readonly version: string
  /** Servers that have each record. Default: 3. */
  readonly replicas?: number
  readonly homeKeyOf: HomeKeyOf
  /** The entries of a dead node as this node keeps them. Default: as they are. */
  readonly entriesOfHeir?: (entries: readonly StateEntry[]) => readonly StateEntry[]
  /** Told once: another process is or becomes the heir of this one, which has to end. */
  readonly replaced: () => void
  readonly clock?: Clock
  readonly logger?: Logger
}

export class NatsNodes implements Nodes {
  readonly bus: NatsBus
  readonly homes: NatsHomes
  readonly #options: NatsNodesOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #self: NodeId
  readonly #link: NatsLink
  readonly #streams: readonly RecordStream[]
  readonly #heartbeats: Heartbeats
  readonly #records: NodeRecords
  readonly #heirs: ((inheritance: Inheritance) => Promise<void>)[] = []
  readonly #mourners: ((node: NodeId) => void)[] = []
  /** The nodes that were told to be gone. */
  readonly #gone = new Set<string>()
  #inheritances: Inheritances | undefined
  #echoes = 0
  #isReplaced = false
  #hasLeft = false
  #hasForeignState = false
  /** The question whether this process has an heir. Never rejects. */
  #question: Promise<void> = Promise.resolve()
  #nextQuestion: Promise<void> | undefined

  private constructor(options: NatsNodesOptions, link: NatsLink) {
    const { prefix = 'fieldgate', name, incarnation = randomBytes(8).toString('hex'), version, replicas = 3 } = options
    const { clock = systemClock, logger = silentLogger } = options
    const { connection } = link
    const self = { name, incarnation }
    this.#options = options
    this.#clock = clock
    this.#logger = logger
    this.#self = self
    this.#link = link
    const living = (): readonly LivingNode[] => this.living()
    this.bus = new NatsBus({ connection, clock, self, prefix, living })
    const beats = `${prefix}.beat`
    this.#heartbeats = new Heartbeats({
      clock,
      self,
      version,
      send: (bytes) => {
        if (!connection.isClosed()) connection.publish(beats, bytes)
      },
      silent: (node) => this.#lose(node),
      heard: ({ incarnation: of }) => this.#heard(of),
      echo: () => this.#echo(),
      stuck: () => void connection.reconnect().catch(() => undefined),
    })
    connection.subscribe(beats, {
      callback: (error, { data }) => {
        if (error === null) this.#heartbeats.hear(data)
      },
    })
    const stream = (of: string): RecordStream =>
      new RecordStream({ link, clock, stream: `${prefix}-${of}`, replicas, incarnation })
    const [records, claims] = [stream('nodes'), stream('claims')]
    this.#streams = [records, claims]
    this.#records = new NodeRecords({
      records,
      link,
      clock,
      isHeard: (of) => this.#heartbeats.isHeard(of),
      changed: (known) => this.#changed(known),
      stored: (sequence) => this.bus.cast(CHANGED, Buffer.from(`${sequence}`)),
    })
    this.bus.hear(CHANGED, (body) => void this.#look(Number(body.toString())))
    const assertOwn = (): Promise<void> => this.#assertOwn()
    this.homes = new NatsHomes({ claims, nodes: this.#records, link, clock, self, assertOwn })
  }

  /**
   * Joins the deployment: makes the streams that are missing, learns the living nodes, and takes
   * the place of an earlier process with the same name. Resolves when this process may open its
   * node's state: an earlier process's state is in it, or an heir has that, and it is empty. Throws
   * a sentence for people.
   */
  static async join(options: NatsNodesOptions): Promise<NatsNodes> {
    assert(/^[\w-]+$/.test(options.name))
    const link = await NatsLink.over(await options.connect(), options.clock ?? systemClock)
    const nodes = new NatsNodes(options, link)
    try {
      await nodes.#join()
      return nodes
    } catch (error) {
      await nodes.close()
      throw error
    }
  }

  /** The node takes new clients, and may become an heir. */
  get isReady(): boolean {
    return this.#heartbeats.isReady
  }

  set isReady(isReady: boolean) {
    this.#heartbeats.isReady = isReady
  }

  /**
   * The state that is stored for this node is that of an earlier process, and an heir with another
   * name has it by now. It is to be forgotten before the node opens its state.
   */
  get hasForeignState(): boolean {
    return this.#hasForeignState
  }

  get isCutOff(): boolean {
    return this.#isReplaced || this.#heartbeats.deafMs >= CUT_OFF_MS
  }

  living(): readonly LivingNode[] {
    return this.#heartbeats.living().filter(({ incarnation }) => {
      const record = this.#records.get(incarnation)?.record
      return incarnation === this.#self.incarnation || record === undefined || isAtHome(record)
    })
  }

  lost(): readonly LostNode[] {
    return lostNodes(this.#records, new Set(this.living().map(({ name }) => name)))
  }

  onInherited(listener: (inheritance: Inheritance) => Promise<void>): void {
    this.#heirs.push(listener)
  }

  async successorOf({ incarnation }: NodeId, timeoutMs: number): Promise<NodeId> {
    return (await this.#records.resolve(incarnation, timeoutMs)).node
  }

  onGone(listener: (node: NodeId) => void): void {
    this.#mourners.push(listener)
  }

  /**
   * Tells that this process has its own state, and answers for its things: they are found here from
   * now on. It becomes the heir of other nodes from now on. Call it when all listeners are there,
   * and the handlers of the bus.
   */
  async begin(spaces: NodeSpaces): Promise<void> {
    assert(this.#inheritances === undefined, 'a node begins once')
    await this.#records.look()
    for (const { incarnation, record, sequence } of this.#records.unmerged()) {
      if (record.heir !== this.#self.incarnation) continue
      await this.#records.change(incarnation, { ...record, stage: 'merged' }, sequence)
    }
    this.#inheritances = new Inheritances({
      nodes: this.#records,
      homes: this.homes,
      spaces,
      homeKeyOf: this.#options.homeKeyOf,
      entriesOfHeir: this.#options.entriesOfHeir ?? ((entries) => entries),
      clock: this.#clock,
      logger: this.#logger,
      self: this.#self,
      living: () => this.living(),
      isSilent: (incarnation) => !this.#isAlive(incarnation),
      listeners: this.#heirs,
    })
    void this.#inheritances.sweep()
  }

  /** Becomes nobody's heir any more. Call it before the engine closes. */
  async drain(): Promise<void> {
    this.isReady = false
    await this.#inheritances?.close()
  }

  /**
   * Ends in order, after the engine has closed: another node becomes the heir at once. Rejects when
   * the servers do not answer; then another node becomes the heir as of a dead node.
   */
  async leave(): Promise<void> {
    await this.drain()
    this.#hasLeft = true
    try {
      const own = await this.#records.read(this.#self.incarnation)
      if (own !== undefined && isAtHome(own.record)) {
        const left = { ...own.record, state: 'left', endedAtMs: this.#clock.now() } as const
        await this.#records.change(own.incarnation, left, own.sequence)
      }
      await this.#link.connection.flush()
    } finally {
      await this.close()
    }
  }

  /** Ends without a word, as a process that dies. */
  async close(): Promise<void> {
    this.#hasLeft = true
    this.#heartbeats.close()
    this.homes.close()
    await this.#link.connection.close()
    await this.#inheritances?.close()
  }

  async #join(): Promise<void> {
    for (const stream of this.#streams) await stream.prepare()
    await this.#heartbeats.begin()
    const place = new PlaceTaking({
      records: this.#records,
      clock: this.#clock,
      self: this.#self,
      isAlive: (incarnation) => this.#isAlive(incarnation),
      fence: () => this.homes.fence(),
    })
    this.#hasForeignState = (await place.take()) === 'foreign'
    await this.#assertOwn()
  }

  /** True: the process is heard, or this one has not listened for long enough. */
  #isAlive(incarnation: string): boolean {
    return this.#heartbeats.isHeard(incarnation) || !this.#heartbeats.isCertain
  }

  /**
   * Rejects when this process has an heir. The question is asked after the call. All calls that
   * come while an earlier question is under way share the next one.
   */
  #assertOwn(): Promise<void> {
    this.#nextQuestion ??= this.#question.then(() => {
      const asked = this.#askWhetherOwn()
      this.#question = asked.catch(() => undefined)
      this.#nextQuestion = undefined
      return asked
    })
    return this.#nextQuestion
  }

  async #askWhetherOwn(): Promise<void> {
    const own = await this.#records.read(this.#self.incarnation)
    if (own === undefined || !isAtHome(own.record)) {
      throw new Error(`Another process is in the place of the node “${this.#self.name}”.`)
    }
  }

  #echo(): void {
    this.#echoes += 1
    if (this.#echoes % ECHOES_PER_LOOK === 0) void this.#look(0)
  }

  async #look(sequence: number): Promise<void> {
    if (this.#hasLeft) return
    await this.#records.look()
    await this.#records.lookUntil(sequence)
    await this.#inheritances?.sweep()
  }

  #changed({ incarnation, record }: KnownRecord): void {
    if (isAtHome(record)) return
    if (incarnation !== this.#self.incarnation) {
      if (record.stage !== 'merged' || this.#heartbeats.isHeard(incarnation)) {
        this.#lose({ name: record.name, incarnation })
      }
      return
    }
    if (record.heir === undefined || this.#isReplaced) return
    this.#isReplaced = true
    this.#logger.error({ node: record.name, heir: record.heir }, 'node.replaced')
    this.#options.replaced()
  }

  /** A node that was only slow may be gone once more later. */
  #heard(incarnation: string): void {
    const record = this.#records.get(incarnation)?.record
    if (record === undefined || isAtHome(record)) this.#gone.delete(incarnation)
  }

  /** Tells once that a node is gone. */
  #lose(node: NodeId): void {
    this.#heartbeats.forget(node.incarnation)
    this.bus.gone(node.incarnation)
    if (this.#gone.has(node.incarnation)) return
    this.#gone.add(node.incarnation)
    this.#logger.warn({ node: node.name, incarnation: node.incarnation }, 'node.gone')
    for (const listener of this.#mourners) listener(node)
  }
}
