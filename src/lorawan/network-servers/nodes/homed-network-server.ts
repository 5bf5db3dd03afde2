/**
 * A network server that one node of the deployment runs. Each node has it in its list; the node
 * that is its home has the connection.
 */
import type { Clock } from '../../../clock.ts'
import { given } from '../../../given.ts'
import type { Logger } from '../../../logger.ts'
import { NoAnswerError } from '../../../nodes.ts'
import type { NodeId, Nodes } from '../../../nodes.ts'
import type { Downlink, HandOverAnswer, NetworkServer } from '../../commands/network-server.ts'
import { answerIn, FLUSH, HAND_OVER, toWire } from './wire-hand-over.ts'

/** A network server as each node knows it, whether it runs it or not. */
export interface HomedParts extends Pick<NetworkServer, 'name' | 'judges' | 'givesIds' | 'takesObjects'> {
  /** As `NetworkServer.serves`, while another node runs the network server. */
  readonly serves: (applicationId: string) => boolean
  /** Reads again what `serves` knows. */
  readonly refresh?: () => Promise<void>
  /** True: the network server can be asked to forget downlinks. */
  readonly flushes: boolean
  /** Connects to the network server. */
  readonly open: () => Promise<NetworkServer>
}

export interface HomedNetworkServerOptions {
  readonly nodes: Nodes
  readonly clock: Pick<Clock, 'after'>
  readonly log: Logger
  readonly onClose: () => void
}

/** How often a node looks who runs the network server. */
const LOOK_EVERY_MS = 5_000
const LOOK_MS = 4_000
/** An adapter answers earlier: its own calls have a bound. */
const HAND_OVER_MS = 30_000

const CLOSED: HandOverAnswer = { outcome: 'away', reason: 'the service is shutting down' }
const NOBODY: HandOverAnswer = {
  outcome: 'away',
  code: 'network_server_away',
  reason: 'no node has a connection to the network server now',
}
const UNKNOWN: HandOverAnswer = {
  outcome: 'away',
  code: 'network_server_away',
  reason: 'the node with the connection to the network server did not answer',
  isInDoubt: true,
}

export class HomedNetworkServer implements NetworkServer {
  readonly name: string
  readonly judges?: boolean
  readonly givesIds?: boolean
  readonly takesObjects?: boolean
  readonly flush?: (devEui: string) => Promise<readonly string[]>
  readonly #parts: HomedParts
  readonly #options: HomedNetworkServerOptions
  #running: NetworkServer | undefined
  /** The node that runs it, if that is another one. */
  #home: NodeId | undefined
  #isClosed = false
  #looking: Promise<void> | undefined
  #cancelLook: () => void = () => {}

  constructor(parts: HomedParts, options: HomedNetworkServerOptions) {
    const { name, judges, givesIds, takesObjects, flushes } = parts
    this.name = name
    Object.assign(this, given({ judges, givesIds, takesObjects }))
    if (flushes) this.flush = (devEui) => this.#flush(devEui)
    this.#parts = parts
    this.#options = options
    this.look()
  }

  /** The connection to the network server; undefined where another node has it. */
  get running(): NetworkServer | undefined {
    return this.#running
  }

  serves(applicationId: string): boolean {
    return this.#running?.serves(applicationId) ?? this.#parts.serves(applicationId)
  }

  async handOver(downlink: Downlink): Promise<HandOverAnswer> {
    if (this.#isClosed) return CLOSED
    if (this.#running !== undefined) return this.#running.handOver(downlink)
    if (this.#home === undefined) return NOBODY
    const body = Buffer.from(JSON.stringify(toWire(this.name, downlink)))
    try {
      return answerIn(await this.#options.nodes.bus.request(this.#home, HAND_OVER, body, HAND_OVER_MS))
    } catch (error) {
      this.look()
      return error instanceof NoAnswerError ? UNKNOWN : NOBODY
    }
  }

  /** Looks now who runs the network server; becomes its home if there is none. */
  look(): void {
    if (this.#looking !== undefined || this.#isClosed) return
    this.#cancelLook()
    this.#looking = this.#look()
      .catch((error: unknown) => {
        this.#options.log.warn({ networkServer: this.name, error }, 'network_server.home_not_found')
      })
      .finally(() => {
        this.#looking = undefined
        if (!this.#isClosed) this.#cancelLook = this.#options.clock.after(LOOK_EVERY_MS, () => this.look())
      })
  }

  /** Gives the network server up; another node may run it. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelLook()
    await this.#looking
    await this.#stop()
    this.#options.nodes.homes.release(this.#key)
    this.#options.onClose()
  }

  get #key(): string {
    return `network-server/${this.name}`
  }

  async #look(): Promise<void> {
    const { homes, bus } = this.#options.nodes
    const found = await homes.find(this.#key, LOOK_MS)
    const isHere =
      found.node === undefined
        ? !this.#isClosed && (await homes.take(this.#key, found))
        : found.node.incarnation === bus.self.incarnation
    this.#home = isHere ? undefined : found.node
    if (isHere && !this.#isClosed) {
      this.#running ??= await this.#parts.open()
      return
    }
    // Another node has taken this one for dead.
    await this.#stop()
    await this.#parts.refresh?.()
  }

  async #stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.close()
  }

  async #flush(devEui: string): Promise<readonly string[]> {
    if (this.#running !== undefined) return (await this.#running.flush?.(devEui)) ?? []
    if (this.#home === undefined) throw new Error('no node has a connection to the network server now')
    const body = Buffer.from(JSON.stringify({ name: this.name, devEui }))
    const answer = await this.#options.nodes.bus.request(this.#home, FLUSH, body, HAND_OVER_MS)
    return JSON.parse(answer.toString()) as readonly string[]
  }
}
