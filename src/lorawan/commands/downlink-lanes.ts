/**
 * Devices whose next command waits because its network server was away, or because the organization
 * has too many commands on offer. The devices of one application wait in one lane; when they may go
 * on, the lanes take turns.
 */
import type { Clock } from '../../clock.ts'
import type { DownlinkItem } from './downlink-item.ts'
import type { HandOverAnswer } from './network-server.ts'

export type Away = Extract<HandOverAnswer, { readonly outcome: 'away' }>

export interface DownlinkLanesOptions {
  readonly clock: Pick<Clock, 'afterTurn'>
  /** True when the organization has as many commands on offer as it may have. */
  readonly isFull: (organizationId: string) => boolean
  /** Offers the device's next command. */
  readonly offerNext: (devEui: string, applicationId: string) => void
}

/** Devices of one application that will be offered their next command again. */
interface Lane {
  readonly organizationId: string
  readonly waiting: Set<string>
  /** Devices whose offers of this generation found the network server away. */
  readonly missed: Map<string, Away>
  /** The latest answer by which the network server took no command of any of its devices. */
  away: Away | undefined
  /** How many offers of this generation found it away for all devices. */
  misses: number
  generation: number
}

/**
 * After so many answers "away", the application's other devices wait for the network server. One
 * answer is not enough: a network server may have subscribed to single devices.
 */
const MISSES_PER_LANE = 8
/**
 * Offers in one turn of the event loop. Without this bound, the return of a network server with
 * many waiting devices would stall everybody else.
 */
const OFFERS_PER_TURN = 200

export class DownlinkLanes {
  readonly #clock: DownlinkLanesOptions['clock']
  readonly #isFull: DownlinkLanesOptions['isFull']
  readonly #offerNext: DownlinkLanesOptions['offerNext']
  /** By application. */
  readonly #lanes = new Map<string, Lane>()
  /** Grows whenever a network server calls: offers that missed before are worth another try. */
  #generation = 0
  #isSweeping = false
  #isClosed = false

  constructor({ clock, isFull, offerNext }: DownlinkLanesOptions) {
    this.#clock = clock
    this.#isFull = isFull
    this.#offerNext = offerNext
  }

  /** To be noted before an offer, and given to `missed` after it. */
  get generation(): number {
    return this.#generation
  }

  /** A network server can take downlinks (again). */
  ready(): void {
    this.#generation += 1
    this.#sweepSoon()
  }

  /**
   * True when the device's next command can be offered now. Otherwise the device waits, and is
   * offered its next command later.
   */
  admits(devEui: string, applicationId: string): boolean {
    const lane = this.#lanes.get(applicationId)
    if (lane === undefined) return true
    this.#renew(lane)
    if (lane.missed.has(devEui)) return false
    if (!isBlocked(lane)) return true
    lane.waiting.add(devEui)
    return false
  }

  /** The device waits until its organization has fewer commands on offer. */
  wait({ devEui, applicationId, organizationId }: DownlinkItem['content']): void {
    this.#lane(applicationId, organizationId).waiting.add(devEui)
  }

  /** An offer of this generation found the network server away. */
  missed(answer: Away, { content }: DownlinkItem, generation: number): void {
    const { devEui, applicationId, organizationId } = content
    const lane = this.#lane(applicationId, organizationId)
    if (answer.isOfDevice !== true) lane.away = answer
    // A network server has called since the offer: the device may be offered its command again.
    if (generation !== this.#generation) {
      lane.waiting.add(devEui)
      return
    }
    this.#renew(lane)
    lane.missed.set(devEui, answer)
    if (answer.isOfDevice !== true) lane.misses += 1
  }

  /** The application's network server has answered: it is not away. */
  reached(applicationId: string): void {
    const lane = this.#lanes.get(applicationId)
    if (lane !== undefined) lane.away = undefined
  }

  /** The answer "away" because of which the device waits; undefined when there is none. */
  awayOf(devEui: string, applicationId: string): Away | undefined {
    const lane = this.#lanes.get(applicationId)
    return lane?.missed.get(devEui) ?? (lane?.waiting.has(devEui) === true ? lane.away : undefined)
  }

  /** An offer has ended, so that other devices may have their turn. */
  goOn(applicationId: string): void {
    const lane = this.#lanes.get(applicationId)
    if (lane === undefined) return
    this.#renew(lane)
    if (isBlocked(lane)) return
    if (lane.waiting.size > 0) this.#sweepSoon()
    else if (lane.missed.size === 0) this.#lanes.delete(applicationId)
  }

  /** Offers nothing any more. */
  close(): void {
    this.#isClosed = true
  }

  /**
   * In a new generation, the devices that missed before wait to be offered their commands again.
   */
  #renew(lane: Lane): void {
    if (lane.generation === this.#generation) return
    for (const devEui of lane.missed.keys()) lane.waiting.add(devEui)
    lane.missed.clear()
    lane.misses = 0
    lane.generation = this.#generation
  }

  #sweepSoon(): void {
    if (this.#isSweeping || this.#isClosed) return
    this.#isSweeping = true
    this.#clock.afterTurn(() => this.#sweep())
  }

  /**
   * Offers the next command of one device of each application, then of the next device of each
   * application: no application waits for the length of another's lane.
   */
  #sweep(): void {
    this.#isSweeping = false
    let offers = 0
    let isMore = false
    // A copy, because lanes change their places below.
    const lanes = Array.from(this.#lanes)
    for (const [applicationId, lane] of lanes) {
      this.#renew(lane)
      if (isBlocked(lane) || this.#isFull(lane.organizationId)) continue
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
      // The lane goes behind the others, for the next sweep.
      this.#lanes.delete(applicationId)
      this.#lanes.set(applicationId, lane)
      offers += 1
      isMore ||= lane.waiting.size > 0
      this.#offerNext(devEui, applicationId)
    }
    if (isMore) this.#sweepSoon()
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

function isBlocked(lane: Lane): boolean {
  return lane.misses >= MISSES_PER_LANE
}
