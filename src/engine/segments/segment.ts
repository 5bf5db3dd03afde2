/** One file of the log: a head, then records in the order of their commits. */
import type { SegmentHeader } from './segment-header.ts'
import { segmentHeaderBytes } from './segment-header.ts'
import type { SegmentIndex } from './segment-index.ts'

export class Segment {
  readonly number: number
  /** Of its records. */
  readonly seal: number
  readonly createdAtMs: number
  /** By partition: the offset at which it goes on here. */
  readonly bases: Float64Array
  /** By partition: the offset behind its last committed message here. */
  readonly ends: Float64Array
  /** Valid bytes. */
  length: number
  /**
   * When the first and the last of its messages were taken, ms since 1970; Infinity and -Infinity
   * when it has none.
   */
  firstMs = Infinity
  lastMs = -Infinity
  /** True when no more is written to it. */
  isSealed = true
  /** At hand while it is written to and while it is used; undefined: in its file. */
  index: SegmentIndex | undefined = undefined

  constructor({ number, seal, createdAtMs, bases }: Pick<SegmentHeader, 'number' | 'seal' | 'createdAtMs' | 'bases'>) {
    this.number = number
    this.seal = seal
    this.createdAtMs = createdAtMs
    this.bases = bases
    this.ends = bases.slice()
    this.length = segmentHeaderBytes(bases.length)
  }

  get isEmpty(): boolean {
    return this.length <= segmentHeaderBytes(this.bases.length)
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
 * The segment in which a read of the partition from this offset goes on: the first that ends behind
 * it; -1 when none does. Segments ascend.
 */
export function segmentFrom(segments: readonly Segment[], partition: number, offset: number): number {
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((segments[middle] as Segment).end(partition) > offset) high = middle
    else low = middle + 1
  }
  // One that has no message of the partition ends where it begins, perhaps behind the gap that a
  // restore left.
  while (low < segments.length && !(segments[low] as Segment).has(partition)) low += 1
  return low < segments.length ? low : -1
}

/**
 * After a restore the offsets of each partition go on a multiple of this further on, so that no
 * place names two messages. A power of two, so that the difference of two offsets says how many
 * messages lie between them, gaps left out.
 */
export const GAP_UNIT = 2 ** 36

/**
 * Messages between two offsets of a partition, gaps left out; 0 when the second is not behind the
 * first.
 */
export function messagesBetween(from: number, to: number): number {
  return to <= from ? 0 : ((to % GAP_UNIT) - (from % GAP_UNIT) + GAP_UNIT) % GAP_UNIT
}
