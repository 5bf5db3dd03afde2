/**
 * Network servers to which this service connects, in a deployment of several nodes. One node runs
 * each of them, because each connection would bring every event in once more. The other nodes hand
 * their downlinks to that node.
 */
import type { Clock } from '../../../clock.ts'
import type { Logger } from '../../../logger.ts'
import type { Nodes } from '../../../nodes.ts'
import type { NetworkServer } from '../../commands/network-server.ts'
import { HomedNetworkServer } from './homed-network-server.ts'
import type { HomedParts } from './homed-network-server.ts'
import { FLUSH, fromWire, HAND_OVER } from './wire-hand-over.ts'
import type { WireHandOver } from './wire-hand-over.ts'

export interface NetworkServersOfNodesOptions {
  readonly nodes: Nodes
  readonly clock: Pick<Clock, 'after'>
  /** Called when a network server that another node runs can take downlinks. Must not throw. */
  readonly onReady: () => void
  /** Called when another node has changed the list of network servers. Must not throw. */
  readonly onChanged: () => void
  readonly log: Logger
}

const READY = 'network-servers.ready'
const CHANGED = 'network-servers.changed'
/** Other nodes hear that network servers are ready at most so often. */
const READY_PAUSE_MS = 100

export class NetworkServersOfNodes {
  readonly #options: NetworkServersOfNodesOptions
  /** By name. Bounded by the settings. */
  readonly #servers = new Map<string, HomedNetworkServer>()
  #tellsReady = false

  constructor(options: NetworkServersOfNodesOptions) {
    this.#options = options
    const { nodes, onReady, onChanged } = options
    nodes.bus.hear(READY, onReady)
    nodes.bus.hear(CHANGED, onChanged)
    nodes.bus.serve(HAND_OVER, async (body) => {
      const { name, downlink } = JSON.parse(body.toString()) as WireHandOver
      return Buffer.from(JSON.stringify(await this.#running(name).handOver(fromWire(downlink))))
    })
    nodes.bus.serve(FLUSH, async (body) => {
      const { name, devEui } = JSON.parse(body.toString()) as { readonly name: string; readonly devEui: string }
      return Buffer.from(JSON.stringify((await this.#running(name).flush?.(devEui)) ?? []))
    })
    nodes.onGone(() => {
      for (const server of this.#servers.values()) server.look()
    })
  }

  /** A network server that one node runs; this one, if no other does. */
  add(parts: HomedParts): NetworkServer {
    const { nodes, clock, log } = this.#options
    const server = new HomedNetworkServer(parts, { nodes, clock, log, onClose: () => this.#servers.delete(parts.name) })
    this.#servers.set(parts.name, server)
    return server
  }

  /** A network server that this node runs can take downlinks: tells the other nodes soon. */
  ready(): void {
    if (this.#tellsReady) return
    this.#tellsReady = true
    this.#options.clock.after(READY_PAUSE_MS, () => {
      this.#tellsReady = false
      this.#options.nodes.bus.cast(READY, Buffer.alloc(0))
    })
  }

  /** The list of network servers has changed here: tells the other nodes. */
  changed(): void {
    this.#options.nodes.bus.cast(CHANGED, Buffer.alloc(0))
  }

  #running(name: string): NetworkServer {
    const running = this.#servers.get(name)?.running
    if (running === undefined) throw new Error(`this node does not run the network server “${name}”`)
    return running
  }
}
