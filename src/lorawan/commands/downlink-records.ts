/**
 * The items of the downlink queue, in memory and in the durable state. Every change of an item's
 * state is made here, counted, logged and written. The rules of the queue are in downlink-queue.ts.
 */
import { given } from '../../given.ts'
import type { CommandPorts } from './command-ports.ts'
import type { LoadedState } from './durable-state.ts'
import { DownlinkItem, QUEUE_PREFIX } from './downlink-item.ts'
import type { DownlinkFailure, DownlinkState } from './downlink-item.ts'
import { DOWNLINK_QUEUE_LIMITS } from './downlink-queue-limits.ts'
import type { DownlinkQueueLimits } from './downlink-queue-limits.ts'
import { DownlinkShelves } from './downlink-shelves.ts'

export interface DownlinkRecordsOptions extends Pick<
  CommandPorts,
  'state' | 'clock' | 'log' | 'limits' | 'maximumWaitingOf'
> {
  /** Called when an item can be offered to its network server. Must not throw. */
  readonly onWaiting: (item: DownlinkItem) => void
  /** Called after an item has come to another state than `queued`. Must not throw. */
  readonly onFate: (item: DownlinkItem) => void
  /**
   * Called for an item that a network server has: when the network server takes it, when a gateway
   * has sent it, and after a start. Must not throw.
   */
  readonly onTaken: (item: DownlinkItem) => void
}

/** Numbers for the metrics: how many commands were accepted, and how many came to each state. */
export type DownlinkCounts = Record<'accepted' | 'repeated' | Exclude<DownlinkState, 'queued'>, number>

const EXPIRED: DownlinkFailure = { code: 'command_expired', reason: 'expiresAt: came before the command could be sent' }

export class DownlinkRecords {
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
  readonly shelves = new DownlinkShelves()
  readonly limits: DownlinkQueueLimits
  readonly #options: DownlinkRecordsOptions
  /** Waiting items that have a time of expiry. */
  readonly #expiring = new Set<DownlinkItem>()
  /**
   * Items whose state could not be written, and will be written by a later `tick`. The number of
   * items bounds this set: while the disk is full, the queue accepts no more of them.
   */
  readonly #unwritten = new Set<DownlinkItem>()
  #nextExpiryMs = Infinity

  constructor(options: DownlinkRecordsOptions) {
    this.#options = options
    this.limits = options.limits ?? DOWNLINK_QUEUE_LIMITS
  }

  /**
   * Reads stored items. Logs an unreadable item and leaves it in the store. Resolves with the
   * highest sequence number; 0 when there are none.
   */
  async load(entries: LoadedState): Promise<number> {
    const { clock, log, onTaken, onWaiting } = this.#options
    const items: DownlinkItem[] = []
    for await (const { key, value } of entries(QUEUE_PREFIX)) {
      try {
        const item = DownlinkItem.fromState(value)
        if (this.#mayJoin(item)) items.push(item)
      } catch (error) {
        log.error({ key, error }, 'command.unreadable')
      }
    }
    items.sort((one, other) => one.leftAtMs - other.leftAtMs || one.sequence - other.sequence)
    let sequence = 0
    for (const item of items) {
      sequence = Math.max(sequence, item.sequence)
      if (item.state === 'queued') {
        // It may have been on offer when the process ended.
        item.inDoubtSinceMs = clock.steady()
        this.addWaiting(item)
        continue
      }
      this.shelves.addLeft(item)
      onTaken(item)
    }
    this.shelves.sortLeft()
    for (const item of items) if (item.state === 'queued') onWaiting(item)
    return sequence
  }

  /**
   * False for an item that is here already, and for one of another organization than the device's
   * other commands: the device has changed its owner since.
   */
  #mayJoin({ content: { devEui, organizationId }, queueItemId }: DownlinkItem): boolean {
    const shelf = this.shelves.device(devEui)
    if (shelf === undefined) return true
    return shelf.organizationId === organizationId && this.shelves.find(devEui, queueItemId) === undefined
  }

  /**
   * Resolves when the durable state owns the items as they are now, all of them or none. The items
   * belong to one organization.
   */
  own(items: readonly DownlinkItem[]): Promise<void> {
    return this.#options.state.write(
      items.map((item) => item.toChange()),
      items[0]?.content.organizationId,
    )
  }

  addWaiting(item: DownlinkItem): void {
    this.shelves.addWaiting(item)
    const { expiresAtMs } = item.content
    if (expiresAtMs === undefined) return
    this.#expiring.add(item)
    this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs)
  }

  /** Removes a waiting item that the durable state did not take. */
  removeWaiting(item: DownlinkItem): void {
    this.shelves.removeWaiting(item)
    this.#expiring.delete(item)
  }

  /** Changes the item's state, starts to write it, and tells of it. A failed write is repeated. */
  settle(item: DownlinkItem, state: DownlinkState, failure: DownlinkFailure | undefined): void {
    this.leave(item, state, failure)
    this.write([item])
    this.tell(item)
  }

  expire(item: DownlinkItem): void {
    this.settle(item, 'expired', EXPIRED)
  }

  /** Changes the item's state in memory alone; an item that waited leaves the queue. */
  leave(item: DownlinkItem, state: DownlinkState, failure: DownlinkFailure | undefined): void {
    const waited = item.state === 'queued'
    item.state = state
    item.failure = failure
    if (!waited) return
    item.leftAtMs = this.#options.clock.now()
    this.#expiring.delete(item)
    // The item is added first, so that the device's shelf is never empty and dropped in between.
    this.shelves.addLeft(item)
    this.shelves.removeWaiting(item)
    this.#makeRoom(item)
  }

  /** Undoes `leave` for an item whose new state could not be stored. */
  comeBack(item: DownlinkItem): void {
    item.state = 'queued'
    item.failure = undefined
    item.leftAtMs = 0
    this.addWaiting(item)
    this.shelves.removeLeft(item)
    this.#options.onWaiting(item)
  }

  /** Counts and logs the item's state, and calls `onFate`. */
  tell(item: DownlinkItem): void {
    const { state, failure } = item
    if (state === 'queued') return
    this.counts[state] += 1
    const { devEui, organizationId, id: commandId } = item.content
    const fields = { devEui, organizationId, commandId, ...given({ code: failure?.code }) }
    this.#options.log.info(fields, `command.${state}`)
    this.#options.onFate(item)
  }

  /** Forgets items that have left the queue, in memory and in the durable state. */
  forget(items: readonly DownlinkItem[]): void {
    if (items.length === 0) return
    for (const item of items) {
      this.shelves.removeLeft(item)
      item.isForgotten = true
    }
    this.write(items)
  }

  /** Starts to write the items. Items that can't be written now are written by a later `tick`. */
  write(items: readonly DownlinkItem[]): void {
    for (const own of Map.groupBy(items, ({ content }) => content.organizationId).values()) {
      this.own(own).catch((error: unknown) => {
        this.#options.log.error({ commands: own.length, error }, 'command.state_not_written')
        for (const item of own) this.#unwritten.add(item)
      })
    }
  }

  /** Expires items, forgets items that were kept long enough, and repeats failed writes. */
  tick(): void {
    const now = this.#options.clock.now()
    if (now >= this.#nextExpiryMs) this.#expireAll(now)
    const { leftMs, unheardMs } = this.limits
    const isOver = (item: DownlinkItem): boolean =>
      !(item.holdsNext && item.awaitsWord && !item.isGivenUp) || item.leftAtMs < now - unheardMs
    this.forget([...this.shelves.leftBefore(now - leftMs)].filter(isOver))
    if (this.#unwritten.size === 0) return
    const items = [...this.#unwritten]
    this.#unwritten.clear()
    // A new command may have the key of a forgotten item by now, and must not be deleted.
    const isNewer = ({ content: { devEui }, queueItemId }: DownlinkItem): boolean =>
      this.shelves.find(devEui, queueItemId) !== undefined
    this.write(items.filter((item) => !item.isForgotten || !isNewer(item)))
  }

  #expireAll(now: number): void {
    this.#nextExpiryMs = Infinity
    for (const item of this.#expiring) {
      const expiresAtMs = item.content.expiresAtMs ?? Infinity
      // An item on offer may still be taken; the next tick looks at it again.
      if (expiresAtMs <= now && item.isOwned && !item.isOffered) this.expire(item)
      else this.#nextExpiryMs = Math.min(this.#nextExpiryMs, Math.max(expiresAtMs, now))
    }
  }

  #makeRoom({ content: { devEui, organizationId } }: DownlinkItem): void {
    const { leftPerDevice, leftPerOrganization, leftInAll } = this.limits
    const ofDevice = this.shelves.device(devEui)?.left ?? []
    if (ofDevice.length > leftPerDevice) this.forget(ofDevice.slice(0, 1))
    const ofOrganization = this.shelves.leftOf(organizationId)
    if (ofOrganization.size > leftPerOrganization) this.#forgetSome(ofOrganization)
    if (this.shelves.left > leftInAll) this.#forgetSome(this.shelves.largestOrganization())
  }

  /**
   * Forgets the earliest hundredth in one write. Forgetting one item at a time would be slow: after
   * many removals at its beginning, a large Set takes 6 µs to find its first element.
   */
  #forgetSome(items: ReadonlySet<DownlinkItem> = new Set()): void {
    this.forget([...items.values().take(Math.ceil(items.size / 100))])
  }
}
