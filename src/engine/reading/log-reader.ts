/**
 * Reads the log for the followers of a partition. Messages in memory are returned at once; others
 * are read from disk first.
 */
import type { ReadResult } from '../../broker/ports/engine.ts'
import type { Logger } from '../../logger.ts'
import type { Message } from '../../broker/ports/message.ts'
import type { BlockCache, Blocks } from './block-cache.ts'
import type { DecodedMessages } from './decoded-messages.ts'
import { readMessageRecord } from '../segments/record.ts'
import type { RecordSource } from './record-source.ts'
import type { SegmentFiles } from '../segments/segment-files.ts'
import type { SegmentIndexes } from '../segments/segment-indexes.ts'
import { entryFrom, offsetOf } from '../segments/segment-index.ts'
import type { PartitionIndex, SegmentIndex } from '../segments/segment-index.ts'
import { messagesBetween, segmentFrom } from '../segments/segment.ts'
import type { Segment } from '../segments/segment.ts'

/**
 * Blocks read for one call of `read`: 4 MiB. If partitions are interleaved, few records of a block
 * belong to the wanted one.
 */
const MAXIMUM_BLOCKS = 64

/** The log as its readers see it. */
export interface ReadableLog {
  /** The segments, ascending; the last one may be written to. */
  readonly segments: readonly Segment[]
  /** By partition: the offset behind the last committed message. */
  readonly tails: Float64Array
  readonly indexes: SegmentIndexes
  readonly files: SegmentFiles
  readonly cache: BlockCache
  readonly source: RecordSource
  readonly decoded: DecodedMessages
  readonly logger: Logger
}

/** The blocks or the index that must be read first. */
interface Missing {
  readonly segment: Segment
  /** The missing blocks; undefined: the index is missing. */
  readonly blocks: readonly number[] | undefined
}

const NOTHING_HELD: Blocks = new Map()

export class LogReader {
  readonly #log: ReadableLog
  readonly #damaged = new Set<number>()

  constructor(log: ReadableLog) {
    this.#log = log
  }

  /** Reads as `Engine.read`. Rejects with the disk's error. */
  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult> {
    const tail = this.#log.tails[partition] as number
    const result = this.#attempt(partition, from, tail, maximumMessages, NOTHING_HELD)
    return 'segment' in result ? this.#readFromDisk(partition, from, maximumMessages, result) : result
  }

  /** Reads blocks of a segment into `held`. */
  async fetch(segment: Segment, blocks: readonly number[], held: Map<number, Buffer>): Promise<void> {
    const { cache, files } = this.#log
    const completeBytes = segment.isSealed ? Infinity : segment.length
    const loaded = await files.use(segment, (file) => cache.load(segment.id, blocks, file, completeBytes))
    for (const [key, bytes] of loaded) held.set(key, bytes)
  }

  /** Logs damaged records, once for each segment. */
  noteDamage(segment: Segment, position: number): void {
    if (this.#damaged.has(segment.number)) return
    this.#damaged.add(segment.number)
    this.#log.logger.error({ segment: segment.number, position }, 'log.record_damaged')
  }

  async #readFromDisk(partition: number, from: number, maximumMessages: number, first: Missing): Promise<ReadResult> {
    // The tail is fixed here, so that all wanted records are already in the files.
    const tail = this.#log.tails[partition] as number
    const held = new Map<number, Buffer>()
    let missing = first
    for (;;) {
      const { segment, blocks } = missing
      try {
        if (blocks === undefined) await this.#log.indexes.load(segment)
        else await this.fetch(segment, blocks, held)
      } catch (error) {
        // Retention may have removed the segment meanwhile, or another has taken its place.
        if (!segment.isGone) throw error
      }
      const result = this.#attempt(partition, from, tail, maximumMessages, held)
      if (!('segment' in result)) return result
      missing = result
    }
  }

  #attempt(partition: number, from: number, tail: number, maximumMessages: number, held: Blocks): ReadResult | Missing {
    const { segments, indexes } = this.#log
    const removed = new RemovedCount()
    let offset = from
    while (offset < tail) {
      const place = segmentFrom(segments, partition, offset)
      if (place === -1) break
      const segment = segments[place] as Segment
      const index = indexes.find(segment)
      if (index === undefined) return { segment, blocks: undefined }
      const start = Math.max(offset, segment.base(partition))
      const stop = Math.min(segment.end(partition), tail)
      const run = this.#run(segment, index, { partition, start, stop, maximumMessages }, held, removed)
      if ('segment' in run) return run
      const [first] = run.messages
      if (first !== undefined)
        return { ...run, lost: messagesBetween(from, first.offset) - removed.before, ...removed.told }
      // Nothing in the segment can be read any more.
      offset = stop
    }
    const lost = messagesBetween(from, tail) - removed.before
    return { messages: [], offsets: [], next: tail, lost, ...removed.told }
  }

  #run(
    segment: Segment,
    index: SegmentIndex,
    range: {
      readonly partition: number
      readonly start: number
      readonly stop: number
      readonly maximumMessages: number
    },
    held: Blocks,
    removed: RemovedCount,
  ): { messages: Message[]; offsets: number[]; next: number } | Missing {
    const { decoded, source } = this.#log
    const { partition, start, stop, maximumMessages } = range
    const messages: Message[] = []
    const offsets: number[] = []
    const entries = index.partition(partition)
    const { removed: removedAccounts } = index.shares
    /** The offset behind everything that was looked at. */
    let next = start
    if (entries === undefined) return { messages, offsets, next }
    for (let at = entryFrom(entries, start); at < entries.length && messages.length < maximumMessages; at += 1) {
      const offset = offsetOf(entries, at)
      if (offset >= stop) break
      if (offset > next) removed.skip(index, entries, offset - next, messages.length === 0)
      next = offset
      if (removedAccounts !== undefined && removedAccounts[entries.accounts[at] as number] === 1) {
        removed.add(index, entries.accounts[at] as number, 1, messages.length === 0)
        next += 1
        continue
      }
      let message = decoded.get(partition, offset)
      if (message === undefined) {
        const position = index.positionAt(entries, at)
        const located = position === -1 ? undefined : source.locate(segment, position, held)
        if (located === undefined) {
          if (position !== -1) this.noteDamage(segment, position)
          // The next read begins here, and reports how many messages are lost.
          if (messages.length > 0) return { messages, offsets, next }
          next += 1
          continue
        }
        if ('missing' in located) {
          if (messages.length > 0) return { messages, offsets, next }
          const ahead = positionsOf(index, entries, at, Math.min(stop, offset + maximumMessages))
          const blocks = source.missingFrom(segment, ahead, held, MAXIMUM_BLOCKS)
          return { segment, blocks: ascending([...located.missing, ...blocks]) }
        }
        message = readMessageRecord(located.bytes, located.start)
        decoded.add(message)
      }
      messages.push(message)
      offsets.push(offset)
      next += 1
    }
    if (messages.length === maximumMessages) return { messages, offsets, next }
    // The end of a damaged segment: the next read begins here, and reports how many are lost.
    if (entries.offsets === undefined) return { messages, offsets, next }
    if (next < stop) removed.skip(index, entries, stop - next, messages.length === 0)
    return { messages, offsets, next: stop }
  }
}

/** Counts the messages that one read passes over because they were removed for their tenants. */
class RemovedCount {
  /** The number of removed messages before the first message that was read. */
  before = 0
  readonly #byTenant = new Map<string, number>()

  get told(): Pick<ReadResult, 'removed'> {
    return this.#byTenant.size === 0 ? {} : { removed: this.#byTenant }
  }

  add(index: SegmentIndex, account: number, count: number, isBefore: boolean): void {
    const tenant = index.shares.accounts[account]?.tenant ?? ''
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + count)
    if (isBefore) this.before += count
  }

  /**
   * Counts a gap of offsets in a rewritten segment. The segment does not say whose messages the gap
   * held, so it counts for each tenant that has lost messages of the partition.
   */
  skip(index: SegmentIndex, { offsets, removedOf }: PartitionIndex, count: number, isBefore: boolean): void {
    if (offsets === undefined) return
    const tenants = new Set(removedOf.map((account) => index.shares.accounts[account]?.tenant ?? ''))
    for (const tenant of tenants) this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + count)
    if (isBefore) this.before += count
  }
}

function* positionsOf(index: SegmentIndex, entries: PartitionIndex, from: number, stop: number): Generator<number> {
  for (let at = from; at < entries.length && offsetOf(entries, at) < stop; at += 1) {
    const position = index.positionAt(entries, at)
    if (position !== -1 && !index.shares.isRemoved(entries.accounts[at] as number)) yield position
  }
}

function ascending(blocks: readonly number[]): number[] {
  return [...new Set(blocks)].toSorted((one, other) => one - other)
}
