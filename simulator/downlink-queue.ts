/**
 * The network server's queue of downlinks for one device: in order, with at most one confirmed
 * downlink under way.
 */
import type { Downlink } from './downlink.ts'
import type { QueueItemId } from './network-event.ts'

/** A downlink that waits to be sent, or was sent and waits for its acknowledgement. */
export interface QueueItem {
  readonly downlink: Downlink
  readonly id: QueueItemId
}

/** A downlink that will never be sent. */
export interface DiscardedItem {
  readonly item: QueueItem
  readonly because: 'expired' | 'too_long'
}

/** The end of a confirmed downlink. */
export interface Settlement {
  readonly item: QueueItem
  readonly acknowledged: boolean
  /** The frame counter of the transmission that was answered, or of the last transmission. */
  readonly fCntDown: number
}

/**
 * The most downlinks that wait for one device. A further downlink is refused with an event, so a
 * flood takes no memory.
 */
export const MAXIMUM_QUEUE = 64

export class DownlinkQueue {
  readonly #retries: number
  readonly #items: QueueItem[] = []
  /** The number of transmissions of the first item. */
  #transmissions = 0
  /**
   * The frame counter of the first item's last transmission, while the item waits for its
   * acknowledgement.
   */
  #pendingFCntDown: number | undefined

  /** `retries`: how often a confirmed downlink is sent again if it is not acknowledged. */
  constructor(retries: number) {
    this.#retries = retries
  }

  /** True if a downlink can be sent now. */
  get isWaiting(): boolean {
    return this.#items.length > 0 && this.#pendingFCntDown === undefined
  }

  /** True if the queue holds a downlink, sent or not. */
  get isFilled(): boolean {
    return this.#items.length > 0
  }

  /** True if a confirmed downlink waits for its acknowledgement. */
  get isPending(): boolean {
    return this.#pendingFCntDown !== undefined
  }

  /**
   * Adds a downlink. `repeated`: the queue already has a downlink with this id, which stays
   * unchanged.
   */
  add(item: QueueItem): 'queued' | 'full' | 'repeated' {
    if (this.#items.some(({ id }) => id.id === item.id.id)) return 'repeated'
    if (this.#items.length >= MAXIMUM_QUEUE) return 'full'
    this.#items.push(item)
    return 'queued'
  }

  /**
   * Removes downlinks that can never be sent in a frame of `maximumBytes`, up to the first that
   * can.
   */
  discard(nowMs: number, maximumBytes: number): DiscardedItem[] {
    const discarded: DiscardedItem[] = []
    while (this.isWaiting) {
      const [item] = this.#items
      const because = item === undefined ? undefined : this.#obstacle(item, nowMs, maximumBytes)
      if (item === undefined || because === undefined) break
      this.#remove()
      discarded.push({ item, because })
    }
    return discarded
  }

  /**
   * The downlink to send next; it stays in the queue until `sent`. Undefined: none waits, or the
   * first is too long.
   */
  next(maximumBytes: number): QueueItem | undefined {
    const item = this.isWaiting ? this.#items[0] : undefined
    return item === undefined || item.downlink.bytes.length > maximumBytes ? undefined : item
  }

  /** The first downlink was transmitted. An unconfirmed one is finished. */
  sent(fCntDown: number): void {
    this.#transmissions += 1
    if (this.#items[0]?.downlink.confirmed === true) this.#pendingFCntDown = fCntDown
    else this.#remove()
  }

  /**
   * The device acknowledged the pending downlink, or did not. Undefined: the downlink will be sent
   * again, or none is pending.
   */
  settle(acknowledged: boolean): Settlement | undefined {
    const [item] = this.#items
    const fCntDown = this.#pendingFCntDown
    if (item === undefined || fCntDown === undefined) return undefined
    this.#pendingFCntDown = undefined
    if (!acknowledged && this.#transmissions <= this.#retries) return undefined
    this.#remove()
    return { item, acknowledged, fCntDown }
  }

  #remove(): void {
    this.#items.shift()
    this.#transmissions = 0
  }

  #obstacle({ downlink }: QueueItem, nowMs: number, maximumBytes: number): DiscardedItem['because'] | undefined {
    if (downlink.bytes.length > maximumBytes) return 'too_long'
    // A downlink that was sent in time at least once is sent again even after it expired.
    const isLate = downlink.expiresAtMs !== undefined && downlink.expiresAtMs <= nowMs
    return isLate && this.#transmissions === 0 ? 'expired' : undefined
  }
}
