/**
 * The downlink queue: the commands of all devices, durable and in order, from their acceptance to
 * their fate and for some time after it. downlink-hand-over.ts offers them to network servers.
 */
import type { Logger } from '../../logger.ts'
import { DownlinkItem, queueItemIdOf } from './downlink-item.ts'
import type { DownlinkContent, DownlinkFailure, Enqueued } from './downlink-item.ts'
import { DownlinkRecords } from './downlink-records.ts'
import type { DownlinkCounts, DownlinkRecordsOptions } from './downlink-records.ts'
import type { DownlinkShelves } from './downlink-shelves.ts'
import type { LoadedState } from './durable-state.ts'
import type { HandOverAnswer } from './network-server.ts'

/** The part of a network server's answer "taken" that the queue keeps. */
type Taken = Pick<Extract<HandOverAnswer, { readonly outcome: 'taken' }>, 'holdsNext' | 'networkServerItemId'>

/**
 * The answer to a request to cancel a command. `too late`: the command has left the queue, or is on
 * offer. `not stored`: the command still waits.
 */
export type Cancellation = 'cancelled' | 'unknown' | 'too late' | 'not stored'

const CANCELLED: DownlinkFailure = { code: 'command_cancelled', reason: 'the command was cancelled' }
const REPLACED: DownlinkFailure = { code: 'command_replaced', reason: 'a later command with replace took its place' }
const JOINED: DownlinkFailure = {
  code: 'command_unconfirmed',
  reason: 'the device has joined again, and the network server has not said whether it acknowledged the command',
}
const REMOVED: DownlinkFailure = { code: 'command_device_removed', reason: 'the device was removed' }

export class DownlinkQueue {
  readonly #records: DownlinkRecords
  readonly #shelves: DownlinkShelves
  readonly #clock: DownlinkRecordsOptions['clock']
  readonly #log: Logger
  readonly #maximumWaitingOf: DownlinkRecordsOptions['maximumWaitingOf']
  readonly #onWaiting: DownlinkRecordsOptions['onWaiting']
  readonly #onTaken: DownlinkRecordsOptions['onTaken']
  #sequence = 0

  constructor(options: DownlinkRecordsOptions) {
    this.#records = new DownlinkRecords(options)
    this.#shelves = this.#records.shelves
    this.#clock = options.clock
    this.#log = options.log
    this.#maximumWaitingOf = options.maximumWaitingOf
    this.#onWaiting = options.onWaiting
    this.#onTaken = options.onTaken
  }

  get counts(): Readonly<DownlinkCounts> {
    return this.#records.counts
  }

  /** How many items wait, and how many are kept after they left the queue. */
  get sizes(): { readonly waiting: number; readonly left: number } {
    return { waiting: this.#shelves.waiting, left: this.#shelves.left }
  }

  /** How many commands wait for the devices of the organization. */
  waitingOf(organizationId: string): number {
    return this.#shelves.waitingOf(organizationId)
  }

  /** The organizations for whose devices commands wait. */
  waitingOrganizations(): Iterable<string> {
    return this.#shelves.waitingOrganizations()
  }

  /**
   * Reads stored commands: those of this node before anything else, and those of a dead node.
   * Logs an unreadable command and leaves it in the store.
   */
  async load(entries: LoadedState): Promise<void> {
    this.#sequence = Math.max(this.#sequence, await this.#records.load(entries))
  }

  /**
   * Takes a command, if there is room; resolves when the durable state owns it. A command with the
   * same id and the same content is the same command again: its sender did not hear of the first
   * answer.
   */
  enqueue(content: DownlinkContent): Promise<Enqueued> {
    const shelf = this.#shelves.device(content.devEui)
    // The DevEUI belongs to another organization now, which must not meet the commands of the
    // former one.
    if (shelf !== undefined && shelf.organizationId !== content.organizationId) this.forgetDevice(content.devEui)
    const known = this.#shelves.find(content.devEui, queueItemIdOf(content.id))
    if (known !== undefined) return this.#again(known, content)
    const replaced = content.replaces ? this.#cancellable(content.devEui) : []
    const fault = this.#roomFault(content, replaced.length)
    if (fault !== undefined) return Promise.resolve({ ok: false, code: 'command_queue_full', reason: fault })
    this.#sequence += 1
    const item = new DownlinkItem(content, this.#sequence, this.#clock.now())
    for (const other of replaced) this.#records.leave(other, 'cancelled', REPLACED)
    this.#records.addWaiting(item)
    item.accepted = this.#own(item, replaced)
    return item.accepted
  }

  /**
   * The known commands of the device: first the waiting ones in the order of sending, then the
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
   * Cancels all commands that wait for the device; resolves with their ids. Undefined when the
   * cancellation could not be stored: then the commands still wait.
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

  /**
   * The item to be offered next for the device. Expires the items before it whose time has come.
   */
  next(devEui: string): DownlinkItem | undefined {
    const now = this.#clock.now()
    // A copy, because an expired item leaves the shelf.
    const waiting = this.#shelves.device(devEui)?.waiting.slice() ?? []
    for (const item of waiting) {
      if (!item.isOwned) continue
      if ((item.content.expiresAtMs ?? Infinity) > now) return item
      this.#records.expire(item)
    }
    return undefined
  }

  /** The first item that waits for the device and is stored, expired or not. */
  first(devEui: string): DownlinkItem | undefined {
    return this.#shelves.device(devEui)?.waiting.find(({ isOwned }) => isOwned)
  }

  /**
   * The network server has the item, under an id of its own if it gives ids. The item is never
   * offered again.
   */
  taken(item: DownlinkItem, { holdsNext = false, networkServerItemId }: Partial<Taken> = {}): void {
    const isNamed = networkServerItemId !== undefined && item.networkServerItemId === undefined && !item.isForgotten
    if (isNamed) this.#shelves.name(item, networkServerItemId)
    item.inDoubtSinceMs = undefined
    if (item.state === 'queued') {
      item.holdsNext = holdsNext
      this.#records.settle(item, 'sent', undefined)
      this.#onTaken(item)
    } else if (isNamed) this.#records.write([item])
  }

  /** The network server has said nothing about the item for too long. */
  unconfirmed(item: DownlinkItem, failure: DownlinkFailure): void {
    if (item.state === 'sent') this.#records.settle(item, 'unconfirmed', failure)
  }

  /** From now on only an event that names the item is taken for an event about it. */
  giveUp(item: DownlinkItem): void {
    item.isGivenUp = true
    this.#records.write([item])
  }

  /**
   * The device has joined: its frame counters begin again, and it will not acknowledge commands of
   * the former session any more.
   */
  joined(devEui: string): void {
    const before = this.left(devEui).filter(({ fCnt, isOfFormerSession }) => fCnt !== undefined && !isOfFormerSession)
    for (const item of before) {
      item.isOfFormerSession = true
      if (item.content.confirmed) this.unconfirmed(item, JOINED)
    }
    this.#records.write(before)
  }

  /**
   * The network server has forgotten the items with these ids of its own: they are cancelled, or
   * replaced. Returns their senders' ids.
   */
  recalled(devEui: string, networkServerItemIds: readonly string[], isReplaced: boolean): readonly string[] {
    const ids: string[] = []
    for (const networkServerItemId of networkServerItemIds) {
      const item = this.#shelves.findNamed(devEui, networkServerItemId)
      if (item === undefined || !isOpen(item)) continue
      this.#records.settle(item, 'cancelled', isReplaced ? REPLACED : CANCELLED)
      ids.push(item.content.id)
    }
    return ids
  }

  /** The ids that the network server gave to the device's other commands. */
  otherIds(item: DownlinkItem): ReadonlySet<string> {
    const ids = new Set(this.#shelves.device(item.content.devEui)?.named.keys())
    if (item.networkServerItemId !== undefined) ids.delete(item.networkServerItemId)
    return ids
  }

  /**
   * True when the network server may have a waiting command of the device without this service
   * knowing.
   */
  isInDoubt(devEui: string): boolean {
    const waiting = this.#shelves.device(devEui)?.waiting ?? []
    return waiting.some(({ inDoubtSinceMs, isOffered }) => inDoubtSinceMs !== undefined || isOffered)
  }

  /** The item will not reach the device, or nobody will know that it did. */
  failed(item: DownlinkItem, failure: DownlinkFailure, fCnt?: number): void {
    if (!isOpen(item)) return
    item.fCnt = fCnt ?? item.fCnt
    this.#records.settle(item, 'failed', failure)
  }

  /** The network server has discarded the item because it expired there. */
  expired(item: DownlinkItem, failure: DownlinkFailure): void {
    if (isOpen(item)) this.#records.settle(item, 'expired', failure)
  }

  /** A gateway has sent the item. */
  transmitted(item: DownlinkItem, fCnt: number | undefined, nowMs: number): void {
    this.taken(item)
    // The gateway had sent it before the network server was asked to forget it.
    if (item.state === 'cancelled' && item.networkServerItemId !== undefined) {
      this.#records.settle(item, 'sent', undefined)
    }
    item.fCnt = fCnt ?? item.fCnt
    item.transmittedAtMs = nowMs
    if (item.state === 'unconfirmed') {
      item.state = 'sent'
      item.failure = undefined
    }
    this.#records.write([item])
    this.#onTaken(item)
  }

  /** The device has acknowledged the item, or has not done so in time. */
  answered(item: DownlinkItem, isAcknowledged: boolean, fCnt: number | undefined): void {
    this.taken(item)
    item.fCnt = fCnt ?? item.fCnt
    const state = isAcknowledged ? 'acknowledged' : 'not_acknowledged'
    // Each state is told once, and an acknowledgement is never taken back.
    if (item.state === state || item.state === 'acknowledged') return
    this.#records.settle(item, state, undefined)
  }

  /** The organization of the device's commands; undefined when the device has none. */
  organizationOf(devEui: string): string | undefined {
    return this.#shelves.device(devEui)?.organizationId
  }

  /** True when there is any command of the device: otherwise no event of it is about a command. */
  knows(devEui: string): boolean {
    return this.#shelves.device(devEui) !== undefined
  }

  find(devEui: string, id: string): DownlinkItem | undefined {
    return this.#shelves.find(devEui, id)
  }

  /**
   * The command with an id that an event names: the id that the network server gave, else the id
   * that it was given.
   */
  findNamed(devEui: string, id: string): DownlinkItem | undefined {
    return this.#shelves.findNamed(devEui, id) ?? this.#shelves.find(devEui, id)
  }

  /** The items of the device that have left the queue, the earliest first. */
  left(devEui: string): readonly DownlinkItem[] {
    return this.#shelves.device(devEui)?.left ?? []
  }

  /**
   * The device is gone: its waiting commands fail, and its other commands are forgotten, so that
   * the next owner of the DevEUI sees none of them.
   */
  forgetDevice(devEui: string): void {
    const shelf = this.#shelves.device(devEui)
    if (shelf === undefined) return
    for (const item of shelf.waiting.slice()) this.#records.settle(item, 'failed', REMOVED)
    this.#records.forget(shelf.left.slice())
  }

  /** The application is gone, with its devices. */
  forgetApplication(applicationId: string): void {
    const shelves = Array.from(this.#shelves.devices())
    for (const shelf of shelves) {
      const one = shelf.waiting[0] ?? shelf.left[0]
      if (one?.content.applicationId === applicationId) this.forgetDevice(shelf.devEui)
    }
  }

  /**
   * To be called about every second: expires commands, forgets commands that were kept long enough,
   * and repeats failed writes.
   */
  tick(): void {
    this.#records.tick()
  }

  #again(known: DownlinkItem, content: DownlinkContent): Promise<Enqueued> {
    if (!known.isSameAs(content)) {
      const reason = 'id: another command for this device has it'
      return Promise.resolve({ ok: false, code: 'command_id_taken', reason })
    }
    this.#records.counts.repeated += 1
    const answer: Promise<Enqueued> = known.accepted ?? Promise.resolve({ ok: true, item: known, isRepeated: false })
    return answer.then((first) => (first.ok ? { ...first, isRepeated: true } : first))
  }

  #roomFault({ devEui, organizationId }: DownlinkContent, freed: number): string | undefined {
    const { waitingPerDevice, waitingInAll, waitingAssured } = this.#records.limits
    const ofDevice = this.#shelves.device(devEui)?.waiting.length ?? 0
    if (ofDevice - freed >= waitingPerDevice) return `${waitingPerDevice} commands wait for the device already`
    const ofOrganization = this.#shelves.waitingOf(organizationId) - freed
    const maximumOfOrganization = this.#maximumWaitingOf(organizationId)
    if (ofOrganization >= maximumOfOrganization) {
      return `${maximumOfOrganization} commands wait for devices of the organization already (waitingCommands)`
    }
    if (this.#shelves.waiting - freed >= waitingInAll && ofOrganization >= waitingAssured) {
      return 'the service has no room for more commands now'
    }
    return undefined
  }

  async #own(item: DownlinkItem, replaced: readonly DownlinkItem[]): Promise<Enqueued> {
    try {
      await this.#records.own([...replaced, item])
    } catch (error) {
      this.#records.removeWaiting(item)
      for (const other of replaced) this.#records.comeBack(other)
      this.#log.error({ devEui: item.content.devEui, error }, 'command.not_stored')
      return { ok: false, code: 'command_not_stored', reason: 'the command could not be stored; send it again' }
    } finally {
      item.accepted = undefined
    }
    item.isOwned = true
    this.#records.counts.accepted += 1
    const { devEui, organizationId, id } = item.content
    this.#log.info({ devEui, organizationId, commandId: id }, 'command.queued')
    for (const other of replaced) this.#records.tell(other)
    if (item.state === 'queued') this.#onWaiting(item)
    return { ok: true, item, isRepeated: false }
  }

  #cancellable(devEui: string): DownlinkItem[] {
    return (this.#shelves.device(devEui)?.waiting ?? []).filter((item) => item.isOwned && !item.isOffered)
  }

  async #cancelAll(items: readonly DownlinkItem[]): Promise<boolean> {
    if (items.length === 0) return true
    for (const item of items) this.#records.leave(item, 'cancelled', CANCELLED)
    try {
      await this.#records.own(items)
    } catch (error) {
      this.#log.error({ commands: items.length, error }, 'command.not_cancelled')
      for (const item of items) this.#records.comeBack(item)
      return false
    }
    for (const item of items) this.#records.tell(item)
    return true
  }
}

/** True when a later event may still change the item's state. */
function isOpen({ state }: DownlinkItem): boolean {
  return state === 'queued' || state === 'sent' || state === 'unconfirmed'
}

function isAway({ state, isOffered, transmittedAtMs, content }: DownlinkItem): boolean {
  if (state === 'queued') return isOffered
  return state === 'unconfirmed' || (state === 'sent' && (content.confirmed || transmittedAtMs === 0))
}
