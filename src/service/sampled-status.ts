/**
 * The status of the service: health, numbers and load. The load is sampled every few seconds;
 * health and numbers are read when they are asked for.
 */
import type { Broker } from '../broker/broker.ts'
import type { Clock, SteadyMs } from '../clock.ts'
import type { ServerStatus } from '../http/operation/server-status.ts'
import type { LoadSample, PartHealth, ServiceNumbers, ServiceStatus } from '../http/operation/status.ts'

/** The number of ticks between two samples. */
const SAMPLE_TICKS = 5
/** The load of a quarter of an hour is kept. */
const MAXIMUM_SAMPLES = 180
/** A volume with less free space than this is reported as unhealthy: it is soon full. */
const LEAST_FREE_BYTES = 268_435_456

/** The parts of the service that the status reads. */
export interface StatusParts {
  readonly version: string
  readonly runtime: string
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly broker: Pick<Broker, 'counters' | 'isClosing' | 'isDraining'>
  readonly engine: Pick<Broker['engine'], 'health' | 'usage'>
  /** Undefined when messages are kept in memory. */
  readonly retention: ServiceNumbers['retention']
  /** Rejects when the registry can't be read. */
  readonly readRegistry: () => Promise<unknown>
  /** Reads the space of the data directory's volume. Rejects when the system can't tell it. */
  readonly disk: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>
  /** The longest delay of the event loop since the last call, in ms. */
  readonly takeEventLoopDelayMs: () => number
  readonly memoryBytes: () => number
  /** The bounds that organizations have nearly reached. */
  readonly nearBounds: { readonly nearest: ServiceNumbers['nearBounds'] }
  /** The servers that keep messages and the registry; empty where this process keeps them. */
  readonly readServers: () => Promise<readonly ServerStatus[]>
}

type Sums = Pick<Broker['counters'], 'publishesReceived' | 'publishesSent' | 'bytesReceived' | 'bytesSent'>

/** The status that the HTTP interface shows. */
export class SampledStatus implements ServiceStatus {
  readonly version: string
  readonly runtime: string
  readonly startedAtMs: number
  readonly #parts: StatusParts
  readonly #load: LoadSample[] = []
  #ticks = 0
  /** The start of the service by the clock that never steps. */
  readonly #beganMs: SteadyMs
  /** The time of the last sample by the clock that never steps. */
  #sampledMs: SteadyMs
  /** The broker's counters at the last sample. */
  #sums: Sums

  constructor(parts: StatusParts) {
    this.#parts = parts
    this.version = parts.version
    this.runtime = parts.runtime
    this.startedAtMs = parts.clock.now()
    this.#beganMs = parts.clock.steady()
    this.#sampledMs = this.#beganMs
    this.#sums = { ...parts.broker.counters }
  }

  uptimeMs(): number {
    return this.#parts.clock.steady() - this.#beganMs
  }

  /** Takes a sample when one is due. The owner calls it about once a second. */
  tick(): void {
    this.#ticks += 1
    if (this.#ticks % SAMPLE_TICKS !== 0) return
    const { clock, broker } = this.#parts
    const nowMs = clock.steady()
    const seconds = Math.max((nowMs - this.#sampledMs) / 1000, 1)
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
    this.#sampledMs = nowMs
    this.#sums = { ...counters }
  }

  async health(): Promise<readonly PartHealth[]> {
    const { broker, engine } = this.#parts
    const messages = engine.health()
    return [
      part('broker', brokerFault(broker)),
      { name: 'messages', isWell: messages.canWrite, reason: messages.reason },
      part('registry', await this.#registryFault()),
      part('disk', await this.#diskFault()),
    ]
  }

  servers(): Promise<readonly ServerStatus[]> {
    return this.#parts.readServers()
  }

  async numbers(): Promise<ServiceNumbers> {
    const { broker, engine, retention, memoryBytes, nearBounds } = this.#parts
    const { connections, sessions, subscriptions } = broker.counters
    return {
      connections,
      sessions,
      subscriptions,
      stored: engine.usage(),
      retention,
      disk: await this.#disk(),
      memoryBytes: memoryBytes(),
      nearBounds: nearBounds.nearest,
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

function brokerFault({ isClosing, isDraining }: StatusParts['broker']): string {
  if (isClosing) return 'the service is shutting down'
  return isDraining ? 'the service drains: its clients are sent away, and then it ends' : ''
}

function part(name: PartHealth['name'], reason: string): PartHealth {
  return { name, isWell: reason === '', reason }
}
