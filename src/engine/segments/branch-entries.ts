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

/** The part of an index's file, from the entries of the index. */
export function encodeBranches(index: SegmentIndex): Buffer {
  const present = [...index.partitions.entries()].flatMap(([partition, entries]) =>
    entries === undefined ? [] : [{ partition, entries, groups: groupsOf(entries) }],
  )
  const tableEnd = HEAD_BYTES + PLACE_BYTES * present.length
  const size = present.reduce(
    (sum, { groups }) => sum + BRANCH_BYTES * groups.ends.length + ENTRY_BYTES * groups.order.length,
    tableEnd,
  )
  const bytes = Buffer.alloc(size)
  bytes.writeUInt32LE(present.length, 4)
  bytes.writeDoubleLE(index.createdAtMs, 8)
  let at = tableEnd
  for (const [number, { partition, entries, groups }] of present.entries()) {
    const place = HEAD_BYTES + PLACE_BYTES * number
    const entriesAt = at + BRANCH_BYTES * groups.ends.length
    bytes.writeUInt32LE(partition, place)
    bytes.writeUInt32LE(groups.ends.length, place + 4)
    bytes.writeDoubleLE(at, place + 8)
    bytes.writeDoubleLE(entries.base, place + 16)
    writeGroups(bytes, at, entriesAt, entries, groups)
    bytes.writeUInt32LE(crc32(bytes.subarray(at, entriesAt)), place + 24)
    at = entriesAt + ENTRY_BYTES * groups.order.length
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(4, tableEnd)), 0)
  return bytes
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

function groupsOf(entries: PartitionIndex): Groups {
  const { branches } = entries
  const order = orderByBranch(entries)
  const ends: number[] = []
  for (let at = 1; at <= order.length; at += 1) {
    if (at === order.length || branches[order[at] as number] !== branches[order[at - 1] as number]) ends.push(at)
  }
  return { order, ends }
}

const DIGIT_BITS = 11
const DIGITS = 2 ** DIGIT_BITS

/** A radix sort with three digits: the segment's end must not hold up the event loop for long. */
function orderByBranch({ length, positions, branches }: PartitionIndex): Uint32Array {
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

function writeGroups(
  bytes: Buffer,
  branchesAt: number,
  entriesAt: number,
  entries: PartitionIndex,
  groups: Groups,
): void {
  const { positions, times, branches, accounts, offsets } = entries
  // A segment has some 100,000 entries, and its end must not hold up the event loop for long.
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + entriesAt, groups.order.length * (ENTRY_BYTES / 4))
  let from = 0
  for (const [number, end] of groups.ends.entries()) {
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
    const head = branchesAt + BRANCH_BYTES * number
    bytes.writeUInt32LE(branches[groups.order[from] as number] as number, head)
    bytes.writeUInt32LE(end, head + 4)
    bytes.writeUInt32LE(crc32(bytes.subarray(first, last)), head + 8)
    from = end
  }
}
