/**
 * What the service tells of itself at a glance. It takes a sample every few seconds, and looks at
 * the rest when it is asked.
 */
import type { Broker } from '../broker/broker.ts'
import type { Clock } from '../identity/store/clock.ts'
import type { LoadSample, PartHealth, ServiceNumbers, ServiceStatus } from '../http/operation/status.ts'

/** Ticks between two samples. */
const SAMPLE_TICKS = 5
/** A quarter of an hour. */
const MAXIMUM_SAMPLES = 180
/** The least that a volume should have free: less than this is soon nothing. */
const LEAST_FREE_BYTES = 268_435_456

/** What the status is made of. */
export interface StatusParts {
  readonly version: string
  readonly clock: Clock
  readonly broker: Pick<Broker, 'counters' | 'isClosing'>
  readonly engine: Pick<Broker['engine'], 'health' | 'usage'>
  /** Undefined where messages live as long as the process. */
  readonly retention: ServiceNumbers['retention']
  /** Rejects when the registry can't be read. */
  readonly readRegistry: () => Promise<unknown>
  /** Of the data directory's volume. Rejects where the system does not tell. */
  readonly disk: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>
  /** How late the event loop was at most since the last call, in ms. */
  readonly takeEventLoopDelayMs: () => number
  readonly memoryBytes: () => number
}

type Sums = Pick<Broker['counters'], 'publishesReceived' | 'publishesSent' | 'bytesReceived' | 'bytesSent'>

export class SampledStatus implements ServiceStatus {
  readonly version: string
  readonly startedAtMs: number
  readonly #parts: StatusParts
  readonly #load: LoadSample[] = []
  #ticks = 0
  /** By the clock that is never set, like the next one. */
  readonly #beganMs: number
  #sampledMs: number
  #sums: Sums

  constructor(parts: StatusParts) {
    this.#parts = parts
    this.version = parts.version
    this.startedAtMs = parts.clock.now()
    this.#beganMs = parts.clock.elapsedMs()
    this.#sampledMs = this.#beganMs
    this.#sums = { ...parts.broker.counters }
  }

  uptimeMs(): number {
    return this.#parts.clock.elapsedMs() - this.#beganMs
  }

  /** To be called about once a second. */
  tick(): void {
    this.#ticks += 1
    if (this.#ticks % SAMPLE_TICKS !== 0) return
    const { clock, broker } = this.#parts
    const elapsedMs = clock.elapsedMs()
    const seconds = Math.max((elapsedMs - this.#sampledMs) / 1000, 1)
    const { counters } = broker
    const since = this.#sums
    this.#load.push({
      atMs: clock.now(),
      messagesInPerSecond: (counters.publishesReceived - since.publishesReceived) / seconds,
      messagesOutPerSecond: (counters.publishesSent - since.publishesSent) / seconds,
      bytesInPerSecond: (counters.bytesReceived - since.bytesReceived) / seconds,
      bytesOutPerSecond: (counters.bytesSent - since.bytesSent) / seconds,
      connections: counters.connections,
      eventLoopDelayMs: this.#parts.takeEventLoopDelayMs(),
    })
    if (this.#load.length > MAXIMUM_SAMPLES) this.#load.shift()
    this.#sampledMs = elapsedMs
    this.#sums = { ...counters }
  }

  async health(): Promise<readonly PartHealth[]> {
    const { broker, engine } = this.#parts
    const messages = engine.health()
    return [
      part('broker', broker.isClosing ? 'the service is shutting down' : ''),
      { name: 'messages', isWell: messages.canWrite, reason: messages.reason },
      part('registry', await this.#registryFault()),
      part('disk', await this.#diskFault()),
    ]
  }

  async numbers(): Promise<ServiceNumbers> {
    const { broker, engine, retention, memoryBytes } = this.#parts
    const { connections, sessions, subscriptions } = broker.counters
    return {
      connections,
      sessions,
      subscriptions,
      stored: engine.usage(),
      retention,
      disk: await this.#disk(),
      memoryBytes: memoryBytes(),
      load: this.#load,
    }
  }

  async #registryFault(): Promise<string> {
    try {
      await this.#parts.readRegistry()
      return ''
    } catch {
      return 'the registry can not be read'
    }
  }

  async #diskFault(): Promise<string> {
    const free = (await this.#disk())?.freeBytes ?? Infinity
    if (free >= LEAST_FREE_BYTES) return ''
    return `the data directory has ${Math.floor(free / 1_048_576)} MiB free, which is little`
  }

  #disk(): Promise<ServiceNumbers['disk']> {
    return this.#parts.disk().catch(() => undefined)
  }
}

function part(name: PartHealth['name'], reason: string): PartHealth {
  return { name, isWell: reason === '', reason }
}
