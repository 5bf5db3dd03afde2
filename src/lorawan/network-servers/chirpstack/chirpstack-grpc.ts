/**
 * ChirpStack v4 by its gRPC API: each downlink gets an answer, and its tenants, applications and
 * devices come into the registry.
 */
import type { Clock } from '../../../clock.ts'
import type { Downlink, EventSink, HandOverAnswer, NetworkServer } from '../../commands/network-server.ts'
import type { BackoffSettings } from '../adapter/backoff.ts'
import { Backoff } from '../adapter/backoff.ts'
import type { ChirpStackApi } from './chirpstack-api.ts'
import { ChirpStackDownlinks } from './chirpstack-downlinks.ts'
import type { ChirpStackSync, SyncReport } from './chirpstack-sync.ts'
import { counted } from '../adapter/counters.ts'
import type { NetworkServerCounters } from '../adapter/counters.ts'
import { faultOf } from './grpc-fault.ts'
import type { Logger } from '../../../logger.ts'
import { Offering } from '../adapter/offering.ts'

/** The rounds of a synchronisation, and the applications that are known to be ChirpStack's. */
export interface Synchronisation extends Pick<ChirpStackSync, 'applications' | 'stop'> {
  /** Undefined for a round that has nothing to report. */
  run(): Promise<SyncReport | undefined>
}

export interface ChirpStackGrpcParts {
  readonly api: ChirpStackApi
  readonly sync: Synchronisation
  /** From the end of one synchronisation to the beginning of the next. */
  readonly syncIntervalMs: number
  readonly sink: EventSink
  readonly clock: Pick<Clock, 'steady' | 'after'>
  readonly backoff: BackoffSettings
  readonly counters: NetworkServerCounters
  readonly log: Logger
}

const CLOSED: HandOverAnswer = { outcome: 'away', reason: 'the service is shutting down' }
const PAUSING: HandOverAnswer = {
  outcome: 'away',
  reason: 'it could not be asked a moment ago, and is asked again soon',
}

/** How long one attempt to reach ChirpStack lasts. It also bounds the rate of attempts. */
const REACHING_MS = 60_000

export class ChirpStackGrpc implements NetworkServer {
  readonly name: string
  readonly judges = true
  readonly givesIds = true
  readonly takesObjects = true
  readonly #parts: ChirpStackGrpcParts
  readonly #downlinks: ChirpStackDownlinks
  readonly #offering: Offering
  readonly #syncBackoff: Backoff
  #cancelSync: () => void = () => {}
  #syncing: Promise<void>
  #isClosed = false

  /** Starts the first synchronisation at once; the others follow by themselves. */
  constructor(name: string, parts: ChirpStackGrpcParts) {
    this.name = name
    this.#parts = parts
    this.#downlinks = new ChirpStackDownlinks({ api: parts.api, clock: parts.clock })
    this.#offering = new Offering(this, parts.sink, parts.clock, parts.backoff)
    this.#syncBackoff = new Backoff(parts.backoff)
    this.#syncing = this.#synchronise()
    void this.#tellWhenReachable()
  }

  serves(applicationId: string): boolean {
    return this.#parts.sync.applications.has(applicationId)
  }

  async handOver(downlink: Downlink): Promise<HandOverAnswer> {
    // A ChirpStack that is away is asked again after a while, however many downlinks are offered
    // until then.
    if (this.#isClosed || this.#offering.isPausing) return this.#isClosed ? CLOSED : PAUSING
    const answer = await this.#downlinks.offer(downlink)
    if (answer.outcome === 'away') this.#offering.failed(answer.isOfDevice === true)
    else this.#offering.succeeded()
    return counted(this.#parts.counters, answer)
  }

  flush(devEui: string): Promise<readonly string[]> {
    return this.#downlinks.flush(devEui)
  }

  /** Stops the synchronisation at its next step. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelSync()
    this.#offering.close()
    this.#parts.sync.stop()
    this.#parts.api.close()
    await this.#syncing
  }

  async #tellWhenReachable(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#parts.api.whenReachable(REACHING_MS)
        if (!this.#isClosed) this.#parts.sink.ready(this)
        return
      } catch {
        // The attempt lasted `REACHING_MS`, which bounds the speed of this loop.
      }
    }
  }

  async #synchronise(): Promise<void> {
    const { sync, log, counters, syncIntervalMs, clock, sink } = this.#parts
    let waitMs = syncIntervalMs
    try {
      const found = sync.applications.size
      const report = await sync.run()
      this.#syncBackoff.reset()
      if (report !== undefined) {
        counters.synchronisations += 1
        log.info({ networkServer: this.name, ...report }, 'network_server.synchronised')
      }
      // Commands may wait for an application that was not known to be ChirpStack's.
      if (sync.applications.size !== found && !this.#isClosed) sink.ready(this)
    } catch (error) {
      counters.failures += 1
      waitMs = Math.min(this.#syncBackoff.next(), syncIntervalMs)
      if (!this.#isClosed) {
        log.warn({ networkServer: this.name, reason: faultOf(error).reason, waitMs }, 'network_server.sync_failed')
      }
    }
    if (this.#isClosed) return
    this.#cancelSync = clock.after(waitMs, () => {
      this.#syncing = this.#synchronise()
    })
  }
}
