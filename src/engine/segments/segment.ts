/** One file of the log: a head, then records in the order of their commits. */
import type { SegmentShares } from './accounts.ts'
import type { Rewritten, SegmentHeader } from './segment-header.ts'
import { segmentHeaderBytes } from './segment-header.ts'
import type { SegmentIndex } from './segment-index.ts'

let lastId = 0

export class Segment {
  /**
   * Names the file in caches. A rewritten segment has the number of a segment that it replaces, but
   * other positions, so it must have another id.
   */
  readonly id = (lastId += 1)
  readonly number: number
  /** The seal of its records. */
  readonly seal: number
  readonly createdAtMs: number
  /** By partition: the offset at which it goes on in this segment. */
  readonly bases: Float64Array
  /** By partition: the offset behind its last committed message in this segment. */
  readonly ends: Float64Array
  /** Valid bytes. */
  length: number
  /** The time of its first message, ms since 1970; Infinity if it has none. */
  firstMs: number
  /** The time of its last message, ms since 1970; -Infinity if it has none. */
  lastMs: number
  /** True if no more is written to it. */
  isSealed = true
  /**
   * In memory while the segment is written to and while the index is used; undefined: in its file.
   */
  index: SegmentIndex | undefined = undefined
  /** Undefined: not known, because no index of the segment has them yet. */
  shares: SegmentShares | undefined = undefined
  /** Undefined: the segment is as it was written, with all its messages. */
  readonly rewritten: Rewritten | undefined
  /** True: it is no longer part of the log. Its file is removed, or holds another segment. */
  isGone = false

  constructor(header: Pick<SegmentHeader, 'number' | 'seal' | 'createdAtMs' | 'bases'> & Partial<SegmentHeader>) {
    const { number, seal, createdAtMs, bases, rewritten } = header
    this.number = number
    this.seal = seal
    this.createdAtMs = createdAtMs
    this.bases = bases
    this.ends = bases.slice()
    this.rewritten = rewritten
    this.length = rewritten?.length ?? this.headBytes
    this.firstMs = rewritten?.firstMs ?? Infinity
    this.lastMs = rewritten?.lastMs ?? -Infinity
  }

  /** Bytes of its head. */
  get headBytes(): number {
    return segmentHeaderBytes(this.bases.length, this.rewritten !== undefined)
  }

  /** How often the segment was rewritten. */
  get generation(): number {
    return this.rewritten?.generation ?? 0
  }

  get isEmpty(): boolean {
    return this.length <= this.headBytes
  }

  base(partition: number): number {
    return this.bases[partition] as number
  }

  end(partition: number): number {
    return this.ends[partition] as number
  }

  has(partition: number): boolean {
    return this.end(partition) > this.base(partition)
  }

  sawTime(ownedAtMs: number): void {
    if (ownedAtMs < this.firstMs) this.firstMs = ownedAtMs
    if (ownedAtMs > this.lastMs) this.lastMs = ownedAtMs
  }
}

/**
 * The index of the segment in which a read of the partition from this offset goes on: the first
 * segment that ends behind the offset; -1: there is none. The segments ascend.
 */
export function segmentFrom(segments: readonly Segment[], partition: number, offset: number): number {
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((segments[middle] as Segment).end(partition) > offset) high = middle
    else low = middle + 1
  }
  // A segment without messages of the partition ends where it begins, perhaps behind the gap that a
  // restore left.
  while (low < segments.length && !(segments[low] as Segment).has(partition)) low += 1
  return low < segments.length ? low : -1
}

/**
 * After a restore, the offsets of each partition go on a multiple of this number further on, so
 * that no place names two messages. It is a power of two, so the difference of two offsets still
 * gives the number of messages between them, without the gaps.
 */
export const GAP_UNIT = 2 ** 36

/**
 * The number of messages between two offsets of a partition, without gaps; 0 if the second offset
 * is not behind the first.
 */
export function messagesBetween(from: number, to: number): number {
  return to <= from ? 0 : ((to % GAP_UNIT) - (from % GAP_UNIT) + GAP_UNIT) % GAP_UNIT
}
