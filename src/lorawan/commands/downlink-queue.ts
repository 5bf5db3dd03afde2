/**
 * The downlink queue: the commands of all devices, durable and in order, from their acceptance to
 * their fate and for some time after it. Who hands them over is another file's subject; here each
 * change of their state is made and owned.
 */
import type { Clock } from '../../clock.ts'
import { given } from '../../given.ts'
import type { Logger } from '../../logger.ts'
import type { DurableState } from './durable-state.ts'
import { DownlinkItem, QUEUE_PREFIX, queueItemIdOf } from './downlink-item.ts'
import type { DownlinkContent, DownlinkFailure, DownlinkState, Enqueued } from './downlink-item.ts'
import type { HandOver } from './network-server.ts'
import { DownlinkShelves } from './downlink-shelves.ts'

/** The bounds of the queue. */
export interface DownlinkQueueLimits {
  /**
   * Waiting for one device. A device of class A takes one with an uplink: a hundred are days of its
   * work.
   */
  readonly waitingPerDevice: number
  /**
   * Waiting for all devices of one organization: a tenant that fills its share leaves the others
   * theirs.
   */
  readonly waitingPerOrganization: number
  /**
   * Waiting in all, some 600 bytes each, for organizations that have more than `waitingAssured`.
   */
  readonly waitingInAll: number
  /** What an organization may have waiting whatever the others do. */
  readonly waitingAssured: number
  /**
   * Kept of one device after they left the queue: their fates can be listed, and their ids are
   * known.
   */
  readonly leftPerDevice: number
  readonly leftPerOrganization: number
  /** Beyond it the organization that keeps the most loses its earliest. */
  readonly leftInAll: number
  /** How long they are kept. */
  readonly leftMs: number
  /**
   * How long a command is kept whose network server names none in its events and has said nothing
   * of it: as long as it is known, its word is not taken for another's.
   */
  readonly unheardMs: number
}

export const DOWNLINK_QUEUE_LIMITS: DownlinkQueueLimits = {
  waitingPerDevice: 100,
  waitingPerOrganization: 20_000,
  waitingInAll: 100_000,
  waitingAssured: 1_000,
  leftPerDevice: 100,
  leftPerOrganization: 20_000,
  leftInAll: 100_000,
  leftMs: 24 * 3_600_000,
  unheardMs: 30 * 24 * 3_600_000,
}

export interface DownlinkQueueOptions {
  readonly state: DurableState
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly log: Logger
  readonly limits?: DownlinkQueueLimits
  /** Told when an item is there to be offered. Must not throw. */
  readonly onWaiting: (item: DownlinkItem) => void
  /** Told when an item has come to another state than `queued`, once it is made. Must not throw. */
  readonly onFate: (item: DownlinkItem) => void
  /**
   * Told of items that a network server has: when it takes them, when it says that a gateway has
   * sent them, and after a start. Must not throw.
   */
  readonly onTaken: (item: DownlinkItem) => void
}

/** What a network server that has a command says of it. */
type Taken = Pick<Extract<HandOver, { readonly outcome: 'taken' }>, 'holdsNext' | 'networkServerItemId'>

/**
 * What became of the wish to cancel a command. `too late`: it waits no longer. `not stored`: it
 * waits on.
 */
export type Cancellation = 'cancelled' | 'unknown' | 'too late' | 'not stored'

/** Numbers for the metrics: how many commands came to each state, and how many are there now. */
export type DownlinkCounts = Record<'accepted' | 'repeated' | Exclude<DownlinkState, 'queued'>, number>

const EXPIRED: DownlinkFailure = { code: 'command_expired', reason: 'expiresAt: came before the command could be sent' }
const CANCELLED: DownlinkFailure = { code: 'command_cancelled', reason: 'the command was cancelled' }
const REPLACED: DownlinkFailure = { code: 'command_replaced', reason: 'a later command with replace took its place' }
const JOINED: DownlinkFailure = {
  code: 'command_unconfirmed',
  reason: 'the device has joined again, and the network server has not said whether it acknowledged the command',
}
const REMOVED: DownlinkFailure = { code: 'command_device_removed', reason: 'the device was removed' }

export class DownlinkQueue {
  readonly counts: DownlinkCounts = {
    accepted: 0,
    repeated: 0,
    sent: 0,
    acknowledged: 0,
    not_acknowledged: 0,
    unconfirmed: 0,
    failed: 0,
    expired: 0,
    cancelled: 0,
  }
  readonly #state: DurableState
  readonly #clock: DownlinkQueueOptions['clock']
  readonly #log: Logger
  readonly #limits: DownlinkQueueLimits
  readonly #onWaiting: DownlinkQueueOptions['onWaiting']
  readonly #onFate: DownlinkQueueOptions['onFate']
  readonly #onTaken: DownlinkQueueOptions['onTaken']
  readonly #shelves = new DownlinkShelves()
  /** Items that expire, as long as they wait. */
  readonly #expiring = new Set<DownlinkItem>()
  /**
   * Items whose state could not be written, and is to be. While the disk is full no more come in,
   * so it is bounded as they are.
   */
  readonly #unwritten = new Set<DownlinkItem>()
  #nextExpiryMs = Infinity
  #sequence = 0

  constructor(options: DownlinkQueueOptions) {
    this.#state = options.state
    this.#clock = options.clock
    this.#log = options.log
    this.#limits = options.limits ?? DOWNLINK_QUEUE_LIMITS
    this.#onWaiting = options.onWaiting
    this.#onFate = options.onFate
    this.#onTaken = options.onTaken
  }

  /** How many items wait, and how many are kept after that. */
  get sizes(): { readonly waiting: number; readonly left: number } {
    return { waiting: this.#shelves.waiting, left: this.#shelves.left }
  }

  /**
   * Reads what is stored; once, before anything else. What can't be read is logged and left alone.
   */
  async load(): Promise<void> {
    const items: DownlinkItem[] = []
    for await (const { key, value } of this.#state.load(QUEUE_PREFIX)) {
      try {
        items.push(DownlinkItem.fromState(value))
      } catch (error) {
        this.#log.error({ key, error }, 'command.unreadable')
      }
    }
    items.sort((one, other) => one.leftAtMs - other.leftAtMs || one.sequence - other.sequence)
    for (const item of items) {
      this.#sequence = Math.max(this.#sequence, item.sequence)
      if (item.state === 'queued') {
        // It may have been on offer when the process ended.
        item.inDoubtSinceMs = this.#clock.steady()
        this.#wait(item)
        continue
      }
      this.#shelves.addLeft(item)
      this.#onTaken(item)
    }
    for (const { waiting } of this.#shelves.devices()) for (const item of waiting) this.#onWaiting(item)
  }

  /**
   * Takes a command, if there is room; resolves when the durable state owns it. The same id with
   * the same content is the same command again: its sender did not hear of the first answer.
   */
  enqueue(content: DownlinkContent): Promise<Enqueued> {
    const shelf = this.#shelves.device(content.devEui)
    // The DevEUI has come to another organization, which must not meet the commands of the former
    // one.
    if (shelf !== undefined && shelf.organizationId !== content.organizationId) this.forgetDevice(content.devEui)
    const known = this.#shelves.find(content.devEui, queueItemIdOf(content.id))
    if (known !== undefined) return this.#again(known, content)
    const replaced = content.replaces ? this.#cancellable(content.devEui) : []
    const fault = this.#roomFault(content, replaced.length)
    if (fault !== undefined) return Promise.resolve({ ok: false, code: 'command_queue_full', reason: fault })
    this.#sequence += 1
    const item = new DownlinkItem(content, this.#sequence, this.#clock.now())
    for (const other of replaced) this.#leave(other, 'cancelled', REPLACED)
    this.#wait(item)
    item.accepted = this.#own(item, replaced)
    return item.accepted
  }

  /**
   * What is known of the device's commands: those that wait in the order of sending, then the
   * others, the latest first.
   */
  list(organizationId: string, devEui: string): readonly DownlinkItem[] {
    const shelf = this.#shelves.device(devEui)
    if (shelf?.organizationId !== organizationId) return []
    return [...shelf.waiting, ...shelf.left.toReversed()]
  }

  /** Cancels a command that waits. */
  async cancel(organizationId: string, devEui: string, id: string): Promise<Cancellation> {
    const item = this.#shelves.find(devEui, queueItemIdOf(id))
    if (item?.content.organizationId !== organizationId) return 'unknown'
    if (item.state === 'cancelled') return 'cancelled'
    if (item.state !== 'queued' || item.isOffered) return 'too late'
    return (await this.#cancelAll([item])) ? 'cancelled' : 'not stored'
  }

  /**
   * Cancels all commands that wait for the device; gives their ids. Undefined when that could not
   * be stored; then they wait on.
   */
  async flush(organizationId: string, devEui: string): Promise<readonly string[] | undefined> {
    if (this.#shelves.device(devEui)?.organizationId !== organizationId) return []
    const items = this.#cancellable(devEui)
    return (await this.#cancelAll(items)) ? items.map(({ content }) => content.id) : undefined
  }

  /**
   * The ids of the device's commands that its network server has, or is being offered, and that are
   * not known to be sent.
   */
  away(organizationId: string, devEui: string): readonly string[] {
    const shelf = this.#shelves.device(devEui)
    if (shelf?.organizationId !== organizationId) return []
    return [...shelf.left, ...shelf.waiting].filter(isAway).map(({ content }) => content.id)
  }

  /** The item that is to be offered next for the device; expired ones have their fate first. */
  next(devEui: string): DownlinkItem | undefined {
    const now = this.#clock.now()
    // A copy: what has expired leaves the shelf meanwhile.
    const waiting = this.#shelves.device(devEui)?.waiting.slice() ?? []
    for (const item of waiting) {
      if (!item.isOwned) continue
      if ((item.content.expiresAtMs ?? Infinity) > now) return item
      this.#settle(item, 'expired', EXPIRED)
    }
    return undefined
  }

  /** The one that goes first of those that wait for the device and are stored, expired or not. */
  first(devEui: string): DownlinkItem | undefined {
    return this.#shelves.device(devEui)?.waiting.find(({ isOwned }) => isOwned)
  }

  /**
   * The network server has the item, under an id of its own where it gives ids: it is never offered
   * again.
   */
  taken(item: DownlinkItem, { holdsNext = false, networkServerItemId }: Partial<Taken> = {}): void {
    const isNamed = networkServerItemId !== undefined && item.networkServerItemId === undefined && !item.isForgotten
    if (isNamed) this.#shelves.name(item, networkServerItemId)
    item.inDoubtSinceMs = undefined
    if (item.state === 'queued') {
      item.holdsNext = holdsNext
      this.#settle(item, 'sent', undefined)
      this.#onTaken(item)
    } else if (isNamed) this.#write([item])
  }

  /** The network server has said nothing of the item for too long. */
  unconfirmed(item: DownlinkItem, failure: DownlinkFailure): void {
    if (item.state === 'sent') this.#settle(item, 'unconfirmed', failure)
  }

  /** No event is taken for the word on the item any more, unless it names it. */
  giveUp(item: DownlinkItem): void {
    item.isGivenUp = true
    this.#write([item])
  }

  /**
   * The device has joined: frame counters begin again, and what it has not acknowledged it won't
   * any more.
   */
  joined(devEui: string): void {
    const before = this.left(devEui).filter(({ fCnt, isOfFormerSession }) => fCnt !== undefined && !isOfFormerSession)
    for (const item of before) {
      item.isOfFormerSession = true
      if (item.content.confirmed) this.unconfirmed(item, JOINED)
    }
    this.#write(before)
  }

  /**
   * The network server has forgotten what it had under these ids: that is cancelled, or replaced.
   * Gives the senders' ids of it.
   */
  recalled(devEui: string, networkServerItemIds: readonly string[], isReplaced: boolean): readonly string[] {
    const ids: string[] = []
    for (const networkServerItemId of networkServerItemIds) {
      const item = this.#shelves.findNamed(devEui, networkServerItemId)
      if (item === undefined || !isOpen(item)) continue
      this.#settle(item, 'cancelled', isReplaced ? REPLACED : CANCELLED)
      ids.push(item.content.id)
    }
    return ids
  }

  /** The network server's ids of the device's commands, without that of the item. */
  otherIds(item: DownlinkItem): ReadonlySet<string> {
    const ids = new Set(this.#shelves.device(item.content.devEui)?.named.keys())
    if (item.networkServerItemId !== undefined) ids.delete(item.networkServerItemId)
    return ids
  }

  /** Whether a command of the device waits that its network server may have without our knowing. */
  isInDoubt(devEui: string): boolean {
    const waiting = this.#shelves.device(devEui)?.waiting ?? []
    return waiting.some(({ inDoubtSinceMs, isOffered }) => inDoubtSinceMs !== undefined || isOffered)
  }

  /** The item will not come to the device, or not be known to have come. */
  failed(item: DownlinkItem, failure: DownlinkFailure, fCnt?: number): void {
    if (!isOpen(item)) return
    item.fCnt = fCnt ?? item.fCnt
    this.#settle(item, 'failed', failure)
  }

  /** The network server has let it expire. */
  expired(item: DownlinkItem, failure: DownlinkFailure): void {
    if (isOpen(item)) this.#settle(item, 'expired', failure)
  }

  /** A gateway has sent it. */
  transmitted(item: DownlinkItem, fCnt: number | undefined, nowMs: number): void {
    this.taken(item)
    // It had gone when its network server was asked to forget it.
    if (item.state === 'cancelled' && item.networkServerItemId !== undefined) this.#settle(item, 'sent', undefined)
    item.fCnt = fCnt ?? item.fCnt
    item.transmittedAtMs = nowMs
    if (item.state === 'unconfirmed') {
      item.state = 'sent'
      item.failure = undefined
    }
    this.#write([item])
    this.#onTaken(item)
  }

  /** The device has acknowledged it, or has not within its time. */
  answered(item: DownlinkItem, isAcknowledged: boolean, fCnt: number | undefined): void {
    this.taken(item)
    item.fCnt = fCnt ?? item.fCnt
    const state = isAcknowledged ? 'acknowledged' : 'not_acknowledged'
    // Each is told once; that it came is the better knowledge.
    if (item.state === state || item.state === 'acknowledged') return
    this.#settle(item, state, undefined)
  }

  /** Whose the device's commands are; undefined when there are none. */
  organizationOf(devEui: string): string | undefined {
    return this.#shelves.device(devEui)?.organizationId
  }

  /** Whether there is any command of the device: an event of one without is about none. */
  knows(devEui: string): boolean {
    return this.#shelves.device(devEui) !== undefined
  }

  find(devEui: string, id: string): DownlinkItem | undefined {
    return this.#shelves.find(devEui, id)
  }

  /**
   * The command by an id that an event names: the network server's own, else the one that it was
   * given.
   */
  findNamed(devEui: string, id: string): DownlinkItem | undefined {
    return this.#shelves.findNamed(devEui, id) ?? this.#shelves.find(devEui, id)
  }

  /** The items of the device that have left the queue, the earliest first. */
  left(devEui: string): readonly DownlinkItem[] {
    return this.#shelves.device(devEui)?.left ?? []
  }

  /**
   * A device is gone: what waits for it has failed, and nothing of it is kept for whoever has the
   * DevEUI next.
   */
  forgetDevice(devEui: string): void {
    const shelf = this.#shelves.device(devEui)
    if (shelf === undefined) return
    for (const item of shelf.waiting.slice()) this.#settle(item, 'failed', REMOVED)
    this.#forget(shelf.left.slice())
  }

  /** An application is gone, with its devices. */
  forgetApplication(applicationId: string): void {
    const shelves = Array.from(this.#shelves.devices())
    for (const shelf of shelves) {
      const one = shelf.waiting[0] ?? shelf.left[0]
      if (one?.content.applicationId === applicationId) this.forgetDevice(shelf.devEui)
    }
  }

  /**
   * To be called every second or so: lets expire what has, forgets what was kept long enough,
   * writes what could not be.
   */
  tick(): void {
    const now = this.#clock.now()
    if (now >= this.#nextExpiryMs) this.#expire(now)
    const { leftMs, unheardMs } = this.#limits
    const isOver = (item: DownlinkItem): boolean =>
      !(item.holdsNext && item.awaitsWord && !item.isGivenUp) || item.leftAtMs < now - unheardMs
    this.#forget([...this.#shelves.leftBefore(now - leftMs)].filter(isOver))
    if (this.#unwritten.size === 0) return
    const items = [...this.#unwritten]
    this.#unwritten.clear()
    // The key of a forgotten one may be another's by now.
    this.#write(
      items.filter((item) => !item.isForgotten || this.find(item.content.devEui, item.queueItemId) === undefined),
    )
  }

  #again(known: DownlinkItem, content: DownlinkContent): Promise<Enqueued> {
    if (!known.isSameAs(content)) {
      const reason = 'id: another command for this device has it'
      return Promise.resolve({ ok: false, code: 'command_id_taken', reason })
    }
    this.counts.repeated += 1
    const answer: Promise<Enqueued> = known.accepted ?? Promise.resolve({ ok: true, item: known, isRepeated: false })
    return answer.then((first) => (first.ok ? { ...first, isRepeated: true } : first))
  }

  #roomFault({ devEui, organizationId }: DownlinkContent, freed: number): string | undefined {
    const { waitingPerDevice, waitingPerOrganization, waitingInAll, waitingAssured } = this.#limits
    const ofDevice = this.#shelves.device(devEui)?.waiting.length ?? 0
    if (ofDevice - freed >= waitingPerDevice) return `${waitingPerDevice} commands wait for the device already`
    const ofOrganization = this.#shelves.waitingOf(organizationId) - freed
    if (ofOrganization >= waitingPerOrganization) {
      return `${waitingPerOrganization} commands wait for devices of the organization already`
    }
    if (this.#shelves.waiting - freed >= waitingInAll && ofOrganization >= waitingAssured) {
      return 'the service has no room for more commands now'
    }
    return undefined
  }

  async #own(item: DownlinkItem, replaced: readonly DownlinkItem[]): Promise<Enqueued> {
    try {
      await this.#state.write([...replaced.map((other) => other.toChange()), item.toChange()])
    } catch (error) {
      this.#shelves.removeWaiting(item)
      this.#expiring.delete(item)
      for (const other of replaced) this.#comeBack(other)
      this.#log.error({ devEui: item.content.devEui, error }, 'command.not_stored')
      return { ok: false, code: 'command_not_stored', reason: 'the command could not be stored; send it again' }
    } finally {
      item.accepted = undefined
    }
    item.isOwned = true
    this.counts.accepted += 1
    const { devEui, organizationId, id } = item.content
    this.#log.info({ devEui, organizationId, commandId: id }, 'command.queued')
    for (const other of replaced) this.#tell(other)
    if (item.state === 'queued') this.#onWaiting(item)
    return { ok: true, item, isRepeated: false }
  }

  #cancellable(devEui: string): DownlinkItem[] {
    return (this.#shelves.device(devEui)?.waiting ?? []).filter((item) => item.isOwned && !item.isOffered)
  }

  async #cancelAll(items: readonly DownlinkItem[]): Promise<boolean> {
    if (items.length === 0) return true
    for (const item of items) this.#leave(item, 'cancelled', CANCELLED)
    try {
      await this.#state.write(items.map((item) => item.toChange()))
    } catch (error) {
      this.#log.error({ commands: items.length, error }, 'command.not_cancelled')
      for (const item of items) this.#comeBack(item)
      return false
    }
    for (const item of items) this.#tell(item)
    return true
  }

  #expire(now: number): void {
    this.#nextExpiryMs = Infinity
    for (const item of this.#expiring) {
      const expiresAtMs = item.content.expiresAtMs ?? Infinity
      // What a network server is looking at may be taken: it is looked at again.
      if (expiresAtMs <= now && item.isOwned && !item.isOffered) this.#settle(item, 'expired', EXPIRED)
      else this.#nextExpiryMs = Math.min(this.#nextExpiryMs, Math.max(expiresAtMs, now))
    }
  }

  #wait(item: DownlinkItem): void {
    this.#shelves.addWaiting(item)
    const { expiresAtMs } = item.content
    if (expiresAtMs === undefined) return
    this.#expiring.add(item)
    this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs)
  }

  /** Makes the change and has it written; what can't be written now is written later. */
  #settle(item: DownlinkItem, state: DownlinkState, failure: DownlinkFailure | undefined): void {
    this.#leave(item, state, failure)
    this.#write([item])
    this.#tell(item)
  }

  #leave(item: DownlinkItem, state: DownlinkState, failure: DownlinkFailure | undefined): void {
    const waited = item.state === 'queued'
    item.state = state
    item.failure = failure
    if (!waited) return
    item.leftAtMs = this.#clock.now()
    this.#expiring.delete(item)
    // Added first, so that the device's shelf is never given up in between.
    this.#shelves.addLeft(item)
    this.#shelves.removeWaiting(item)
    this.#makeRoom(item)
  }

  #comeBack(item: DownlinkItem): void {
    item.state = 'queued'
    item.failure = undefined
    item.leftAtMs = 0
    this.#wait(item)
    this.#shelves.removeLeft(item)
    this.#onWaiting(item)
  }

  #tell(item: DownlinkItem): void {
    const { state, failure } = item
    if (state === 'queued') return
    this.counts[state] += 1
    const { devEui, organizationId, id: commandId } = item.content
    const fields = { devEui, organizationId, commandId, ...given({ code: failure?.code }) }
    this.#log.info(fields, `command.${state}`)
    this.#onFate(item)
  }

  #makeRoom({ content: { devEui, organizationId } }: DownlinkItem): void {
    const { leftPerDevice, leftPerOrganization, leftInAll } = this.#limits
    const ofDevice = this.#shelves.device(devEui)?.left ?? []
    if (ofDevice.length > leftPerDevice) this.#forget(ofDevice.slice(0, 1))
    const ofOrganization = this.#shelves.leftOf(organizationId)
    if (ofOrganization.size > leftPerOrganization) this.#forgetSome(ofOrganization)
    if (this.#shelves.left > leftInAll) this.#forgetSome(this.#shelves.largestOrganization())
  }

  /**
   * The earliest hundredth, in one write: where a large Set begins that is always cut off there
   * takes 6 µs to find.
   */
  #forgetSome(items: ReadonlySet<DownlinkItem> = new Set()): void {
    this.#forget([...items.values().take(Math.ceil(items.size / 100))])
  }

  #forget(items: readonly DownlinkItem[]): void {
    if (items.length === 0) return
    for (const item of items) {
      this.#shelves.removeLeft(item)
      item.isForgotten = true
    }
    this.#write(items)
  }

  #write(items: readonly DownlinkItem[]): void {
    if (items.length === 0) return
    this.#state.write(items.map((item) => item.toChange())).catch((error: unknown) => {
      this.#log.error({ commands: items.length, error }, 'command.state_not_written')
      for (const item of items) this.#unwritten.add(item)
    })
  }
}

/** It may come to a fate. */
function isOpen({ state }: DownlinkItem): boolean {
  return state === 'queued' || state === 'sent' || state === 'unconfirmed'
}

function isAway({ state, isOffered, transmittedAtMs, content }: DownlinkItem): boolean {
  if (state === 'queued') return isOffered
  return state === 'unconfirmed' || (state === 'sent' && (content.confirmed || transmittedAtMs === 0))
}
