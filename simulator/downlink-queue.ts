/**
 * The downlinks of one device as its network server keeps them: in order, one confirmed downlink
 * under way at a time.
 */
import type { Downlink } from './downlink.ts'
import type { QueueItemId } from './network-event.ts'

/** A downlink that waits, or has been sent and waits to be acknowledged. */
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
  /** Of the transmission that was answered, or of the last one. */
  readonly fCntDown: number
}

/**
 * Downlinks that wait for one device; one more is answered with an event, so that a flood takes no
 * memory.
 */
export const MAXIMUM_QUEUE = 64

export class DownlinkQueue {
  readonly #retries: number
  readonly #items: QueueItem[] = []
  /** Transmissions of the first item so far. */
  #transmissions = 0
  /** The frame counter of the first item's last transmission while it waits to be acknowledged. */
  #pendingFCntDown: number | undefined

  /** `retries`: how often a confirmed downlink is sent again when it is not acknowledged. */
  constructor(retries: number) {
    this.#retries = retries
  }

  /** True where there is something to send now. */
  get isWaiting(): boolean {
    return this.#items.length > 0 && this.#pendingFCntDown === undefined
  }

  /** True where anything is queued, sent or not. */
  get isFilled(): boolean {
    return this.#items.length > 0
  }

  /** True where a confirmed downlink waits to be acknowledged. */
  get isPending(): boolean {
    return this.#pendingFCntDown !== undefined
  }

  /** `repeated`: a downlink of this id is queued already, and stays as it is. */
  add(item: QueueItem): 'queued' | 'full' | 'repeated' {
    if (this.#items.some(({ id }) => id.id === item.id.id)) return 'repeated'
    if (this.#items.length >= MAXIMUM_QUEUE) return 'full'
    this.#items.push(item)
    return 'queued'
  }

  /** Takes out what can never be sent in a frame of so many bytes, up to the first that can. */
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
   * The downlink to send next, which stays in the queue until `sent`; undefined where none waits or
   * it is too long.
   */
  next(maximumBytes: number): QueueItem | undefined {
    const item = this.isWaiting ? this.#items[0] : undefined
    return item === undefined || item.downlink.bytes.length > maximumBytes ? undefined : item
  }

  /** The first downlink is on its way. An unconfirmed one is done with. */
  sent(fCntDown: number): void {
    this.#transmissions += 1
    if (this.#items[0]?.downlink.confirmed === true) this.#pendingFCntDown = fCntDown
    else this.#remove()
  }

  /**
   * The device acknowledged the pending downlink or did not; undefined where it will be sent again
   * or none is pending.
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
    // What has been sent once in time is sent again also after it.
    const isLate = downlink.expiresAtMs !== undefined && downlink.expiresAtMs <= nowMs
    return isLate && this.#transmissions === 0 ? 'expired' : undefined
  }
}
