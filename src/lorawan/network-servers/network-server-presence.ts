/**
 * Whether a tenant's network servers are connected, and since when they are not. The durable state
 * keeps it over a restart.
 */
import type { StateChange } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Presence } from '../commands/command-waits.ts'
import type { DurableState, LoadedState } from '../commands/durable-state.ts'

export interface NetworkServerPresenceOptions {
  readonly state: DurableState
  /** The name of this node; undefined in a deployment of one. Each node keeps keys of its own. */
  readonly node?: string | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** Begins the keys of all entries in the durable state. */
export const PRESENCE_PREFIX = 'presence/'
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

  /**
   * Reads stored state: that of this node before the first network server connects, and that of a
   * dead node whose heir this node is.
   */
  async load(entries: LoadedState): Promise<void> {
    const nowMs = this.#options.clock.now()
    const ofOthers: string[] = []
    for await (const { key, value } of entries(PRESENCE_PREFIX)) {
      const tenant = key.slice(key.lastIndexOf('/') + 1)
      const storedMs = Number(value.toString())
      // The connection ended with the process before this one.
      const goneAtMs = Number.isSafeInteger(storedMs) ? storedMs : nowMs
      this.#goneAtMs.set(tenant, Math.max(this.#goneAtMs.get(tenant) ?? 0, goneAtMs))
      if (key !== this.#keyOf(tenant)) ofOthers.push(key)
    }
    for (const key of ofOthers) this.#takeOver(key)
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
    const change = { key: this.#keyOf(tenant), value: value === undefined ? undefined : Buffer.from(value) }
    this.#store(tenant, [change])
  }

  /** Puts the entry of a dead node under this node's own key. */
  #takeOver(key: string): void {
    const tenant = key.slice(key.lastIndexOf('/') + 1)
    const value = this.#connected.has(tenant) ? CONNECTED : String(this.#goneAtMs.get(tenant))
    this.#store(tenant, [
      { key, value: undefined },
      { key: this.#keyOf(tenant), value: Buffer.from(value) },
    ])
  }

  #keyOf(tenant: string): string {
    const { node } = this.#options
    return node === undefined ? PRESENCE_PREFIX + tenant : `${PRESENCE_PREFIX}${node}/${tenant}`
  }

  #store(tenant: string, changes: readonly StateChange[]): void {
    this.#options.state.write(changes).catch((error: unknown) => {
      this.#options.log.error({ tenant, error }, 'network_server.presence_not_written')
    })
  }
}
