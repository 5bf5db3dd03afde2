/**
 * Reads the history by branch of topics and time, independent of the followers of the log. The
 * index shows which records are worth reading.
 */
import type { ScanQuery, ScanResult } from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import { readBranchMessages } from './branch-reader.ts'
import type { BranchMessage } from './branch-reader.ts'
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
/** The most segments whose entries of one branch a call reads from disk. */
const MAXIMUM_BRANCH_READS = 128
/** Segments from which messages of one branch are read at the same time. */
const SEGMENTS_AHEAD = 8
const MESSAGES_PER_SEGMENT_AHEAD = 16
/** The mask of a query for one device. */
const WHOLE_BRANCH = 0xffff_ffff
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
  /** Reads under way, and those that wait for the scan. */
  readonly #ahead = new Map<Segment, Promise<readonly BranchMessage[] | undefined>>()
  /** The tail of the partition when the scan began. */
  #tail = 0
  #examined = 0
  #indexLoads = 0
  #branchReads = 0
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
    const { partition, maximumMessages } = this.#query
    // The log may change while blocks are read. The scan covers the log as it is now.
    const segments = this.#isForward ? [...this.#log.segments] : this.#log.segments.toReversed()
    this.#tail = this.#log.tails[partition] as number
    const wanted = segments.filter((segment) => this.#isWanted(segment))
    // A small page soon is full.
    const ahead = Math.min(SEGMENTS_AHEAD, Math.ceil(maximumMessages / MESSAGES_PER_SEGMENT_AHEAD))
    for (const [number, segment] of wanted.entries()) {
      this.#readAhead(wanted.slice(number, number + ahead))
      const page = await this.#pageOfRange(segment, ...this.#rangeOf(segment))
      this.#ahead.delete(segment)
      if (page !== undefined) return page
    }
    return { messages: this.#found, more: false, nextAfterOffset: undefined }
  }

  #isWanted(segment: Segment): boolean {
    const [low, high] = this.#rangeOf(segment)
    return low < high && segment.firstMs < this.#toMs && segment.lastMs >= this.#fromMs
  }

  /** The offsets of the segment that the query asks for: included, excluded. */
  #rangeOf(segment: Segment): [low: number, high: number] {
    const { partition, afterOffset } = this.#query
    const low = segment.base(partition)
    const high = Math.min(segment.end(partition), this.#tail)
    if (afterOffset === undefined) return [low, high]
    return this.#isForward ? [Math.max(low, afterOffset + 1), high] : [low, Math.min(high, afterOffset)]
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
    if (index === undefined && this.#mask === WHOLE_BRANCH) {
      if (this.#branchReads === MAXIMUM_BRANCH_READS) return this.#page(this.#isForward ? low - 1 : high)
      this.#branchReads += 1
      // A segment that has taken the place of others was not read ahead.
      const messages = await (this.#ahead.get(segment) ?? this.#readBranch(segment, low, high))
      if (segment.isGone) throw new SegmentGoneError()
      if (messages !== undefined) return await this.#pageOfBranch(segment, messages, low, high)
    }
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
   * Begins to read the messages of the branch from the next segments, because each read waits for
   * the disk. They are kept until the scan comes to them.
   */
  #readAhead(segments: readonly Segment[]): void {
    if (this.#mask !== WHOLE_BRANCH) return
    for (const segment of segments) {
      if (this.#ahead.has(segment) || this.#log.indexes.find(segment) !== undefined) continue
      this.#ahead.set(segment, this.#readBranch(segment, ...this.#rangeOf(segment)))
    }
  }

  #readBranch(segment: Segment, low: number, high: number): Promise<readonly BranchMessage[] | undefined> {
    const { partition } = this.#query
    const range = { partition, branch: this.#bits, low, high, fromMs: this.#fromMs, toMs: this.#toMs }
    return readBranchMessages(this.#log, segment, range)
  }

  /** As `#pageUpTo`, with the messages of the one branch that is asked for. */
  async #pageOfBranch(
    segment: Segment,
    messages: readonly BranchMessage[],
    low: number,
    high: number,
  ): Promise<ScanResult | undefined> {
    const ordered = this.#isForward ? messages : messages.toReversed()
    for (let at = 0; at < ordered.length;) {
      const room = Math.min(BATCH, this.#query.maximumMessages + 1 - this.#found.length)
      const batch = ordered.slice(at, at + room)
      at += batch.length
      if (batch.every(({ record }) => record !== undefined)) {
        for (const { record } of batch) if (record !== undefined) this.#judge(record, 0)
      } else await this.#readAll(segment, batch)
      if (this.#found.length > this.#query.maximumMessages) return this.#page(undefined)
      if (this.#isSpent() && at < ordered.length) return this.#page(batch.at(-1)?.offset)
    }
    return this.#isSpent() ? this.#page(this.#isForward ? high - 1 : low) : undefined
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
