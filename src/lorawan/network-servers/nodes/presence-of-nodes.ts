/** Whether a tenant's network servers are connected to any node of the deployment. */
import { BoundedCache } from '../../../bounded-cache.ts'
import { later } from '../../../clock.ts'
import type { Clock, SteadyMs } from '../../../clock.ts'
import type { Bus } from '../../../nodes.ts'
import type { Presence } from '../../commands/command-waits.ts'
import type { NetworkServerPresence } from '../network-server-presence.ts'

export interface PresenceOfNodesOptions {
  readonly bus: Bus
  /** The network servers that are connected to this node. */
  readonly here: Pick<NetworkServerPresence, 'of'>
  readonly clock: Pick<Clock, 'steady'>
}

interface Known {
  readonly presence: Promise<Presence>
  readonly until: SteadyMs
}

const KIND = 'network-servers.presence'
const ASK_MS = 500
/** How long an answer counts: the commands of many devices wait for the same network server. */
const KNOWN_MS = 2_000
const MAXIMUM_KNOWN = 10_000

export class PresenceOfNodes {
  readonly #bus: Bus
  readonly #here: PresenceOfNodesOptions['here']
  readonly #clock: PresenceOfNodesOptions['clock']
  readonly #known = new BoundedCache<Known>(MAXIMUM_KNOWN)

  constructor({ bus, here, clock }: PresenceOfNodesOptions) {
    this.#bus = bus
    this.#here = here
    this.#clock = clock
    bus.serve(KIND, (tenant) => Buffer.from(JSON.stringify(here.of(tenant.toString()) ?? null)))
  }

  /** As `NetworkServerPresence.of`; an answer may be 2 s old. Never rejects. */
  of(tenant: string): Presence | Promise<Presence> {
    if (this.#here.of(tenant) === 'connected') return 'connected'
    const now = this.#clock.steady()
    const known = this.#known.get(tenant)
    if (known !== undefined && now < known.until) return known.presence
    const presence = this.#ask(tenant)
    this.#known.set(tenant, { presence, until: later(now, KNOWN_MS) })
    return presence
  }

  async #ask(tenant: string): Promise<Presence> {
    const { answers } = await this.#bus.gather(KIND, Buffer.from(tenant), ASK_MS)
    const all = answers.map(({ body }) => JSON.parse(body.toString()) as Exclude<Presence, undefined> | null)
    if (all.includes('connected')) return 'connected'
    const ends = [this.#here.of(tenant), ...all].filter((end) => typeof end === 'number')
    return ends.length === 0 ? undefined : Math.max(...ends)
  }
}
