/**
 * A durable engine that owns requests when the test says so, and loses the others when its process
 * crashes.
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
import { SurvivingEngine } from './surviving-engine.ts'

/** The disk that outlives the processes. */
export class SlowDisk {
  readonly #owned = new SurvivingEngine()

  /** An engine for the next process. */
  mount(): SlowEngine {
    return new SlowEngine(this.#owned)
  }
}

export class SlowEngine implements Engine {
  readonly partitions: number
  readonly isDurable = true
  readonly #owned: SurvivingEngine
  #waiting: (() => void)[] = []
  #hasCrashed = false

  constructor(owned: SurvivingEngine) {
    this.#owned = owned
    this.partitions = owned.partitions
  }

  /** Owns the first `count` of the waiting requests. */
  sync(count = Infinity): void {
    for (const forward of this.#waiting.splice(0, count)) forward()
  }

  /** Waiting requests are lost, and their callers are gone. */
  crash(): void {
    this.#hasCrashed = true
    this.#waiting = []
  }

  open(readers: LogReaders, arrivals: Arrivals): Promise<void> {
    return this.#owned.open(readers, arrivals)
  }

  tail(partition: number): number {
    return this.#owned.tail(partition)
  }

  offsetAt(partition: number, timeMs: number): Promise<number> {
    return this.#owned.offsetAt(partition, timeMs)
  }

  append(partition: number, request: AppendRequest): void {
    if (!this.#hasCrashed) this.#waiting.push(() => this.#owned.append(partition, request))
  }

  write(request: StateRequest): void {
    if (!this.#hasCrashed) this.#waiting.push(() => this.#owned.write(request))
  }

  load(prefix: string): AsyncIterable<StateEntry> {
    return this.#owned.load(prefix)
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult> {
    return this.#owned.read(partition, from, maximumMessages)
  }

  scan(query: ScanQuery): Promise<ScanResult> {
    return this.#owned.scan(query)
  }

  usage(): EngineUsage {
    return this.#owned.usage()
  }

  storedBytesOf(tenant: string): number {
    return this.#owned.storedBytesOf(tenant)
  }

  tenants(): Iterable<string> {
    return this.#owned.tenants()
  }

  health(): EngineHealth {
    return this.#owned.health()
  }

  close(): Promise<void> {
    this.sync()
    return Promise.resolve()
  }
}
