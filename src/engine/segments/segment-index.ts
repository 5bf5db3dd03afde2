/**
 * The index of one segment: by partition, the position of each message in the file, its time, bits
 * of its Topic Name, and its account, 14 bytes a message. The index is written beside the segment
 * when the segment is complete, and can be made again from the segment at any time.
 * `segment-index-file.ts` has the form of its file.
 *
 * A rewritten segment has lost messages of some accounts. There, the index also has the offset of
 * each message, 4 bytes more.
 */
import type { Accounts } from './accounts.ts'
import { SegmentShares } from './accounts.ts'

/** Bytes of memory for an entry with an offset. */
const ENTRY_BYTES = 18
/** The position of a message that can't be read any more. */
export const HOLE = 0xffff_ffff
const GREATEST_TIME = 0x7fff_ffff
const FIRST_CAPACITY = 16

/** The messages of one partition in one segment, in the order of their offsets. */
export interface PartitionIndex {
  readonly base: number
  length: number
  positions: Uint32Array
  times: Int32Array
  branches: Uint32Array
  /** The numbers of the messages' accounts in the segment's shares. */
  accounts: Uint16Array
  /**
   * The offsets, counted from the base. Undefined: the offsets are `base`, `base + 1`, ... without
   * a gap.
   */
  offsets: Uint32Array | undefined
  /** The numbers of the accounts that have lost messages to the rewriting of the segment. */
  readonly removedOf: number[]
}

export class SegmentIndex {
  readonly partitions: (PartitionIndex | undefined)[]
  readonly createdAtMs: number
  /** Shared with the segment (`Segment.shares`). */
  shares: SegmentShares
  #bytes = 0

  constructor(partitions: number, createdAtMs: number, accounts: Accounts) {
    this.partitions = Array.from({ length: partitions }, () => undefined)
    this.createdAtMs = createdAtMs
    this.shares = new SegmentShares(accounts.nobody)
  }

  /** Bytes of memory. */
  get bytes(): number {
    return this.#bytes
  }

  partition(partition: number): PartitionIndex | undefined {
    return this.partitions[partition]
  }

  /** Takes the messages of a partition as a file has them. */
  take(partition: number, entries: PartitionIndex): void {
    this.partitions[partition] = entries
    this.#bytes += ENTRY_BYTES * entries.length
  }

  /** Begins a partition of a rewritten segment: offsets may be left out. */
  beginRewritten(partition: number, base: number): void {
    this.partitions[partition] = this.#emptyPartition(base, new Uint32Array(FIRST_CAPACITY))
  }

  /** Notes that the account with this number has lost messages of a rewritten partition. */
  noteRemoved(partition: number, account: number): void {
    const removedOf = this.partitions[partition]?.removedOf
    if (removedOf?.includes(account) === false) removedOf.push(account)
  }

  /**
   * Adds a message. Offsets ascend within a partition; skipped offsets can't be read. `account` is
   * the number of the message's account in `shares`.
   */
  add(partition: number, offset: number, position: number, ownedAtMs: number, branch: number, account: number): void {
    const index = (this.partitions[partition] ??= this.#emptyPartition(offset, undefined))
    if (index.offsets === undefined) {
      while (index.base + index.length < offset) this.#push(index, HOLE, ownedAtMs, 0, 0)
    }
    this.#push(index, position, ownedAtMs, branch, account)
    if (index.offsets !== undefined) index.offsets[index.length - 1] = offset - index.base
  }

  /** The position of the message in the file; -1: the segment does not hold it. */
  position(partition: number, offset: number): number {
    const index = this.partitions[partition]
    if (index === undefined) return -1
    const at = entryFrom(index, offset)
    return at < index.length && offsetOf(index, at) === offset ? this.positionAt(index, at) : -1
  }

  /** The position of an entry's message in the file; -1: the message can't be read any more. */
  positionAt(index: PartitionIndex, at: number): number {
    const position = index.positions[at] as number
    return position === HOLE ? -1 : position
  }

  /**
   * The time at which the log took a message, ms since 1970. Exact within 24 days of the segment's
   * beginning; beyond, the bound.
   */
  ownedAtMs(index: PartitionIndex, at: number): number {
    return this.createdAtMs + (index.times[at] as number)
  }

  #emptyPartition(base: number, offsets: Uint32Array | undefined): PartitionIndex {
    this.#bytes += FIRST_CAPACITY * ENTRY_BYTES
    return {
      base,
      length: 0,
      positions: new Uint32Array(FIRST_CAPACITY),
      times: new Int32Array(FIRST_CAPACITY),
      branches: new Uint32Array(FIRST_CAPACITY),
      accounts: new Uint16Array(FIRST_CAPACITY),
      offsets,
      removedOf: [],
    }
  }

  #push(index: PartitionIndex, position: number, ownedAtMs: number, branch: number, account: number): void {
    if (index.length === index.positions.length) {
      const capacity = Math.max(FIRST_CAPACITY, 2 * index.length)
      this.#bytes += (capacity - index.length) * ENTRY_BYTES
      index.positions = grown(new Uint32Array(capacity), index.positions)
      index.times = grown(new Int32Array(capacity), index.times)
      index.branches = grown(new Uint32Array(capacity), index.branches)
      index.accounts = grown(new Uint16Array(capacity), index.accounts)
      if (index.offsets !== undefined) index.offsets = grown(new Uint32Array(capacity), index.offsets)
    }
    const time = ownedAtMs - this.createdAtMs
    index.positions[index.length] = position
    index.times[index.length] = time > GREATEST_TIME ? GREATEST_TIME : time < -GREATEST_TIME ? -GREATEST_TIME : time
    index.branches[index.length] = branch
    index.accounts[index.length] = account
    index.length += 1
  }
}

/** The offset of an entry. */
export function offsetOf({ base, offsets }: PartitionIndex, at: number): number {
  return base + (offsets === undefined ? at : (offsets[at] as number))
}

/** The first entry at or behind an offset; the number of entries if there is none. */
export function entryFrom(index: PartitionIndex, offset: number): number {
  const { base, length, offsets } = index
  const wanted = offset - base
  if (offsets === undefined) return wanted <= 0 ? 0 : Math.min(wanted, length)
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((offsets[middle] as number) < wanted) low = middle + 1
    else high = middle
  }
  return low
}

/** The offset behind the last entry; the base if there is none. */
export function endOf(index: PartitionIndex): number {
  return index.length === 0 ? index.base : offsetOf(index, index.length - 1) + 1
}

function grown<Column extends Uint32Array | Int32Array | Uint16Array>(larger: Column, column: Column): Column {
  larger.set(column)
  return larger
}
