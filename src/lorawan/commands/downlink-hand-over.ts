/**
 * Hands the commands of the downlink queue to network servers: of each device one after the other,
 * of all devices side by side. A network server that is away has them offered again when it is
 * ready.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { plainWait, waitBehind, waitForNetworkServer, waitForWord } from './command-waits.ts'
import type { CommandWait } from './command-waits.ts'
import type { DownlinkItem } from './downlink-item.ts'
import type { DownlinkQueue } from './downlink-queue.ts'
import type { Downlink, HandOver, NetworkServer } from './network-server.ts'

/** Where a device belongs now. */
export interface DevicePlace {
  readonly applicationId: string
  readonly organizationId: string
  readonly isDisabled: boolean
}

/** Looks devices up; answers at once where it can. */
export interface DevicePlaces {
  device(devEui: string): DevicePlace | undefined | Promise<DevicePlace | undefined>
}

export interface DownlinkHandOverOptions {
  readonly queue: DownlinkQueue
  /** Who takes the downlinks of the application's devices; undefined when nobody does. */
  readonly serverOf: (applicationId: string) => NetworkServer | undefined
  readonly places: DevicePlaces
  readonly log: Logger
  readonly clock: Pick<Clock, 'steady' | 'after' | 'afterTurn'>
  /**
   * The device's next command waits for the word on one that its network server has; `offer` is
   * called when it has come.
   */
  readonly isHeld: (devEui: string) => boolean
  /**
   * Ids that events of the item's device have named, and that are of no command that is known; the
   * earliest first.
   */
  readonly unclaimedIds: (item: DownlinkItem) => readonly string[]
  /** Told when an offer to a network server that gives ids has ended. */
  readonly onAnswered: (item: DownlinkItem) => void
}

type Away = Extract<HandOver, { readonly outcome: 'away' }>

/** Devices of one application that are to be offered again. */
interface Lane {
  readonly organizationId: string
  readonly waiting: Set<string>
  /**
   * Devices whose offers found the network server away, in the generation: they wait for the next
   * one.
   */
  readonly missed: Map<string, Away>
  /** The latest answer by which nobody took a command of any of its devices. */
  away: Away | undefined
  /** How many of them found it away for all devices. */
  misses: number
  generation: number
}

/**
 * Hand-overs without an answer, of one organization: a tenant whose network server takes messages
 * and acknowledges none holds up its own devices alone.
 */
const MAXIMUM_OFFERED_PER_ORGANIZATION = 2_000
/** Offers of one turn of the event loop, so that a network server's return stalls nobody else. */
const OFFERS_PER_TURN = 200
/**
 * After so many devices in vain an application's others wait for the network server: a subscription
 * may be to single devices.
 */
const MISSES_PER_LANE = 8
/** What waits is offered again without a call, for a call may be missed. */
const RETRY_MS = 10_000
/**
 * How long an event waits for the id of the command that is on offer; its device's other events
 * wait behind it.
 */
const NAMING_MS = 2_000

const AWAY_UNSERVED: HandOver = {
  outcome: 'away',
  code: 'network_server_never_connected',
  reason: 'no network server serves the application',
}
const AWAY_DISABLED = { outcome: 'away', code: 'device_disabled', reason: 'the device is disabled' } as const
const REFUSED_REMOVED: HandOver = { outcome: 'refused', reason: 'the device was removed' }

export class DownlinkHandOver {
  readonly #queue: DownlinkQueue
  readonly #serverOf: DownlinkHandOverOptions['serverOf']
  readonly #places: DevicePlaces
  readonly #log: Logger
  readonly #clock: DownlinkHandOverOptions['clock']
  readonly #isHeld: DownlinkHandOverOptions['isHeld']
  readonly #unclaimedIds: DownlinkHandOverOptions['unclaimedIds']
  readonly #onAnswered: DownlinkHandOverOptions['onAnswered']
  readonly #lanes = new Map<string, Lane>()
  /** Devices with an item on offer, or whose next one follows a little later. */
  readonly #busy = new Set<string>()
  readonly #offeredOf = new Map<string, number>()
  /** Disabled devices, with their applications: their commands wait, and hold up nobody else's. */
  readonly #disabled = new Map<string, string>()
  readonly #awaited = new Map<DownlinkItem, () => void>()
  /** By DevEUI: what is on offer to a network server that gives ids. */
  readonly #naming = new Map<string, PromiseWithResolvers<void>>()
  /** Grows with each call of a network server: what found it away before is worth another try. */
  #generation = 0
  #isSweeping = false
  #isClosed = false
  #retriedAtMs: SteadyMs

  constructor(options: DownlinkHandOverOptions) {
    this.#queue = options.queue
    this.#serverOf = options.serverOf
    this.#places = options.places
    this.#log = options.log
    this.#clock = options.clock
    this.#isHeld = options.isHeld
    this.#unclaimedIds = options.unclaimedIds
    this.#onAnswered = options.onAnswered
    this.#retriedAtMs = options.clock.steady()
  }

  /**
   * An item has come to wait: it is offered, unless others are before it or its network server is
   * known to be away.
   */
  offer({ content: { devEui, applicationId } }: DownlinkItem): void {
    const lane = this.#lanes.get(applicationId)
    if (lane !== undefined) this.#renew(lane)
    if (lane?.missed.has(devEui) === true) return
    if (lane !== undefined && this.#isBlocked(lane)) lane.waiting.add(devEui)
    else this.#offerNext(devEui, applicationId)
  }

  /** A network server can take downlinks (again). */
  ready(): void {
    this.#generation += 1
    this.#sweepSoon()
  }

  /** To be called every second or so. */
  tick(): void {
    const now = this.#clock.steady()
    if (now - this.#retriedAtMs < RETRY_MS) return
    this.#retriedAtMs = now
    const disabled = [...this.#disabled]
    this.#disabled.clear()
    for (const [devEui, applicationId] of disabled) this.#offerNext(devEui, applicationId)
    this.ready()
  }

  /**
   * For what a command waits that has not been taken; undefined for one that does not wait here.
   */
  waitOf(item: DownlinkItem): CommandWait | undefined {
    if (item.state !== 'queued') return undefined
    const { devEui, applicationId, organizationId } = item.content
    const first = this.#queue.first(devEui)
    if (item.isOffered || first === undefined) return plainWait('handing_over')
    if (first !== item) return waitBehind(first.content.id)
    if (this.#busy.has(devEui)) return plainWait('paced')
    if (this.#isHeld(devEui)) return waitForWord(this.#queue.left(devEui).at(-1)?.content.id)
    if (this.#disabled.has(devEui)) return AWAY_DISABLED
    const lane = this.#lanes.get(applicationId)
    const away = lane?.missed.get(devEui) ?? (lane?.waiting.has(devEui) === true ? lane.away : undefined)
    if (away !== undefined) return waitForNetworkServer(away)
    return plainWait(this.#isFull(organizationId) ? 'organization_busy' : 'handing_over')
  }

  /**
   * Asks the application's network server to forget what it has for the device, and cancels what it
   * has forgotten; gives the ids of those commands. A failure is logged.
   */
  async flush(applicationId: string, devEui: string): Promise<readonly string[]> {
    const networkServer = this.#serverOf(applicationId)
    try {
      const recalledIds = (await networkServer?.flush?.(devEui)) ?? []
      return this.#queue.recalled(devEui, recalledIds, false)
    } catch (error) {
      this.#log.warn({ devEui, networkServer: networkServer?.name, error }, 'command.flush_failed')
      return []
    }
  }

  /** Whether the application's network server takes objects in the place of bytes. */
  takesObjects(applicationId: string): boolean {
    return this.#serverOf(applicationId)?.takesObjects === true
  }

  /**
   * Resolves when it is known what id the device's command on offer has got, or after 2 s;
   * undefined when no network server that gives ids is being asked.
   */
  naming(devEui: string): Promise<void> | undefined {
    const naming = this.#naming.get(devEui)
    if (naming === undefined) return undefined
    return new Promise((resolve) => {
      const stop = this.#clock.after(NAMING_MS, resolve)
      void naming.promise.then(() => {
        stop()
        resolve()
      })
    })
  }

  /**
   * Resolves with a network server's first word on the item; undefined when nobody is to be waited
   * for: it waits behind others, or its network server takes what it is given.
   */
  firstWord(item: DownlinkItem): Promise<void> | undefined {
    if (!item.isOffered || this.#serverOf(item.content.applicationId)?.judges !== true) return undefined
    // The same command may have come twice.
    const before = this.#awaited.get(item)
    return new Promise((resolve) => {
      this.#awaited.set(item, () => {
        before?.()
        resolve()
      })
    })
  }

  /** Offers nothing any more. What is on offer may still be taken. */
  close(): void {
    this.#isClosed = true
  }

  #offerNext(devEui: string, applicationId: string): void {
    if (this.#isClosed || this.#busy.has(devEui) || this.#isHeld(devEui)) return
    const item = this.#queue.next(devEui)
    if (item === undefined) return
    const { organizationId } = item.content
    if (this.#isFull(organizationId)) {
      this.#lane(applicationId, organizationId).waiting.add(devEui)
      return
    }
    item.isOffered = true
    this.#busy.add(devEui)
    this.#offeredOf.set(organizationId, (this.#offeredOf.get(organizationId) ?? 0) + 1)
    const generation = this.#generation
    void this.#ask(item).then((answer) => {
      this.#release(item)
      if (answer.outcome === 'away') this.#waitFor(answer, item, generation)
      else this.#settle(answer, item)
      if (this.#naming.has(devEui)) this.#endNaming(item)
      this.#awaited.get(item)?.()
      this.#awaited.delete(item)
      this.#goOn(applicationId)
    })
  }

  async #ask(item: DownlinkItem): Promise<HandOver> {
    const { content } = item
    try {
      const place = await this.#places.device(content.devEui)
      if (place?.organizationId !== content.organizationId) {
        this.#queue.forgetDevice(content.devEui)
        return REFUSED_REMOVED
      }
      if (place.isDisabled) return AWAY_DISABLED
      const networkServer = this.#serverOf(place.applicationId)
      if (networkServer === undefined) return AWAY_UNSERVED
      if (networkServer.givesIds === true) this.#naming.set(content.devEui, Promise.withResolvers())
      else if (content.replaces) await networkServer.flush?.(content.devEui)
      return await networkServer.handOver(this.#downlinkOf(item, place.applicationId))
    } catch (error) {
      this.#log.error({ devEui: content.devEui, error }, 'command.hand_over_failed')
      return { outcome: 'away', reason: 'the hand-over failed' }
    }
  }

  #downlinkOf(item: DownlinkItem, applicationId: string): Downlink {
    const { downlinkId: id, inDoubtSinceMs, content } = item
    const { devEui, confirmed, fPort, data, object, expiresAtMs, replaces } = content
    const downlink = { id, applicationId, devEui, confirmed, fPort, data, object, expiresAtMs, replaces }
    if (inDoubtSinceMs === undefined) return downlink
    const forMs = this.#clock.steady() - inDoubtSinceMs
    const doubt = { forMs, otherIds: this.#queue.otherIds(item), unclaimedIds: this.#unclaimedIds(item) }
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

  /** What came of the item while its network server was being asked finds the item now. */
  #endNaming(item: DownlinkItem): void {
    const { devEui } = item.content
    const naming = this.#naming.get(devEui)
    this.#naming.delete(devEui)
    this.#onAnswered(item)
    naming?.resolve()
  }

  /**
   * The item has left the queue; the device's next one goes as soon as its network server keeps
   * them in order.
   */
  #settle(answer: Exclude<HandOver, { readonly outcome: 'away' }>, item: DownlinkItem): void {
    const { devEui, applicationId } = item.content
    const lane = this.#lanes.get(applicationId)
    if (lane !== undefined) lane.away = undefined
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
    this.#clock.after(waitMs, () => {
      this.#busy.delete(devEui)
      this.#offerNext(devEui, applicationId)
    })
  }

  #waitFor(answer: Away, item: DownlinkItem, generation: number): void {
    const { devEui, applicationId, organizationId, id: commandId } = item.content
    this.#log.debug({ devEui, commandId, reason: answer.reason }, 'command.waits')
    if (answer.isInDoubt === true) item.inDoubtSinceMs = this.#clock.steady()
    if (answer === AWAY_DISABLED) {
      this.#disabled.set(devEui, applicationId)
      return
    }
    const lane = this.#lane(applicationId, organizationId)
    if (answer.isOfDevice !== true) lane.away = answer
    // A network server has called meanwhile: it is worth another try.
    if (generation !== this.#generation) {
      lane.waiting.add(devEui)
      return
    }
    this.#renew(lane)
    lane.missed.set(devEui, answer)
    if (answer.isOfDevice !== true) lane.misses += 1
  }

  /** Those that have missed in an earlier generation wait to be offered again. */
  #renew(lane: Lane): void {
    if (lane.generation === this.#generation) return
    for (const devEui of lane.missed.keys()) lane.waiting.add(devEui)
    lane.missed.clear()
    lane.misses = 0
    lane.generation = this.#generation
  }

  /** A place has become free, or a network server has called meanwhile: others may go. */
  #goOn(applicationId: string): void {
    const lane = this.#lanes.get(applicationId)
    if (lane === undefined) return
    this.#renew(lane)
    if (this.#isBlocked(lane)) return
    if (lane.waiting.size > 0) this.#sweepSoon()
    else if (lane.missed.size === 0) this.#lanes.delete(applicationId)
  }

  #sweepSoon(): void {
    if (this.#isSweeping || this.#isClosed) return
    this.#isSweeping = true
    this.#clock.afterTurn(() => this.#sweep())
  }

  /**
   * One device of each application in turn, so that none waits for the length of another's queue.
   */
  #sweep(): void {
    this.#isSweeping = false
    let offers = 0
    let isMore = false
    // A copy: lanes change their places on the way.
    const lanes = Array.from(this.#lanes)
    for (const [applicationId, lane] of lanes) {
      this.#renew(lane)
      if (this.#isBlocked(lane) || this.#isFull(lane.organizationId)) continue
      if (offers >= OFFERS_PER_TURN) {
        isMore = true
        break
      }
      const [devEui] = lane.waiting
      if (devEui === undefined) {
        if (lane.missed.size === 0) this.#lanes.delete(applicationId)
        continue
      }
      lane.waiting.delete(devEui)
      // Behind the others, for the next turn.
      this.#lanes.delete(applicationId)
      this.#lanes.set(applicationId, lane)
      offers += 1
      isMore ||= lane.waiting.size > 0
      this.#offerNext(devEui, applicationId)
    }
    if (isMore) this.#sweepSoon()
  }

  #isBlocked(lane: Lane): boolean {
    return lane.misses >= MISSES_PER_LANE
  }

  #isFull(organizationId: string): boolean {
    return (this.#offeredOf.get(organizationId) ?? 0) >= MAXIMUM_OFFERED_PER_ORGANIZATION
  }

  #lane(applicationId: string, organizationId: string): Lane {
    let lane = this.#lanes.get(applicationId)
    if (lane === undefined) {
      const generation = this.#generation
      lane = { organizationId, waiting: new Set(), missed: new Map(), away: undefined, misses: 0, generation }
      this.#lanes.set(applicationId, lane)
    }
    return lane
  }
}
