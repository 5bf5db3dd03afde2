/** ChirpStack v4 by its gRPC API: downlinks with an answer to each, and its tenants, applications and devices in the registry. */
import grpc from '@grpc/grpc-js'
import type { Downlink, EventSink, HandOver, NetworkServer } from '../network-server.ts'
import type { BackoffSettings } from './backoff.ts'
import { Backoff } from './backoff.ts'
import type { ChirpStackApi } from './chirpstack-api.ts'
import type { ChirpStackSync } from './chirpstack-sync.ts'
import { counted } from './counters.ts'
import type { NetworkServerCounters } from './counters.ts'
import type { NetworkServerLog } from './log.ts'
import { Offering } from './offering.ts'
import { Patience } from './patience.ts'
import type { Timers } from './timers.ts'

export interface ChirpStackGrpcParts {
  readonly api: ChirpStackApi
  readonly sync: ChirpStackSync
  /** From the end of one synchronisation to the beginning of the next. */
  readonly syncIntervalMs: number
  readonly sink: EventSink
  readonly timers: Timers
  readonly backoff: BackoffSettings
  readonly counters: NetworkServerCounters
  readonly log: NetworkServerLog
}

const { status } = grpc

/** What says something about this moment or about the settings, not about the downlink. */
const PASSING: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.CANCELLED,
  status.ABORTED,
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
])

const THERE_ALREADY: ReadonlySet<number> = new Set([status.ALREADY_EXISTS])

/** What may be either. */
const INTERNAL: ReadonlySet<number> = new Set([status.INTERNAL, status.UNKNOWN, status.DATA_LOSS])

/** How long an attempt to reach ChirpStack lasts, before the next one begins. */
const REACHING_MS = 60_000

export class ChirpStackGrpc implements NetworkServer {
  readonly name: string
  readonly judges = true
  readonly #parts: ChirpStackGrpcParts
  readonly #offering: Offering
  readonly #patience = new Patience()
  readonly #syncBackoff: Backoff
  #cancelSync: () => void = () => {}
  #syncing: Promise<void>
  #isClosed = false

  /** Synchronises at once, and then again and again. */
  constructor(name: string, parts: ChirpStackGrpcParts) {
    this.name = name
    this.#parts = parts
    this.#offering = new Offering(this, parts.sink, parts.timers, parts.backoff)
    this.#syncBackoff = new Backoff(parts.backoff)
    this.#syncing = this.#synchronise()
    void this.#tellWhenReachable()
  }

  serves(applicationId: string): boolean {
    return this.#parts.sync.applications.has(applicationId)
  }

  async handOver(downlink: Downlink): Promise<HandOver> {
    const answer = await this.#offer(downlink)
    if (answer.outcome === 'away') this.#offering.failed()
    else this.#offering.succeeded()
    return counted(this.#parts.counters, answer)
  }

  flush(devEui: string): Promise<void> {
    return this.#parts.api.flushQueue(devEui)
  }

  /** Ends the synchronisation at its next step. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelSync()
    this.#offering.close()
    this.#parts.sync.stop()
    this.#parts.api.close()
    await this.#syncing
  }

  async #offer(downlink: Downlink): Promise<HandOver> {
    if (this.#isClosed) return { outcome: 'away', reason: 'the service is shutting down' }
    try {
      await this.#parts.api.enqueue(downlink)
      return { outcome: 'taken' }
    } catch (error) {
      const { code, reason } = faultOf(error)
      // An earlier try whose answer was lost: queue items are kept by the id that was sent along.
      if (THERE_ALREADY.has(code) || /duplicate key/i.test(reason)) return { outcome: 'taken' }
      if (!INTERNAL.has(code)) return { outcome: PASSING.has(code) ? 'away' : 'refused', reason }
      const isOver = this.#patience.isOver(downlink.devEui, downlink.id)
      return { outcome: isOver ? 'refused' : 'away', reason }
    }
  }

  async #tellWhenReachable(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#parts.api.whenReachable(REACHING_MS)
        if (!this.#isClosed) this.#parts.sink.ready(this)
        return
      } catch {
        // Tried for a minute, which is the bound of this loop's speed.
      }
    }
  }

  async #synchronise(): Promise<void> {
    const { sync, log, counters, syncIntervalMs, timers, sink } = this.#parts
    let waitMs = syncIntervalMs
    try {
      const found = sync.applications.size
      const report = await sync.run()
      counters.synchronisations += 1
      this.#syncBackoff.reset()
      log.info({ networkServer: this.name, ...report }, 'network_server.synchronised')
      // Commands may wait for an application that was not known to be served from here.
      if (sync.applications.size !== found && !this.#isClosed) sink.ready(this)
    } catch (error) {
      counters.failures += 1
      waitMs = Math.min(this.#syncBackoff.next(), syncIntervalMs)
      if (!this.#isClosed) {
        log.warn({ networkServer: this.name, reason: faultOf(error).reason, waitMs }, 'network_server.sync_failed')
      }
    }
    if (this.#isClosed) return
    this.#cancelSync = timers.after(waitMs, () => {
      this.#syncing = this.#synchronise()
    })
  }
}

function faultOf(error: unknown): { readonly code: number; readonly reason: string } {
  if (!(error instanceof Error)) return { code: status.UNKNOWN, reason: 'unknown error' }
  const { code, details } = error as Error & { readonly code?: unknown; readonly details?: unknown }
  const text = typeof details === 'string' && details !== '' ? details : error.message
  return {
    code: typeof code === 'number' ? code : status.UNKNOWN,
    reason: text.replaceAll(/[^ -~]/g, ' ').slice(0, 300),
  }
}
