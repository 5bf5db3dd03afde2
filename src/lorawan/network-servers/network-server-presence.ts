/**
 * Whether a tenant's network servers are connected, and since when they are not. The durable state
 * keeps it over a restart.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Presence } from '../commands/command-waits.ts'
import type { DurableState } from '../commands/durable-state.ts'

export interface NetworkServerPresenceOptions {
  readonly state: DurableState
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

const PREFIX = 'presence/'
/** The stored value for a tenant that was connected when the service stopped. */
const CONNECTED = 'connected'

/**
 * Bounded by the tenants that ever had a network server connected; a removed organization is
 * forgotten.
 */
export class NetworkServerPresence {
  readonly #options: NetworkServerPresenceOptions
  /** By tenant: how many network servers are connected. */
  readonly #connected = new Map<string, number>()
  /** By tenant: when the last network server disconnected, ms since 1970. */
  readonly #goneAtMs = new Map<string, number>()
  #isClosed = false

  constructor(options: NetworkServerPresenceOptions) {
    this.#options = options
  }

  /** Reads the stored state; to be called once, before the first network server connects. */
  async load(): Promise<void> {
    const nowMs = this.#options.clock.now()
    for await (const { key, value } of this.#options.state.load(PREFIX)) {
      const goneAtMs = Number(value.toString())
      // The connection ended with the process before this one.
      this.#goneAtMs.set(key.slice(PREFIX.length), Number.isSafeInteger(goneAtMs) ? goneAtMs : nowMs)
    }
  }

  came(tenant: string): void {
    const before = this.#connected.get(tenant) ?? 0
    this.#connected.set(tenant, before + 1)
    if (before === 0) this.#write(tenant, CONNECTED)
  }

  went(tenant: string): void {
    const left = (this.#connected.get(tenant) ?? 0) - 1
    if (left > 0) {
      this.#connected.set(tenant, left)
      return
    }
    this.#connected.delete(tenant)
    const nowMs = this.#options.clock.now()
    this.#goneAtMs.set(tenant, nowMs)
    this.#write(tenant, String(nowMs))
  }

  /** The tenant is gone. */
  forget(tenant: string): void {
    if (this.#goneAtMs.delete(tenant) || this.#connected.has(tenant)) this.#write(tenant, undefined)
  }

  of(tenant: string): Presence {
    return this.#connected.has(tenant) ? 'connected' : this.#goneAtMs.get(tenant)
  }

  /**
   * Writes nothing any more: at the next start, the network servers connected now count as
   * connected until then.
   */
  close(): void {
    this.#isClosed = true
  }

  /** Starts to write; a value that can't be stored is known until the service stops. */
  #write(tenant: string, value: string | undefined): void {
    if (this.#isClosed) return
    const change = { key: PREFIX + tenant, value: value === undefined ? undefined : Buffer.from(value) }
    this.#options.state.write([change]).catch((error: unknown) => {
      this.#options.log.error({ tenant, error }, 'network_server.presence_not_written')
    })
  }
}
