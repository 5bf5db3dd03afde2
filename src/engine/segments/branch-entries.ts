/**
 * The entries of an index, ordered by topic branch: the last part of an index's file. A scan of one
 * device reads its entries alone, some 100 bytes, and not the whole index. Little-endian, positions
 * count from the beginning of the part:
 *
 *     0   uint32   CRC-32 of the bytes from 4 to the end of the table
 *     4   uint32   partitions that have messages
 *     8   float64  time that the times count from, ms since 1970
 *     16           table, for each partition: uint32 partition; uint32 branches; float64
 *                  position of its branches; float64 first offset; uint32 CRC-32 of its
 *                  branches; uint32 0
 *                  for each partition: its branches, ascending: uint32 bits of the Topic Name;
 *                  uint32 entries up to its last one; uint32 CRC-32 of its entries;
 *                  then the entries of each branch, in the order of their offsets: uint32 offset
 *                  from the first; uint32 position in the segment; int32 time; uint32 account
 */
import { crc32 } from 'node:zlib'
import type { DiskFile } from '../ports/disk.ts'
import { HOLE } from './segment-index.ts'
import type { PartitionIndex, SegmentIndex } from './segment-index.ts'

const HEAD_BYTES = 16
const PLACE_BYTES = 32
const BRANCH_BYTES = 12
const ENTRY_BYTES = 16

/** A message of a branch. */
export interface BranchEntry {
  readonly offset: number
  /** The position of the record in the segment. */
  readonly position: number
  readonly ownedAtMs: number
  /** The number of the account in the segment's shares. */
  readonly account: number
}

/**
 * The part of an index's file, from the entries of a complete index, one piece behind the other. A
 * segment has some 100,000 entries: `turn` lets the event loop turn between parts of the work.
 */
export async function encodeBranches(index: SegmentIndex, turn: () => Promise<void>): Promise<readonly Buffer[]> {
  const present = [...index.partitions.entries()].flatMap(([partition, entries]) =>
    entries === undefined ? [] : [{ partition, entries }],
  )
  const table = Buffer.alloc(HEAD_BYTES + PLACE_BYTES * present.length)
  table.writeUInt32LE(present.length, 4)
  table.writeDoubleLE(index.createdAtMs, 8)
  const pieces = [table]
  let at = table.length
  for (const [number, { partition, entries }] of present.entries()) {
    const groups = await groupsOf(entries, turn)
    const place = HEAD_BYTES + PLACE_BYTES * number
    const branchesBytes = BRANCH_BYTES * groups.ends.length
    const bytes = Buffer.allocUnsafeSlow(branchesBytes + ENTRY_BYTES * groups.order.length)
    await writeGroups(bytes, entries, groups, turn)
    table.writeUInt32LE(partition, place)
    table.writeUInt32LE(groups.ends.length, place + 4)
    table.writeDoubleLE(at, place + 8)
    table.writeDoubleLE(entries.base, place + 16)
    table.writeUInt32LE(crc32(bytes.subarray(0, branchesBytes)), place + 24)
    pieces.push(bytes)
    at += bytes.length
  }
  table.writeUInt32LE(crc32(table.subarray(4)), 0)
  return pieces
}

/** The places of the partitions in the part of an index's file, which never change. */
export interface BranchPlaces {
  /** Where the part begins in the file. */
  readonly start: number
  readonly createdAtMs: number
  /** The table; some 2 KB for 64 partitions. */
  readonly table: Buffer
}

/**
 * Reads the places from an index's file whose part begins at `start`. Undefined: the bytes are not
 * whole. Rejects with the disk's error.
 */
export async function readBranchPlaces(file: DiskFile, start: number): Promise<BranchPlaces | undefined> {
  const head = await readPiece(file, start, HEAD_BYTES)
  const present = head?.readUInt32LE(4) ?? 0
  // A partition is a number of 16 bits.
  if (head === undefined || present > 65_536) return undefined
  const table = await readPiece(file, start + HEAD_BYTES, PLACE_BYTES * present)
  if (table === undefined) return undefined
  if (crc32(table, crc32(head.subarray(4))) !== head.readUInt32LE(0)) return undefined
  return { start, createdAtMs: head.readDoubleLE(8), table }
}

/**
 * Reads the entries of the branch from the index's file of these places. Undefined: the bytes are
 * not whole, or the file has other places by now. Rejects with the disk's error.
 */
export async function readBranch(
  file: DiskFile,
  { start, createdAtMs, table }: BranchPlaces,
  partition: number,
  branch: number,
): Promise<readonly BranchEntry[] | undefined> {
  for (let place = 0; place < table.length; place += PLACE_BYTES) {
    if (table.readUInt32LE(place) !== partition) continue
    const branchesAt = start + table.readDoubleLE(place + 8)
    const branches = await readPiece(file, branchesAt, BRANCH_BYTES * table.readUInt32LE(place + 4))
    if (branches === undefined || crc32(branches) !== table.readUInt32LE(place + 24)) return undefined
    const found = findBranch(branches, branch)
    if (found === undefined) return []
    const { from, to, check } = found
    const entriesAt = branchesAt + branches.length + ENTRY_BYTES * from
    const entries = await readPiece(file, entriesAt, ENTRY_BYTES * (to - from))
    if (entries === undefined || crc32(entries) !== check) return undefined
    return decodeEntries(entries, table.readDoubleLE(place + 16), createdAtMs)
  }
  return []
}

function decodeEntries(bytes: Buffer, base: number, createdAtMs: number): BranchEntry[] {
  return Array.from({ length: bytes.length / ENTRY_BYTES }, (_, number) => {
    const at = ENTRY_BYTES * number
    return {
      offset: base + bytes.readUInt32LE(at),
      position: bytes.readUInt32LE(at + 4),
      ownedAtMs: createdAtMs + bytes.readInt32LE(at + 8),
      account: bytes.readUInt32LE(at + 12),
    }
  })
}

function findBranch(
  branches: Buffer,
  branch: number,
): { readonly from: number; readonly to: number; readonly check: number } | undefined {
  let low = 0
  let high = branches.length / BRANCH_BYTES
  while (low < high) {
    const middle = (low + high) >>> 1
    if (branches.readUInt32LE(BRANCH_BYTES * middle) < branch) low = middle + 1
    else high = middle
  }
  const at = BRANCH_BYTES * low
  if (at >= branches.length || branches.readUInt32LE(at) !== branch) return undefined
  const from = low === 0 ? 0 : branches.readUInt32LE(at - BRANCH_BYTES + 4)
  return { from, to: branches.readUInt32LE(at + 4), check: branches.readUInt32LE(at + 8) }
}

/** Exactly so many bytes; undefined: the file ends before. */
async function readPiece(file: DiskFile, position: number, length: number): Promise<Buffer | undefined> {
  if (length === 0) return Buffer.alloc(0)
  const bytes = Buffer.allocUnsafe(length)
  return (await file.read([bytes], position)) === length ? bytes : undefined
}

/** The readable entries of a partition in the order of their branches. */
interface Groups {
  /** The numbers of the entries, by branch and then by offset. */
  readonly order: Uint32Array
  /** For each branch: where its entries end in `order`. */
  readonly ends: readonly number[]
}

async function groupsOf(entries: PartitionIndex, turn: () => Promise<void>): Promise<Groups> {
  const { branches } = entries
  const order = await orderByBranch(entries, turn)
  const ends: number[] = []
  for (let at = 1; at <= order.length; at += 1) {
    if (at === order.length || branches[order[at] as number] !== branches[order[at - 1] as number]) ends.push(at)
  }
  return { order, ends }
}

const DIGIT_BITS = 11
const DIGITS = 2 ** DIGIT_BITS

/** A radix sort with three digits, each of which takes 2 ms at most. */
async function orderByBranch(
  { length, positions, branches }: PartitionIndex,
  turn: () => Promise<void>,
): Promise<Uint32Array> {
  let order = new Uint32Array(length)
  let readable = 0
  for (let at = 0; at < length; at += 1) {
    if (positions[at] === HOLE) continue
    order[readable] = at
    readable += 1
  }
  order = order.subarray(0, readable)
  let sorted = new Uint32Array(readable)
  const starts = new Uint32Array(DIGITS + 1)
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    await turn()
    sortByDigit(order, sorted, branches, shift, starts)
    ;[order, sorted] = [sorted, order]
  }
  return order
}

/** Sorts stably by one digit. Loops with an index: an iterator costs ten times as much here. */
function sortByDigit(
  order: Uint32Array,
  sorted: Uint32Array,
  branches: Uint32Array,
  shift: number,
  starts: Uint32Array,
): void {
  starts.fill(0)
  for (let place = 0; place < order.length; place += 1) {
    const digit = ((branches[order[place] as number] as number) >>> shift) & (DIGITS - 1)
    starts[digit + 1] = (starts[digit + 1] as number) + 1
  }
  for (let digit = 1; digit < DIGITS; digit += 1) {
    starts[digit] = (starts[digit] as number) + (starts[digit - 1] as number)
  }
  for (let place = 0; place < order.length; place += 1) {
    const at = order[place] as number
    const digit = ((branches[at] as number) >>> shift) & (DIGITS - 1)
    const start = starts[digit] as number
    sorted[start] = at
    starts[digit] = start + 1
  }
}

/** Entries that are written between two turns of the event loop: a ms of work. */
const ENTRIES_OF_A_TURN = 4_096

/** Writes the branches of the groups, and behind them their entries, into memory of their own. */
async function writeGroups(
  bytes: Buffer,
  entries: PartitionIndex,
  groups: Groups,
  turn: () => Promise<void>,
): Promise<void> {
  const { positions, times, branches, accounts, offsets } = entries
  const entriesAt = BRANCH_BYTES * groups.ends.length
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + entriesAt, groups.order.length * (ENTRY_BYTES / 4))
  let from = 0
  let turnAt = 0
  for (let number = 0; number < groups.ends.length; number += 1) {
    const end = groups.ends[number] as number
    if (end > turnAt) {
      turnAt = end + ENTRIES_OF_A_TURN
      await turn()
    }
    const first = entriesAt + ENTRY_BYTES * from
    const last = entriesAt + ENTRY_BYTES * end
    let word = (first - entriesAt) / 4
    for (let place = from; place < end; place += 1) {
      const entry = groups.order[place] as number
      words[word] = offsets === undefined ? entry : (offsets[entry] as number)
      words[word + 1] = positions[entry] as number
      words[word + 2] = times[entry] as number
      words[word + 3] = accounts[entry] as number
      word += 4
    }
    const head = BRANCH_BYTES * number
    bytes.writeUInt32LE(branches[groups.order[from] as number] as number, head)
    bytes.writeUInt32LE(end, head + 4)
    bytes.writeUInt32LE(crc32(bytes.subarray(first, last)), head + 8)
    from = end
  }
}
