/**
 * Offers downlinks to network servers that are connected to any node. The node of the network
 * server remembers what it holds: a home that asks again, or the heir of a dead home, gets the same
 * answer, and no device has two downlinks without an acknowledgement.
 */
import { BoundedCache } from '../../../bounded-cache.ts'
import type { Clock } from '../../../clock.ts'
import { NoAnswerError } from '../../../nodes.ts'
import type { NodeId, Nodes } from '../../../nodes.ts'
import type { DownlinkReaders, Offered, OfferedDownlink } from '../downlink-readers.ts'

export interface ReadersOfNodesOptions {
  readonly nodes: Nodes
  /** The network servers that are connected to this node. */
  readonly here: DownlinkReaders
  readonly clock: Pick<Clock, 'after'>
  /** Called when a network server at another node can take downlinks. Must not throw. */
  readonly onReady: () => void
}

/** An offer on its way to another node. */
interface WireOffer {
  readonly downlink: Omit<OfferedDownlink, 'payload'> & { readonly payload: string }
  readonly tenant: string | null
}

/** How an offer ended, as the node of the network server tells it later. */
interface Ended {
  readonly id: string
  readonly end: Offered
}

const OFFER = 'downlinks.offer'
const HELD = 'downlinks.held'
const READY = 'downlinks.ready'
const ENDED = 'downlinks.ended'
/** The answer when the network server has not acknowledged yet: the node tells the end later. */
const PENDING = 'pending'
/**
 * How long a request waits for the acknowledgement. A network server that is away keeps many
 * downlinks for hours, and a node works on a limited number of requests.
 */
const PENDING_MS = 200
const ANSWER_MS = 5_000
/** A home that has heard nothing for so long asks again: what it was told may have got lost. */
const AGAIN_MS = 30_000
/** The time between two attempts to reach a node that is alive and silent. */
const PAUSE_MS = 1_000
/** How long the nodes are asked which of them holds a downlink in doubt. */
const HELD_MS = 500
/** Other nodes hear that network servers are ready at most so often. */
const READY_PAUSE_MS = 100
/**
 * Acknowledged downlinks that are remembered, some 100 bytes each: more than are acknowledged while
 * a dead home gets its heir.
 */
const MAXIMUM_ACKNOWLEDGED = 20_000

export class ReadersOfNodes implements DownlinkReaders {
  readonly #nodes: Nodes
  readonly #here: DownlinkReaders
  readonly #clock: ReadersOfNodesOptions['clock']
  /**
   * By DevEUI: the downlinks that network servers here have, and have not acknowledged. The offers
   * of each organization are bounded by the hand-over.
   */
  readonly #held = new Map<string, { readonly id: string; readonly end: Promise<Offered> }>()
  /** By downlink id: the offers of this home whose end another node will tell. */
  readonly #waiting = new Map<string, { readonly node: NodeId; readonly end: (end: Offered) => void }>()
  readonly #acknowledged = new BoundedCache<true>(MAXIMUM_ACKNOWLEDGED)
  /** By tenant: the node whose network server took the latest downlink. Asked first. */
  readonly #latest = new BoundedCache<NodeId>(10_000)
  #tellsReady = false

  constructor({ nodes, here, clock, onReady }: ReadersOfNodesOptions) {
    this.#nodes = nodes
    this.#here = here
    this.#clock = clock
    nodes.bus.hear(READY, onReady)
    nodes.bus.serve(OFFER, async (body, from) => Buffer.from(await this.#answer(body, from)))
    nodes.bus.serve(ENDED, (body, from) => {
      const { id, end } = JSON.parse(body.toString()) as Ended
      const waiting = this.#waiting.get(id)
      if (waiting !== undefined && isSame(waiting.node, from)) waiting.end(end)
      return Buffer.alloc(0)
    })
    nodes.onGone((gone) => {
      for (const { node, end } of this.#waiting.values()) if (isSame(node, gone)) end('in doubt')
    })
    nodes.bus.serve(HELD, (body) => {
      const { id, devEui } = JSON.parse(body.toString()) as Pick<OfferedDownlink, 'id' | 'devEui'>
      return Buffer.from(this.#holds(devEui, id) ? 'held' : '')
    })
  }

  async offer(downlink: OfferedDownlink, tenant: string | undefined): Promise<Offered> {
    const holder = downlink.isInDoubt ? await this.#holder(downlink) : undefined
    if (holder === 'unknown') return 'in doubt'
    if (holder !== undefined) return this.#offerAt(holder, downlink, tenant)
    let end: Offered = 'no reader'
    for (const node of this.#inTurn(tenant)) {
      const offered = await this.#offerAt(node, downlink, tenant)
      if (offered === 'no reader') continue
      end = offered
      if (offered === 'no room') continue
      this.#latest.set(tenant ?? '', node)
      return offered
    }
    return end
  }

  /** A network server here can take downlinks: tells the other nodes soon. */
  readerReady(): void {
    if (this.#tellsReady) return
    this.#tellsReady = true
    this.#clock.after(READY_PAUSE_MS, () => {
      this.#tellsReady = false
      this.#nodes.bus.cast(READY, Buffer.alloc(0))
    })
  }

  /** The living nodes: the one of the latest downlink first, then this one. */
  #inTurn(tenant: string | undefined): readonly NodeId[] {
    const { self } = this.#nodes.bus
    const latest = this.#latest.get(tenant ?? '')
    const place = (node: NodeId): number => (isSame(node, latest) ? 0 : isSame(node, self) ? 1 : 2)
    return this.#nodes.living().toSorted((one, other) => place(one) - place(other))
  }

  /**
   * The node that has the downlink in doubt, or had it acknowledged. Unknown: a living node has not
   * answered, and another offer could be a second copy.
   */
  async #holder({ id, devEui }: OfferedDownlink): Promise<NodeId | 'unknown' | undefined> {
    const { bus } = this.#nodes
    if (this.#holds(devEui, id)) return bus.self
    const { answers, missing } = await bus.gather(HELD, Buffer.from(JSON.stringify({ id, devEui })), HELD_MS)
    const holder = answers.find(({ body }) => body.length > 0)?.from
    if (holder !== undefined) return holder
    const living = this.#nodes.living()
    return missing.some((node) => living.some((one) => isSame(one, node))) ? 'unknown' : undefined
  }

  #holds(devEui: string, id: string): boolean {
    return this.#held.get(devEui)?.id === id || this.#acknowledged.get(id) === true
  }

  #offerAt(node: NodeId, downlink: OfferedDownlink, tenant: string | undefined): Promise<Offered> {
    return isSame(node, this.#nodes.bus.self) ? this.#offerHere(downlink, tenant) : this.#ask(node, downlink, tenant)
  }

  /** Asks the node; then waits until it tells the end, or is gone. */
  async #ask(node: NodeId, downlink: OfferedDownlink, tenant: string | undefined): Promise<Offered> {
    const told = Promise.withResolvers<Offered>()
    const waiting = { node, end: told.resolve }
    this.#waiting.set(downlink.id, waiting)
    try {
      let { isInDoubt } = downlink
      for (;;) {
        const asked = await this.#askOnce(node, { ...downlink, isInDoubt }, tenant)
        if (asked !== PENDING && asked !== undefined) return asked
        const end = await this.#within(asked === PENDING ? AGAIN_MS : PAUSE_MS, told.promise)
        if (end !== undefined) return end
        isInDoubt = true
      }
    } finally {
      if (this.#waiting.get(downlink.id) === waiting) this.#waiting.delete(downlink.id)
    }
  }

  /** Undefined: the node is alive, and did not answer. */
  async #askOnce(
    node: NodeId,
    downlink: OfferedDownlink,
    tenant: string | undefined,
  ): Promise<Offered | typeof PENDING | undefined> {
    const payload = downlink.payload.toString('base64')
    const wire: WireOffer = { downlink: { ...downlink, payload }, tenant: tenant ?? null }
    try {
      const answer = await this.#nodes.bus.request(node, OFFER, Buffer.from(JSON.stringify(wire)), ANSWER_MS)
      return answer.toString() as Offered | typeof PENDING
    } catch (error) {
      // A node that has just begun, or takes this one for dead, holds nothing of this offer.
      if (!(error instanceof NoAnswerError)) return downlink.isInDoubt ? 'in doubt' : 'no reader'
      return this.#nodes.living().some((living) => isSame(living, node)) ? undefined : 'in doubt'
    }
  }

  async #answer(body: Buffer, from: NodeId): Promise<Offered | typeof PENDING> {
    // A home that was paused may take itself for alive after its heir has begun.
    if (!this.#nodes.living().some((living) => isSame(living, from))) throw new Error('the home is gone')
    const { downlink, tenant } = JSON.parse(body.toString()) as WireOffer
    const offered = { ...downlink, payload: Buffer.from(downlink.payload, 'base64') }
    const end = this.#offerHere(offered, tenant ?? undefined)
    const soon = await this.#within(PENDING_MS, end)
    if (soon !== undefined) return soon
    void end.then((late) => this.#tellEnd(from, { id: downlink.id, end: late }))
    return PENDING
  }

  /** Tells a home how its offer ended; a home that does not hear of it asks again. */
  async #tellEnd(home: NodeId, ended: Ended): Promise<void> {
    try {
      await this.#nodes.bus.request(home, ENDED, Buffer.from(JSON.stringify(ended)), ANSWER_MS)
    } catch {
      // The home is gone, and its heir asks; or it asks again.
    }
  }

  /** The value, or undefined after the time. */
  async #within<Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> {
    const late = Promise.withResolvers<undefined>()
    const stop = this.#clock.after(ms, () => late.resolve(undefined))
    const first = await Promise.race([value, late.promise])
    stop()
    return first
  }

  #offerHere(downlink: OfferedDownlink, tenant: string | undefined): Promise<Offered> {
    const { id, devEui, isInDoubt } = downlink
    const held = this.#held.get(devEui)
    if (held !== undefined) return held.id === id ? held.end : Promise.resolve('no room')
    if (isInDoubt && this.#acknowledged.get(id) === true) return Promise.resolve('acknowledged')
    const end = this.#here.offer(downlink, tenant).then((offered) => {
      this.#held.delete(devEui)
      if (offered === 'acknowledged') this.#acknowledged.set(id, true)
      return offered
    })
    this.#held.set(devEui, { id, end })
    return end
  }
}

function isSame(one: NodeId, other: NodeId | undefined): boolean {
  return one.incarnation === other?.incarnation && one.name === other.name
}
