/**
 * Reads the history by branch of topics and time, independent of the followers of the log. The
 * index shows which records are worth reading.
 */
import type { ScanQuery, ScanResult } from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import type { LogReader, ReadableLog } from './log-reader.ts'
import { readMessageRecord, topicNameOfRecord } from '../segments/record.ts'
import { SegmentGoneError } from '../segments/segment-indexes.ts'
import { entryFrom, offsetOf } from '../segments/segment-index.ts'
import type { SegmentIndex } from '../segments/segment-index.ts'
import type { Segment } from '../segments/segment.ts'
import { branchesWithPrefix } from '../segments/topic-branch.ts'

/**
 * The most entries of indexes that one call examines. Bounds the work of a call: a query with few
 * matches in a large log must neither hold up the event loop nor read the whole disk.
 */
const MAXIMUM_EXAMINED = 200_000
/** The most indexes that one call reads from disk. */
const MAXIMUM_INDEX_LOADS = 8
/** The most blocks that one call reads from disk. */
const MAXIMUM_BLOCKS = 1_024
/**
 * The most records that a call reads without returning them: records that `accepts` refuses, and
 * different Topic Names with equal bits.
 */
const MAXIMUM_REFUSED = 4_096
/** Records that are looked up together. */
const BATCH = 512
/** Blocks that are read together: 4 MiB. */
const BLOCKS_TOGETHER = 64

interface Candidate {
  readonly offset: number
  readonly position: number
}

/** Scans as `Engine.scan`. Rejects with the disk's error. */
export async function scanLog(log: ReadableLog, reader: LogReader, query: ScanQuery): Promise<ScanResult> {
  return await new Scan(log, reader, query).run()
}

class Scan {
  readonly #log: ReadableLog
  readonly #reader: LogReader
  readonly #query: ScanQuery
  readonly #isForward: boolean
  readonly #mask: number
  readonly #bits: number
  readonly #fromMs: number
  readonly #toMs: number
  readonly #found: Message[] = []
  #examined = 0
  #indexLoads = 0
  #blocks = 0
  #refused = 0

  constructor(log: ReadableLog, reader: LogReader, query: ScanQuery) {
    this.#log = log
    this.#reader = reader
    this.#query = query
    this.#isForward = query.direction === 'oldest first'
    const { mask, bits } = branchesWithPrefix(query.topicPrefix)
    this.#mask = mask
    this.#bits = bits
    this.#fromMs = query.fromMs ?? -Infinity
    this.#toMs = query.toMs ?? Infinity
  }

  async run(): Promise<ScanResult> {
    const { partition, afterOffset } = this.#query
    // The log may change while blocks are read. The scan covers the log as it is now.
    const segments = this.#isForward ? [...this.#log.segments] : this.#log.segments.toReversed()
    const tail = this.#log.tails[partition] as number
    for (const segment of segments) {
      let low = segment.base(partition)
      let high = Math.min(segment.end(partition), tail)
      if (afterOffset !== undefined && this.#isForward) low = Math.max(low, afterOffset + 1)
      if (afterOffset !== undefined && !this.#isForward) high = Math.min(high, afterOffset)
      if (low >= high || segment.firstMs >= this.#toMs || segment.lastMs < this.#fromMs) continue
      const page = await this.#pageOfRange(segment, low, high)
      if (page !== undefined) return page
    }
    return { messages: this.#found, more: false, nextAfterOffset: undefined }
  }

  /** Scans a range of offsets that the segment holds, or held before it was replaced. */
  async #pageOfRange(segment: Segment, low: number, high: number): Promise<ScanResult | undefined> {
    const { partition } = this.#query
    for (let present: Segment | undefined = segment; present !== undefined;) {
      const last = this.#found.at(-1)?.offset
      const from = last !== undefined && this.#isForward ? Math.max(low, last + 1) : low
      const to = last !== undefined && !this.#isForward ? Math.min(high, last) : high
      if (from >= to) return undefined
      try {
        return await this.#pageUpTo(present, from, to)
      } catch (error) {
        if (!present.isGone) throw error
        // A rewritten segment has taken its place, or retention has removed it.
        present = this.#log.segments.find((one) => one.base(partition) <= low && one.end(partition) >= high)
      }
    }
    return undefined
  }

  /** Scans a segment. Returns the page if it is full or if the call has done its share of work. */
  async #pageUpTo(segment: Segment, low: number, high: number): Promise<ScanResult | undefined> {
    let index = this.#log.indexes.find(segment)
    if (index === undefined) {
      if (this.#indexLoads === MAXIMUM_INDEX_LOADS) return this.#page(this.#isForward ? low - 1 : high)
      this.#indexLoads += 1
      index = await this.#log.indexes.load(segment)
    }
    const stoppedAt = await this.#scanSegment(segment, index, low, high)
    if (this.#found.length > this.#query.maximumMessages) return this.#page(undefined)
    return stoppedAt === undefined ? undefined : this.#page(stoppedAt)
  }

  /**
   * Scans the entries of an index. Returns the offset from which the next call goes on, if this
   * call has done its share of work.
   */
  async #scanSegment(segment: Segment, index: SegmentIndex, low: number, high: number): Promise<number | undefined> {
    const { partition, maximumMessages } = this.#query
    const entries = index.partition(partition)
    if (entries === undefined) return undefined
    const step = this.#isForward ? 1 : -1
    const first = entryFrom(entries, low)
    const end = entryFrom(entries, high)
    let at = this.#isForward ? first : end - 1
    const isWithin = (): boolean => at >= first && at < end
    while (isWithin()) {
      const wanted = Math.min(BATCH, maximumMessages + 1 - this.#found.length)
      const candidates: Candidate[] = []
      for (; isWithin() && candidates.length < wanted && this.#examined < MAXIMUM_EXAMINED; at += step) {
        this.#examined += 1
        if (((entries.branches[at] as number) & this.#mask) >>> 0 !== this.#bits) continue
        const ownedAtMs = index.ownedAtMs(entries, at)
        if (ownedAtMs < this.#fromMs || ownedAtMs >= this.#toMs) continue
        const position = index.positionAt(entries, at)
        if (position === -1 || index.shares.isRemoved(entries.accounts[at] as number)) continue
        candidates.push({ offset: offsetOf(entries, at), position })
      }
      await this.#readAll(segment, candidates)
      if (this.#found.length > maximumMessages) return undefined
      if (this.#isSpent() && isWithin()) return offsetOf(entries, at - step)
    }
    return this.#isSpent() ? (this.#isForward ? high - 1 : low) : undefined
  }

  async #readAll(segment: Segment, candidates: readonly Candidate[]): Promise<void> {
    const { source } = this.#log
    const held = new Map<number, Buffer>()
    for (let at = 0; at < candidates.length;) {
      const located = source.locate(segment, (candidates[at] as Candidate).position, held)
      if (located !== undefined && 'missing' in located) {
        const ahead = candidates.slice(at).map(({ position }) => position)
        const blocks = new Set([...located.missing, ...source.missingFrom(segment, ahead, held, BLOCKS_TOGETHER)])
        this.#blocks += blocks.size
        await this.#reader.fetch(
          segment,
          [...blocks].toSorted((one, other) => one - other),
          held,
        )
        // The file may hold a rewritten segment by now, with the records at other positions.
        if (segment.isGone) throw new SegmentGoneError()
        continue
      }
      if (located === undefined) this.#reader.noteDamage(segment, (candidates[at] as Candidate).position)
      else this.#judge(located.bytes, located.start)
      at += 1
    }
  }

  #judge(bytes: Buffer, start: number): void {
    const { topicPrefix, accepts } = this.#query
    const topicName = topicNameOfRecord(bytes, start)
    if (topicName.startsWith(topicPrefix) && (accepts?.(topicName) ?? true)) {
      this.#found.push(readMessageRecord(bytes, start))
    } else this.#refused += 1
  }

  #isSpent(): boolean {
    return this.#examined >= MAXIMUM_EXAMINED || this.#refused >= MAXIMUM_REFUSED || this.#blocks >= MAXIMUM_BLOCKS
  }

  #page(stoppedAt: number | undefined): ScanResult {
    const { maximumMessages } = this.#query
    const messages = this.#found.slice(0, maximumMessages)
    return { messages, more: true, nextAfterOffset: stoppedAt ?? messages.at(-1)?.offset }
  }
}

/**
 * As `Engine.offsetAt`. Searches from the newest segment back to the last message that is older
 * than the time.
 */
export async function offsetAtTime(log: ReadableLog, partition: number, timeMs: number): Promise<number> {
  let offset = log.tails[partition] as number
  for (const segment of log.segments.toReversed()) {
    if (!segment.has(partition)) continue
    if (segment.firstMs < timeMs) {
      const index = await log.indexes.load(segment)
      const entries = index.partition(partition)
      if (entries === undefined) continue
      for (let at = entries.length - 1; at >= 0; at -= 1) {
        if (index.ownedAtMs(entries, at) < timeMs) return Math.max(offsetOf(entries, at) + 1, 0)
        offset = offsetOf(entries, at)
      }
    } else offset = segment.base(partition)
  }
  return offset
}
