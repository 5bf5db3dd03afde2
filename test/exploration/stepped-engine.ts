/**
 * The engine of a node whose servers and answers are events of the schedule. All that a node has
 * under way is stored in one envelope.
 */
import type {
  AppendRequest,
  Arrivals,
  Engine,
  EngineHealth,
  EngineUsage,
  LogReaders,
  ReadResult,
  ScanQuery,
  ScanResult,
  StateEntry,
  StateRequest,
} from '../../src/broker/ports/engine.ts'
import { NOBODY_FOLLOWS } from '../../src/broker/ports/engine.ts'
import { ReasonCodes } from '../../src/mqtt/reason-codes.ts'
import type { LogView, SharedLog } from '../support/shared-log.ts'
import type { Channel, Schedule } from './schedule.ts'

const CLOSING = { reasonCode: ReasonCodes.quotaExceeded, reason: 'The log is closing.' }

/** The node, as its engine needs it. */
export interface EngineNode {
  readonly name: string
  /** The servers hear the node, and the node hears them. */
  readonly isOnline: boolean
  /** The process runs. */
  readonly isRunning: boolean
}

export class SteppedEngine implements Engine {
  readonly partitions = 2
  readonly isDurable = true
  readonly #view: LogView
  readonly #schedule: Schedule
  readonly #node: EngineNode
  readonly #toServers: Channel
  readonly #fromServers: Channel
  readonly #tails = [0, 0]
  #outgoing: (() => void)[] = []
  #incoming: (() => void)[] = []
  #arrivals: Arrivals = NOBODY_FOLLOWS
  /** Nothing more of the node is stored. */
  isFenced = false
  /** Called when everything is stored and told; undefined: the engine does not close. */
  #idle: (() => void) | undefined
  #underWay = 0

  constructor(schedule: Schedule, node: EngineNode, log: SharedLog, state: Map<string, Buffer>) {
    this.#schedule = schedule
    this.#node = node
    this.#view = log.join(state)
    // The writes of a silent node may come through, up to the fence.
    this.#toServers = { name: `${node.name} stores`, isOpen: () => !this.isFenced }
    this.#fromServers = { name: `${node.name} reads`, isOpen: () => node.isOnline }
  }

  /** The state as the servers have it. */
  get state(): Map<string, Buffer> {
    return this.#view.state
  }

  /** Nothing more of the node is stored. */
  fence(): void {
    this.isFenced = true
    this.#view.kill()
  }

  entries(): StateEntry[] {
    return this.#view.entries().toSorted((one, other) => (one.key < other.key ? -1 : 1))
  }

  async open(readers: LogReaders, arrivals: Arrivals): Promise<void> {
    this.#arrivals = arrivals
    await this.#view.open(readers, {
      arrived: (message) =>
        this.#hear(() => {
          this.#tails[message.partition] = message.offset + 1
          this.#arrivals.arrived(message)
        }),
    })
    for (const partition of this.#tails.keys()) this.#tails[partition] = this.#view.tail(partition)
  }

  tail(partition: number): number {
    return this.#tails[partition] ?? 0
  }

  append(partition: number, request: AppendRequest): void {
    const { message, owner, changes } = request
    this.#take(request, (told) =>
      this.#view.append(partition, {
        message,
        owner,
        changes,
        committed: (offset) => told(() => request.committed(offset)),
        failed: (failure) => told(() => request.failed(failure)),
      }),
    )
  }

  write(request: StateRequest): void {
    this.#take(request, (told) =>
      this.#view.write({
        changes: request.changes,
        committed: () => told(() => request.committed()),
        failed: (failure) => told(() => request.failed(failure)),
      }),
    )
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    yield* this.#view.load(prefix)
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult {
    const most = Math.max(0, Math.min(maximumMessages, this.tail(partition) - from))
    return this.#view.read(partition, from, most)
  }

  offsetAt(partition: number, timeMs: number): Promise<number> {
    return this.#view.offsetAt(partition, timeMs)
  }

  scan(query: ScanQuery): Promise<ScanResult> {
    return this.#view.scan(query)
  }

  health(): EngineHealth {
    return this.#view.health()
  }

  usage(): EngineUsage {
    return this.#view.usage()
  }

  storedBytesOf(): number {
    return 0
  }

  tenants(): Iterable<string> {
    return []
  }

  /** Takes nothing more, and waits for what is under way. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle = resolve
    if (this.#underWay === 0) resolve()
    await promise
  }

  /** Stores a request, and tells its sender; refuses it when the engine is about to close. */
  #take(request: Pick<AppendRequest, 'failed'>, run: (told: (tell: () => void) => void) => void): void {
    if (this.#idle !== undefined) {
      queueMicrotask(() => request.failed(CLOSING))
      return
    }
    this.#underWay += 1
    this.#send(() =>
      run((tell) =>
        this.#hear(() => {
          tell()
          this.#underWay -= 1
          if (this.#underWay === 0) this.#idle?.()
        }),
      ),
    )
  }

  #send(run: () => void): void {
    if (!this.#node.isRunning) return
    this.#outgoing.push(run)
    if (this.#schedule.hasPosted(this.#toServers)) return
    this.#schedule.post(this.#toServers, this.#toServers.name, () => {
      for (const store of this.#outgoing.splice(0)) store()
    })
  }

  #hear(run: () => void): void {
    this.#incoming.push(run)
    if (this.#schedule.hasPosted(this.#fromServers)) return
    this.#schedule.post(this.#fromServers, this.#fromServers.name, () => {
      for (const take of this.#incoming.splice(0)) take()
    })
  }
}
