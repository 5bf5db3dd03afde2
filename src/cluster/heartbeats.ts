/**
 * The heartbeats of the nodes. Each node sends one each 500 ms, and hears its own as well. A node
 * is silent when this node has heard six of its own since that node's last one. So an outage of the
 * servers, or a pause of this process, lets nobody else look dead.
 */
import type { Clock, SteadyMs } from '../clock.ts'
import type { LivingNode, NodeId } from '../nodes.ts'

const BEAT_MS = 500
/** Own heartbeats without one of the other: 3 s. */
const SILENT_ECHOES = 6
/** Own heartbeats after which each living node has been heard. */
const SETTLED_ECHOES = 2
/** Own heartbeats after which a node that was not heard is dead, and not only slow. */
const CERTAIN_ECHOES = SETTLED_ECHOES + SILENT_ECHOES
/** Own heartbeats that do not come back: the connection is stuck. A paused server never ends it. */
const STUCK_BEATS = 2
const STUCK_AGAIN_MS = 3_000
/** After this time without an own heartbeat there was an outage, which others may have had. */
const OUTAGE_MS = 2_000
/** Own heartbeats more for others after an outage: their connections may take longer. */
const OUTAGE_ECHOES = 10
/** Other nodes; beyond it further ones are not heard. */
const MAXIMUM_NODES = 256

/** A heartbeat, as JSON on the wire. */
export interface Beat extends NodeId {
  readonly version: string
  readonly startedAtMs: number
  readonly isReady: boolean
  /** Ascending for each process. */
  readonly number: number
}

export interface HeartbeatsOptions {
  readonly clock: Clock
  readonly self: NodeId
  readonly version: string
  /** Sends to all nodes, this one included. */
  readonly send: (bytes: Buffer) => void
  /** A node is silent. It may be heard again later. */
  readonly silent: (node: NodeId) => void
  /** A node is heard that was not before, or was silent. */
  readonly heard: (node: NodeId) => void
  /** This node has heard itself. */
  readonly echo: () => void
  /** No own heartbeat comes back though the connection is open. */
  readonly stuck: () => void
}

interface Other {
  beat: Beat
  heardAt: SteadyMs
  echoesSince: number
}

export class Heartbeats {
  readonly #options: HeartbeatsOptions
  readonly #startedAtMs: number
  readonly #others = new Map<string, Other>()
  readonly #settled = Promise.withResolvers<void>()
  #isReady = false
  #sent = 0
  /** The number of the own heartbeat that came back last. */
  #returned = 0
  #echoes = 0
  #echoAt: SteadyMs
  #stuckAt: SteadyMs | undefined
  #cancel: () => void = () => {}

  constructor(options: HeartbeatsOptions) {
    this.#options = options
    this.#startedAtMs = options.clock.now()
    this.#echoAt = options.clock.steady()
  }

  /** Begins to send. Resolves when each living node has been heard. */
  async begin(): Promise<void> {
    this.#echoAt = this.#options.clock.steady()
    this.#beat()
    await this.#settled.promise
  }

  close(): void {
    this.#cancel()
  }

  get isReady(): boolean {
    return this.#isReady
  }

  set isReady(isReady: boolean) {
    if (this.#isReady === isReady) return
    this.#isReady = isReady
    this.#send()
  }

  /** Time since this node heard itself, ms. */
  get deafMs(): number {
    return this.#options.clock.steady() - this.#echoAt
  }

  /** True when a node that is not heard is dead, and not only slow. */
  get isCertain(): boolean {
    return this.#echoes >= CERTAIN_ECHOES
  }

  /** Takes a heartbeat from the wire. Ignores bytes that are none. */
  hear(bytes: Uint8Array): void {
    const beat = readBeat(bytes)
    if (beat === undefined) return
    if (beat.incarnation === this.#options.self.incarnation) this.#hearOwn(beat)
    else this.#hearOther(beat)
  }

  /** The node has ended, or is no longer of the deployment. */
  forget(incarnation: string): void {
    this.#others.delete(incarnation)
  }

  isHeard(incarnation: string): boolean {
    return incarnation === this.#options.self.incarnation || this.#others.has(incarnation)
  }

  /** The nodes that are heard with this one, in the order of their names. */
  living(): readonly LivingNode[] {
    const { clock, self, version } = this.#options
    const now = clock.steady()
    const found: LivingNode[] = [
      { ...self, version, startedAtMs: this.#startedAtMs, isReady: this.#isReady, silentMs: this.deafMs },
    ]
    for (const { beat, heardAt } of this.#others.values()) {
      const { name, incarnation, startedAtMs, isReady } = beat
      found.push({ name, incarnation, version: beat.version, startedAtMs, isReady, silentMs: now - heardAt })
    }
    return found.toSorted((one, other) => order(one.name, other.name) || order(one.incarnation, other.incarnation))
  }

  #beat(): void {
    const { clock, stuck } = this.#options
    const now = clock.steady()
    if (
      this.#sent - this.#returned >= STUCK_BEATS &&
      (this.#stuckAt === undefined || now - this.#stuckAt >= STUCK_AGAIN_MS)
    ) {
      this.#stuckAt = now
      stuck()
    }
    this.#send()
    this.#cancel = clock.after(BEAT_MS, () => this.#beat())
  }

  #send(): void {
    const { self, version, send } = this.#options
    this.#sent += 1
    const beat: Beat = {
      ...self,
      version,
      startedAtMs: this.#startedAtMs,
      isReady: this.#isReady,
      number: this.#sent,
    }
    send(Buffer.from(JSON.stringify(beat)))
  }

  #hearOwn({ number }: Beat): void {
    this.#returned = number
    // Heartbeats that waited for a connection come at once: they are one.
    if (number !== this.#sent) return
    const { clock, silent, echo } = this.#options
    const wasOutage = this.deafMs >= OUTAGE_MS
    this.#echoAt = clock.steady()
    this.#echoes += 1
    if (this.#echoes === SETTLED_ECHOES) this.#settled.resolve()
    for (const [incarnation, other] of this.#others) {
      other.echoesSince = wasOutage ? -OUTAGE_ECHOES : other.echoesSince + 1
      if (other.echoesSince < SILENT_ECHOES) continue
      this.#others.delete(incarnation)
      silent({ name: other.beat.name, incarnation })
    }
    echo()
  }

  #hearOther(beat: Beat): void {
    const known = this.#others.get(beat.incarnation)
    const heardAt = this.#options.clock.steady()
    if (known === undefined) {
      if (this.#others.size >= MAXIMUM_NODES) return
      this.#others.set(beat.incarnation, { beat, heardAt, echoesSince: 0 })
      this.#options.heard({ name: beat.name, incarnation: beat.incarnation })
      return
    }
    known.beat = beat
    known.heardAt = heardAt
    known.echoesSince = 0
  }
}

function order(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

function readBeat(bytes: Uint8Array): Beat | undefined {
  try {
    const read = JSON.parse(Buffer.from(bytes).toString()) as Partial<Beat>
    const { name, incarnation, version, startedAtMs, isReady, number } = read
    if (typeof name !== 'string' || typeof incarnation !== 'string' || typeof version !== 'string') return undefined
    if (typeof startedAtMs !== 'number' || typeof isReady !== 'boolean' || typeof number !== 'number') return undefined
    return { name, incarnation, version, startedAtMs, isReady, number }
  } catch {
    return undefined
  }
}
