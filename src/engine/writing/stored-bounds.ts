/**
 * The bounds of stored bytes. A tenant above its bound loses its own oldest messages. If the log as
 * a whole is nearly full, the tenant with the most stored bytes loses its oldest messages first. So
 * no tenant can push the messages of another tenant out of the log.
 *
 * Messages are removed by segment: all messages of a tenant in one segment at the same time. From
 * then on nobody can read them. Their bytes stay in the file until the segment is rewritten.
 */
import type { Logger } from '../../logger.ts'
import type { Accounts } from '../segments/accounts.ts'
import type { Segment } from '../segments/segment.ts'

/**
 * The part of the log's bytes that messages may fill. The rest is for messages that were removed,
 * and whose segments were not rewritten yet. Without the rest, a fast flood would fill the log
 * before the rewriting makes room, and the oldest segments would go with the messages of all.
 */
const FILLED = 7 / 8

export interface StoredBoundsOptions {
  readonly accounts: Accounts
  /** The segments of the log, ascending. */
  readonly segments: readonly Segment[]
  /** Bytes that the tenant's messages may have together. */
  readonly maximumBytesOf: (tenant: string) => number
  /** Bytes of the whole log. */
  readonly maximumBytes: number
  readonly logger: Logger
}

export class StoredBounds {
  readonly #options: StoredBoundsOptions

  constructor(options: StoredBoundsOptions) {
    this.#options = options
  }

  /** The bytes of the log's files at which the largest tenant begins to lose messages. */
  get filledBytes(): number {
    return this.#options.maximumBytes * FILLED
  }

  /** Removes the messages that are beyond the bounds. */
  enforce(): void {
    const removed = new Map<string, number>()
    const stored = this.#options.accounts.storedBytesByTenant()
    this.#enforceOwn(stored, removed)
    this.#enforceWhole(stored, removed)
    for (const [tenant, bytes] of removed) {
      this.#options.logger.info({ tenant, bytes, storedBytes: stored.get(tenant) }, 'log.messages_removed')
    }
  }

  /**
   * Each tenant above its own bound loses its oldest messages. It keeps its messages in the newest
   * complete segment that has some: otherwise a tenant with a small bound would lose all messages
   * whenever a segment is complete.
   */
  #enforceOwn(stored: Map<string, number>, removed: Map<string, number>): void {
    const { segments, maximumBytesOf } = this.#options
    const over = new Map<string, { readonly bound: number; kept: number; isBeyond: boolean; hasComplete: boolean }>()
    for (const [tenant, bytes] of stored) {
      const bound = tenant === '' ? Infinity : maximumBytesOf(tenant)
      if (bytes > bound) over.set(tenant, { bound, kept: 0, isBeyond: false, hasComplete: false })
    }
    if (over.size === 0) return
    for (const segment of segments.toReversed()) {
      for (const [tenant, bytes] of bytesByTenant(segment)) {
        const state = over.get(tenant)
        if (state === undefined) continue
        const { isSealed } = segment
        if (isSealed && state.hasComplete && state.kept + bytes > state.bound) state.isBeyond = true
        if (state.isBeyond) take(segment, tenant, stored, removed)
        else state.kept += bytes
        state.hasComplete ||= isSealed
      }
    }
  }

  /** While all messages together fill the log, the largest tenant loses its oldest messages. */
  #enforceWhole(stored: Map<string, number>, removed: Map<string, number>): void {
    const { segments } = this.#options
    let total = segments.reduce((sum, segment) => sum + neededBytes(segment), 0)
    /** By tenant: the number of oldest segments that have none of its messages. */
    const behind = new Map<string, number>()
    const holders = new Map(stored)
    while (total > this.filledBytes && holders.size > 0) {
      const largest = largestOf(holders)
      const place = segments.findIndex(
        (segment, index) =>
          segment.isSealed && index >= (behind.get(largest) ?? 0) && bytesByTenant(segment).has(largest),
      )
      if (place === -1) {
        // All of its messages stand in the segment that is being written.
        holders.delete(largest)
        continue
      }
      behind.set(largest, place + 1)
      total -= take(segments[place] as Segment, largest, stored, removed)
      holders.set(largest, stored.get(largest) ?? 0)
    }
  }
}

/**
 * Bytes of a segment that would be left if it were rewritten. A segment whose shares are not known
 * counts nothing: nobody can lose messages for it, and it goes as a whole when the log is full.
 */
function neededBytes({ length, headBytes, isSealed, shares }: Segment): number {
  if (shares === undefined) return 0
  return isSealed ? headBytes + shares.keptBytes : length
}

/** The bytes of the messages in a segment by tenant, without removed messages. */
function bytesByTenant({ shares }: Segment): Map<string, number> {
  const byTenant = new Map<string, number>()
  for (const [number, { tenant }] of shares?.accounts.entries() ?? []) {
    const bytes = shares?.bytes[number] ?? 0
    if (bytes > 0 && shares?.isRemoved(number) === false) byTenant.set(tenant, (byTenant.get(tenant) ?? 0) + bytes)
  }
  return byTenant
}

/** Removes the tenant's messages from a segment. Returns their bytes. */
function take({ shares }: Segment, tenant: string, stored: Map<string, number>, removed: Map<string, number>): number {
  let bytes = 0
  for (const [number, account] of shares?.accounts.entries() ?? []) {
    if (account.tenant !== tenant || shares === undefined || shares.isRemoved(number)) continue
    bytes += shares.bytes[number] as number
    shares.remove(number)
  }
  stored.set(tenant, (stored.get(tenant) ?? 0) - bytes)
  removed.set(tenant, (removed.get(tenant) ?? 0) + bytes)
  return bytes
}

function largestOf(stored: ReadonlyMap<string, number>): string {
  let largest = ''
  let most = -Infinity
  for (const [tenant, bytes] of stored) {
    if (bytes <= most) continue
    largest = tenant
    most = bytes
  }
  return largest
}
