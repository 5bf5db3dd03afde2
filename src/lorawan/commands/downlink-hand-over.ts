/**
 * Hands the commands of the downlink queue over to network servers: the commands of one device one
 * after the other, those of different devices side by side. When a network server was away, its
 * commands are offered again as soon as it is ready.
 */
import type { SteadyMs } from '../../clock.ts'
import type { CommandPorts } from './command-ports.ts'
import { plainWait, waitBehind, waitForNetworkServer, waitForWord } from './command-waits.ts'
import type { CommandWait } from './command-waits.ts'
import type { DownlinkItem } from './downlink-item.ts'
import { DownlinkLanes } from './downlink-lanes.ts'
import type { Away } from './downlink-lanes.ts'
import type { DownlinkQueue } from './downlink-queue.ts'
import type { Downlink, HandOverAnswer } from './network-server.ts'

export interface DownlinkHandOverOptions extends Pick<CommandPorts, 'serverOf' | 'places' | 'clock' | 'log'> {
  readonly queue: DownlinkQueue
  /**
   * True while the device's next command has to wait for an event about an earlier one. `offer` is
   * to be called when the event has come.
   */
  readonly isHeld: (devEui: string) => boolean
  /**
   * Ids that events of the item's device have named, and that belong to no known command; the
   * earliest first.
   */
  readonly unclaimedIds: (item: DownlinkItem) => readonly string[]
  /** Called when an offer to a network server that gives ids has ended. */
  readonly onAnswered: (item: DownlinkItem) => void
}

/**
 * Offers of one organization that have no answer yet. A tenant whose network server takes messages
 * and acknowledges none holds up its own devices alone.
 */
const MAXIMUM_OFFERED_PER_ORGANIZATION = 2_000
/**
 * Waiting commands are offered again after this time, for the call of a network server may be
 * missed.
 */
const RETRY_MS = 10_000
/**
 * How long an event waits for the id of the command on offer. The later events of the device wait
 * behind it.
 */
const NAMING_MS = 2_000

const AWAY_UNSERVED: HandOverAnswer = {
  outcome: 'away',
  code: 'network_server_never_connected',
  reason: 'no network server serves the application',
}
const AWAY_DISABLED = { outcome: 'away', code: 'device_disabled', reason: 'the device is disabled' } as const
const REFUSED_REMOVED: HandOverAnswer = { outcome: 'refused', reason: 'the device was removed' }

export class DownlinkHandOver {
  readonly #options: DownlinkHandOverOptions
  readonly #queue: DownlinkQueue
  readonly #lanes: DownlinkLanes
  /** Devices with an item on offer, or whose next item follows a little later. */
  readonly #busy = new Set<string>()
  /** By organization: how many items are on offer. */
  readonly #offeredOf = new Map<string, number>()
  /**
   * Disabled devices, with their applications. Their commands wait, and hold up no other device's.
   */
  readonly #disabled = new Map<string, string>()
  /** Functions to be called when the network server has answered the offer of the item. */
  readonly #awaited = new Map<DownlinkItem, () => void>()
  /** By DevEUI: resolves when the network server has given an id to the item on offer. */
  readonly #naming = new Map<string, PromiseWithResolvers<void>>()
  #isClosed = false
  #retriedAtMs: SteadyMs

  constructor(options: DownlinkHandOverOptions) {
    this.#options = options
    this.#queue = options.queue
    this.#lanes = new DownlinkLanes({
      clock: options.clock,
      isFull: (organizationId) => this.#isFull(organizationId),
      offerNext: (devEui, applicationId) => this.#offerNext(devEui, applicationId),
    })
    this.#retriedAtMs = options.clock.steady()
  }

  /**
   * An item waits: offers it now, unless other items go first or its network server is known to be
   * away.
   */
  offer({ content: { devEui, applicationId } }: DownlinkItem): void {
    if (this.#lanes.admits(devEui, applicationId)) this.#offerNext(devEui, applicationId)
  }

  /** A network server can take downlinks (again). */
  ready(): void {
    this.#lanes.ready()
  }

  /** To be called about every second. */
  tick(): void {
    const now = this.#options.clock.steady()
    if (now - this.#retriedAtMs < RETRY_MS) return
    this.#retriedAtMs = now
    const disabled = [...this.#disabled]
    this.#disabled.clear()
    for (const [devEui, applicationId] of disabled) this.#offerNext(devEui, applicationId)
    this.ready()
  }

  /** Why the item has not been handed over yet; undefined for an item that has left the queue. */
  waitOf(item: DownlinkItem): CommandWait | undefined {
    if (item.state !== 'queued') return undefined
    const { devEui, applicationId, organizationId } = item.content
    const first = this.#queue.first(devEui)
    if (item.isOffered || first === undefined) return plainWait('handing_over')
    if (first !== item) return waitBehind(first.content.id)
    if (this.#busy.has(devEui)) return plainWait('paced')
    if (this.#options.isHeld(devEui)) return waitForWord(this.#queue.left(devEui).at(-1)?.content.id)
    if (this.#disabled.has(devEui)) return AWAY_DISABLED
    const away = this.#lanes.awayOf(devEui, applicationId)
    if (away !== undefined) return waitForNetworkServer(away)
    return plainWait(this.#isFull(organizationId) ? 'organization_busy' : 'handing_over')
  }

  /**
   * Asks the application's network server to forget the device's commands that it has, and cancels
   * the commands that it has forgotten. Resolves with their ids; a failure is logged.
   */
  async flush(applicationId: string, devEui: string): Promise<readonly string[]> {
    const networkServer = this.#options.serverOf(applicationId)
    try {
      const recalledIds = (await networkServer?.flush?.(devEui)) ?? []
      return this.#queue.recalled(devEui, recalledIds, false)
    } catch (error) {
      this.#options.log.warn({ devEui, networkServer: networkServer?.name, error }, 'command.flush_failed')
      return []
    }
  }

  /** True when the application's network server takes objects in the place of bytes. */
  takesObjects(applicationId: string): boolean {
    return this.#options.serverOf(applicationId)?.takesObjects === true
  }

  /**
   * Resolves when the network server has given an id to the device's command on offer, or after
   * 2 s. Undefined when no command of the device is on offer to a network server that gives ids.
   */
  naming(devEui: string): Promise<void> | undefined {
    const naming = this.#naming.get(devEui)
    if (naming === undefined) return undefined
    return new Promise((resolve) => {
      const stop = this.#options.clock.after(NAMING_MS, resolve)
      void naming.promise.then(() => {
        stop()
        resolve()
      })
    })
  }

  /**
   * Resolves when a network server that judges downlinks has answered the offer of the item.
   * Undefined when there is no such answer to wait for: the item is not on offer, or its network
   * server takes every downlink.
   */
  verdictOn(item: DownlinkItem): Promise<void> | undefined {
    if (!item.isOffered || this.#options.serverOf(item.content.applicationId)?.judges !== true) return undefined
    // The same command may have come twice: both senders wait.
    const before = this.#awaited.get(item)
    return new Promise((resolve) => {
      this.#awaited.set(item, () => {
        before?.()
        resolve()
      })
    })
  }

  /** Offers nothing any more. A network server may still take an item that is on offer. */
  close(): void {
    this.#isClosed = true
    this.#lanes.close()
  }

  #offerNext(devEui: string, applicationId: string): void {
    if (this.#isClosed || this.#busy.has(devEui) || this.#options.isHeld(devEui)) return
    const item = this.#queue.next(devEui)
    if (item === undefined) return
    const { organizationId } = item.content
    if (this.#isFull(organizationId)) {
      this.#lanes.wait({ ...item.content, applicationId })
      return
    }
    item.isOffered = true
    this.#busy.add(devEui)
    this.#offeredOf.set(organizationId, (this.#offeredOf.get(organizationId) ?? 0) + 1)
    const { generation } = this.#lanes
    void this.#ask(item).then((answer) => {
      this.#release(item)
      if (answer.outcome === 'away') this.#keep(item, answer, generation)
      else this.#settle(answer, item)
      if (this.#naming.has(devEui)) this.#endNaming(item)
      this.#awaited.get(item)?.()
      this.#awaited.delete(item)
      this.#lanes.goOn(applicationId)
    })
  }

  async #ask(item: DownlinkItem): Promise<HandOverAnswer> {
    const { content } = item
    const { places, serverOf, log } = this.#options
    try {
      const place = await places.device(content.devEui)
      if (place?.organizationId !== content.organizationId) {
        this.#queue.forgetDevice(content.devEui)
        return REFUSED_REMOVED
      }
      if (place.isDisabled) return AWAY_DISABLED
      const networkServer = serverOf(place.applicationId)
      if (networkServer === undefined) return AWAY_UNSERVED
      if (networkServer.givesIds === true) this.#naming.set(content.devEui, Promise.withResolvers())
      else if (content.replaces) await networkServer.flush?.(content.devEui)
      return await networkServer.handOver(this.#downlinkOf(item, place.applicationId))
    } catch (error) {
      log.error({ devEui: content.devEui, error }, 'command.hand_over_failed')
      return { outcome: 'away', reason: 'the hand-over failed' }
    }
  }

  #downlinkOf(item: DownlinkItem, applicationId: string): Downlink {
    const { downlinkId: id, inDoubtSinceMs, content } = item
    const { devEui, confirmed, fPort, data, object, expiresAtMs, replaces } = content
    const downlink = { id, applicationId, devEui, confirmed, fPort, data, object, expiresAtMs, replaces }
    if (inDoubtSinceMs === undefined) return downlink
    const forMs = this.#options.clock.steady() - inDoubtSinceMs
    const doubt = { forMs, otherIds: this.#queue.otherIds(item), unclaimedIds: this.#options.unclaimedIds(item) }
    return { ...downlink, doubt }
  }

  #release(item: DownlinkItem): void {
    const { devEui, organizationId } = item.content
    item.isOffered = false
    this.#busy.delete(devEui)
    const offered = (this.#offeredOf.get(organizationId) ?? 1) - 1
    if (offered === 0) this.#offeredOf.delete(organizationId)
    else this.#offeredOf.set(organizationId, offered)
  }

  /** Events that came while the network server was being asked can be about this item now. */
  #endNaming(item: DownlinkItem): void {
    const { devEui } = item.content
    const naming = this.#naming.get(devEui)
    this.#naming.delete(devEui)
    this.#options.onAnswered(item)
    naming?.resolve()
  }

  /**
   * The item leaves the queue. The device's next item follows as soon as the network server will
   * keep both in order.
   */
  #settle(answer: Exclude<HandOverAnswer, Away>, item: DownlinkItem): void {
    const { devEui, applicationId } = item.content
    this.#lanes.reached(applicationId)
    if (answer.outcome === 'refused') this.#queue.failed(item, { code: 'command_refused', reason: answer.reason })
    else {
      this.#queue.recalled(devEui, answer.recalledIds ?? [], true)
      this.#queue.taken(item, answer)
    }
    const waitMs = answer.outcome === 'taken' ? (answer.nextAfterMs ?? 0) : 0
    if (waitMs === 0) {
      this.#offerNext(devEui, applicationId)
      return
    }
    this.#busy.add(devEui)
    this.#options.clock.after(waitMs, () => {
      this.#busy.delete(devEui)
      this.#offerNext(devEui, applicationId)
    })
  }

  /** The item stays in the queue. */
  #keep(item: DownlinkItem, answer: Away, generation: number): void {
    const { devEui, applicationId, id: commandId } = item.content
    const { log, clock } = this.#options
    log.debug({ devEui, commandId, reason: answer.reason }, 'command.waits')
    if (answer.isInDoubt === true) item.inDoubtSinceMs = clock.steady()
    if (answer === AWAY_DISABLED) this.#disabled.set(devEui, applicationId)
    else this.#lanes.missed(answer, item, generation)
  }

  #isFull(organizationId: string): boolean {
    return (this.#offeredOf.get(organizationId) ?? 0) >= MAXIMUM_OFFERED_PER_ORGANIZATION
  }
}
