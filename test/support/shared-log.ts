/** One log in memory for several brokers, each with a state of its own: nodes of a deployment. */
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
  StateChange,
  StateEntry,
  StateRequest,
} from '../../src/broker/ports/engine.ts'
import { NOBODY_FOLLOWS } from '../../src/broker/ports/engine.ts'
import type { Message } from '../../src/broker/ports/message.ts'
import { SurvivingEngine } from './surviving-engine.ts'

export class SharedLog {
  readonly log = new SurvivingEngine({ partitions: 2 })
  readonly views = new Set<LogView>()
  /** The view that appended a message. */
  readonly origins = new WeakMap<Message, LogView>()

  static async open(): Promise<SharedLog> {
    const shared = new SharedLog()
    await shared.log.open({ lowestNeeded: () => 0 }, { arrived: (message) => shared.#arrived(message) })
    return shared
  }

  /** The engine of a node; with the state of an earlier process of the node, or an empty one. */
  join(state = new Map<string, Buffer>()): LogView {
    const view = new LogView(this, state)
    this.views.add(view)
    return view
  }

  #arrived(message: Message): void {
    for (const view of this.views) {
      view.arrived(this.origins.get(message) === view ? message : message.withoutForms())
    }
  }
}

export class LogView implements Engine {
  readonly partitions = 2
  readonly isDurable = true
  readonly state: Map<string, Buffer>
  /** Arrivals that are held up; undefined: they come at once. */
  #held: Message[] | undefined = undefined
  readonly #shared: SharedLog
  readonly #tails = [0, 0]
  #arrivals: Arrivals = NOBODY_FOLLOWS
  #isDead = false

  constructor(shared: SharedLog, state: Map<string, Buffer>) {
    this.#shared = shared
    this.state = state
  }

  /** The node has died: the log and the state take nothing more of it. */
  kill(): void {
    this.#isDead = true
    this.#shared.views.delete(this)
  }

  /** The node falls behind the log until `goOn`. */
  hold(): void {
    this.#held ??= []
  }

  goOn(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const message of held) this.arrived(message)
  }

  entries(): StateEntry[] {
    return [...this.state].map(([key, value]) => ({ key, value }))
  }

  arrived(message: Message): void {
    if (this.#held !== undefined) {
      this.#held.push(message)
      return
    }
    this.#tails[message.partition] = message.offset + 1
    this.#arrivals.arrived(message)
  }

  open(_readers: LogReaders, arrivals: Arrivals): Promise<void> {
    this.#arrivals = arrivals
    for (let partition = 0; partition < 2; partition += 1) this.#tails[partition] = this.#shared.log.tail(partition)
    return Promise.resolve()
  }

  tail(partition: number): number {
    return this.#tails[partition] ?? 0
  }

  offsetAt(partition: number, timeMs: number): Promise<number> {
    return this.#shared.log.offsetAt(partition, timeMs)
  }

  append(partition: number, request: AppendRequest): void {
    if (this.#isDead) return
    this.#shared.origins.set(request.message, this)
    const { message, owner } = request
    this.#shared.log.append(partition, {
      message,
      owner,
      committed: (offset) => {
        if (this.#isDead) return
        this.#apply(request.changes ?? [])
        request.committed(offset)
      },
      failed: (failure) => request.failed(failure),
    })
  }

  write(request: StateRequest): void {
    if (this.#isDead) return
    this.#shared.log.write({
      changes: [],
      committed: () => {
        if (this.#isDead) return
        this.#apply(request.changes)
        request.committed()
      },
      failed: (failure) => request.failed(failure),
    })
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    for (const key of [...this.state.keys()].toSorted()) {
      const value = this.state.get(key)
      if (value !== undefined && key.startsWith(prefix)) yield { key, value }
    }
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult {
    const most = Math.max(0, Math.min(maximumMessages, this.tail(partition) - from))
    return this.#shared.log.read(partition, from, most)
  }

  scan(query: ScanQuery): Promise<ScanResult> {
    return this.#shared.log.scan(query)
  }

  health(): EngineHealth {
    return this.#shared.log.health()
  }

  usage(): EngineUsage {
    return this.#shared.log.usage()
  }

  storedBytesOf(): number {
    return 0
  }

  tenants(): Iterable<string> {
    return []
  }

  async close(): Promise<void> {
    this.kill()
  }

  #apply(changes: readonly StateChange[]): void {
    for (const { key, value } of changes) {
      if (value === undefined) this.state.delete(key)
      else this.state.set(key, Buffer.from(value))
    }
  }
}
