/**
 * The file of a segment's index. It begins with the segment's shares of the accounts, so that a
 * start reads the shares without the rest. Little-endian:
 *
 *     0   8 bytes  "FGATEIDX"
 *     8   uint32   version
 *     12  uint32   CRC-32 of all that follows, up to the entries by topic branch
 *     16  float64  number of the segment
 *     24  float64  bytes of the segment
 *     32  float64  time that the times count from, ms since 1970
 *     40  uint32   partitions that have messages
 *     44  uint32   generation of the segment: how often it was rewritten
 *     48  uint32   bytes of the shares
 *     52  uint32   CRC-32 of the bytes from 16 to 51, and of the shares
 *     56  float64  position of the entries by topic branch
 *     64           shares: uint32 accounts; for each: uint16 bytes, topic branch; uint16 bytes,
 *                  tenant; float64 bytes of its messages; float64 messages
 *                  for each partition: uint32 partition; uint32 messages; float64 first offset;
 *                  uint32 1 if it has offsets; uint32 accounts that have lost messages
 *                  for each partition: uint32 positions; int32 times; uint32 bits; [uint32
 *                  offsets]; uint16 accounts; uint16 accounts that have lost messages
 *                  the entries by topic branch (`branch-entries.ts`), with checksums of their own
 *
 * The shares and the columns of uint16 are filled up to a multiple of 4 bytes. Version 2 has no
 * entries by topic branch, and its shares begin at 56. Version 1 has partitions with positions,
 * times and bits alone, and begins with them at 48.
 */
import { crc32 } from 'node:zlib'
import type { Disk, DiskFile } from '../ports/disk.ts'
import type { Accounts } from './accounts.ts'
import { SegmentShares } from './accounts.ts'
import { encodeBranches } from './branch-entries.ts'
import { indexName } from './segment-header.ts'
import { SegmentIndex } from './segment-index.ts'
import type { PartitionIndex } from './segment-index.ts'

const MAGIC = 'FGATEIDX'
const VERSION = 3
const VERSION_WITHOUT_BRANCHES = 2
const VERSION_WITHOUT_SHARES = 1
const HEAD_BYTES = 64
const HEAD_BYTES_OF_VERSION_2 = 56
const HEAD_BYTES_OF_VERSION_1 = 48
const CRC_FROM = 16
const SHARES_CRC_AT = 52
const BRANCHES_AT = 56
/** Bytes that a start reads of each index; larger shares take a second read. */
const FIRST_READ_BYTES = 16_384

/** The segment of an index. */
export interface IndexOf {
  readonly number: number
  readonly length: number
  readonly generation: number
}

export interface StoredIndex {
  readonly index: SegmentIndex
  /** The number of the segment's bytes that the index covers. */
  readonly length: number
  readonly generation: number
  /** False: the file is of version 1. All messages are in the account of nobody. */
  readonly hasShares: boolean
}

/**
 * The bytes of the file of a complete index, one piece behind the other. `turn` lets the event loop
 * turn between parts of the work.
 */
export async function encodeIndex(
  index: SegmentIndex,
  segment: IndexOf,
  turn: () => Promise<void>,
): Promise<readonly Buffer[]> {
  const columns = encodeColumns(index, segment)
  return [columns, ...(await encodeBranches(index, turn))]
}

function encodeColumns(index: SegmentIndex, { number, length, generation }: IndexOf): Buffer {
  const present = [...index.partitions.entries()].flatMap(([partition, entries]) =>
    entries === undefined ? [] : [{ partition, entries }],
  )
  const shares = encodeShares(index.shares)
  const size = present.reduce((sum, { entries }) => sum + 24 + bytesOf(entries), HEAD_BYTES + shares.length)
  const bytes = Buffer.alloc(size)
  bytes.write(MAGIC, 0, 'latin1')
  bytes.writeUInt32LE(VERSION, 8)
  bytes.writeDoubleLE(number, 16)
  bytes.writeDoubleLE(length, 24)
  bytes.writeDoubleLE(index.createdAtMs, 32)
  bytes.writeUInt32LE(present.length, 40)
  bytes.writeUInt32LE(generation, 44)
  bytes.writeUInt32LE(shares.length, 48)
  bytes.writeUInt32LE(crc32(shares, crc32(bytes.subarray(CRC_FROM, SHARES_CRC_AT))), SHARES_CRC_AT)
  bytes.writeDoubleLE(size, BRANCHES_AT)
  shares.copy(bytes, HEAD_BYTES)
  let at = HEAD_BYTES + shares.length
  for (const { partition, entries } of present) {
    at = bytes.writeUInt32LE(partition, at)
    at = bytes.writeUInt32LE(entries.length, at)
    at = bytes.writeDoubleLE(entries.base, at)
    at = bytes.writeUInt32LE(entries.offsets === undefined ? 0 : 1, at)
    at = bytes.writeUInt32LE(entries.removedOf.length, at)
  }
  for (const { entries } of present) {
    const { positions, times, branches, offsets, accounts, removedOf } = entries
    for (const column of [positions, times, branches, ...(offsets === undefined ? [] : [offsets])]) {
      bytes.set(new Uint8Array(column.buffer, column.byteOffset, 4 * entries.length), at)
      at += 4 * entries.length
    }
    bytes.set(new Uint8Array(accounts.buffer, accounts.byteOffset, 2 * entries.length), at)
    at += whole(2 * entries.length)
    for (const [place, account] of removedOf.entries()) bytes.writeUInt16LE(account, at + 2 * place)
    at += whole(2 * removedOf.length)
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(CRC_FROM)), 12)
  return bytes
}

/**
 * Reads the bytes of an index's file without the entries by topic branch. Rejects with the disk's
 * error.
 */
export async function readIndexBytes(file: DiskFile): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES)
  const size = await file.size()
  const isWhole = (await file.read([head], 0)) === HEAD_BYTES
  const end = isWhole && head.readUInt32LE(8) === VERSION ? Math.min(size, columnsEndOf(head)) : size
  const bytes = Buffer.allocUnsafeSlow(end)
  return bytes.subarray(0, await file.read([bytes], 0))
}

/**
 * Where the entries by topic branch begin in the segment's index; undefined: the file is not that
 * of this segment, or has no such entries. Rejects with the disk's error.
 */
export async function readBranchesAt(
  file: DiskFile,
  { number, length, generation }: IndexOf,
): Promise<number | undefined> {
  const head = Buffer.alloc(HEAD_BYTES)
  if ((await file.read([head], 0)) < HEAD_BYTES) return undefined
  if (!isHeadOf(head, number) || head.readUInt32LE(8) !== VERSION) return undefined
  if (head.readDoubleLE(24) !== length || head.readUInt32LE(44) !== generation) return undefined
  return columnsEndOf(head)
}

/**
 * Decodes the bytes of an index's file; they must begin their memory. Undefined: the index is not
 * whole, not valid or that of another segment.
 */
export function decodeIndex(
  bytes: Buffer,
  partitions: number,
  number: number,
  accounts: Accounts,
): StoredIndex | undefined {
  if (bytes.byteOffset !== 0 || !isHeadOf(bytes, number)) return undefined
  const version = bytes.readUInt32LE(8)
  const covered = bytes.subarray(CRC_FROM, version === VERSION ? columnsEndOf(bytes) : bytes.length)
  if (crc32(covered) !== bytes.readUInt32LE(12)) return undefined
  const index = new SegmentIndex(partitions, bytes.readDoubleLE(32), accounts)
  const length = bytes.readDoubleLE(24)
  if (version === VERSION_WITHOUT_SHARES) {
    decodeVersion1(bytes, index)
    return { index, length, generation: 0, hasShares: false }
  }
  const sharesAt = sharesAtOf(version)
  const sharesEnd = sharesAt + bytes.readUInt32LE(48)
  index.shares = decodeShares(bytes.subarray(sharesAt, sharesEnd), accounts)
  const present = bytes.readUInt32LE(40)
  let at = sharesEnd + 24 * present
  for (let entry = 0; entry < present; entry += 1) {
    const head = sharesEnd + 24 * entry
    const count = bytes.readUInt32LE(head + 4)
    const hasOffsets = bytes.readUInt32LE(head + 16) === 1
    const removed = bytes.readUInt32LE(head + 20)
    const columns = [at, at + 4 * count, at + 8 * count, at + 12 * count] as const
    const accountsAt = at + (hasOffsets ? 16 : 12) * count
    const removedAt = accountsAt + whole(2 * count)
    index.take(bytes.readUInt32LE(head), {
      base: bytes.readDoubleLE(head + 8),
      length: count,
      positions: new Uint32Array(bytes.buffer, columns[0], count),
      times: new Int32Array(bytes.buffer, columns[1], count),
      branches: new Uint32Array(bytes.buffer, columns[2], count),
      accounts: new Uint16Array(bytes.buffer, accountsAt, count),
      offsets: hasOffsets ? new Uint32Array(bytes.buffer, columns[3], count) : undefined,
      removedOf: Array.from({ length: removed }, (_, place) => bytes.readUInt16LE(removedAt + 2 * place)),
    })
    at = removedAt + whole(2 * removed)
  }
  return { index, length, generation: bytes.readUInt32LE(44), hasShares: true }
}

/**
 * Reads the shares of a segment from the beginning of its index's file. Undefined: the file has no
 * valid shares of this segment. Failures of the disk count as such.
 */
export async function readStoredShares(
  disk: Disk,
  directory: string,
  { number, length, generation }: IndexOf,
  accounts: Accounts,
): Promise<SegmentShares | undefined> {
  try {
    const file = await disk.open(`${directory}/${indexName(number)}`)
    try {
      let bytes = Buffer.alloc(FIRST_READ_BYTES)
      bytes = bytes.subarray(0, await file.read([bytes], 0))
      if (bytes.length < HEAD_BYTES || !isHeadOf(bytes, number)) return undefined
      const version = bytes.readUInt32LE(8)
      if (version === VERSION_WITHOUT_SHARES) return undefined
      if (bytes.readDoubleLE(24) !== length || bytes.readUInt32LE(44) !== generation) return undefined
      const sharesAt = sharesAtOf(version)
      const end = sharesAt + bytes.readUInt32LE(48)
      if (end > bytes.length) {
        if (end > (await file.size())) return undefined
        bytes = Buffer.alloc(end)
        await file.read([bytes], 0)
      }
      const shares = bytes.subarray(sharesAt, end)
      const check = crc32(shares, crc32(bytes.subarray(CRC_FROM, SHARES_CRC_AT)))
      return check === bytes.readUInt32LE(SHARES_CRC_AT) ? decodeShares(shares, accounts) : undefined
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

function isHeadOf(bytes: Buffer, number: number): boolean {
  if (bytes.length < HEAD_BYTES_OF_VERSION_1 || bytes.toString('latin1', 0, 8) !== MAGIC) return false
  const version = bytes.readUInt32LE(8)
  if (version < VERSION_WITHOUT_SHARES || version > VERSION) return false
  if (version === VERSION && bytes.length < HEAD_BYTES) return false
  return bytes.readDoubleLE(16) === number
}

function sharesAtOf(version: number): number {
  return version === VERSION_WITHOUT_BRANCHES ? HEAD_BYTES_OF_VERSION_2 : HEAD_BYTES
}

function columnsEndOf(head: Buffer): number {
  const end = head.readDoubleLE(BRANCHES_AT)
  return Number.isSafeInteger(end) && end > HEAD_BYTES ? end : HEAD_BYTES
}

function decodeVersion1(bytes: Buffer, index: SegmentIndex): void {
  const present = bytes.readUInt32LE(40)
  let at = HEAD_BYTES_OF_VERSION_1 + 16 * present
  for (let entry = 0; entry < present; entry += 1) {
    const head = HEAD_BYTES_OF_VERSION_1 + 16 * entry
    const length = bytes.readUInt32LE(head + 4)
    const entries: PartitionIndex = {
      base: bytes.readDoubleLE(head + 8),
      length,
      positions: new Uint32Array(bytes.buffer, at, length),
      times: new Int32Array(bytes.buffer, at + 4 * length, length),
      branches: new Uint32Array(bytes.buffer, at + 8 * length, length),
      accounts: new Uint16Array(length),
      offsets: undefined,
      removedOf: [],
    }
    index.take(bytes.readUInt32LE(head), entries)
    at += 12 * length
  }
}

function encodeShares(shares: SegmentShares): Buffer {
  const texts = shares.accounts.map(
    ({ topicBranch, tenant }) => [Buffer.from(topicBranch), Buffer.from(tenant)] as const,
  )
  const size = texts.reduce((sum, [branch, tenant]) => sum + branch.length + tenant.length + 20, 4)
  const bytes = Buffer.alloc(whole(size))
  let at = bytes.writeUInt32LE(texts.length, 0)
  for (const [number, [branch, tenant]] of texts.entries()) {
    for (const text of [branch, tenant]) {
      at = bytes.writeUInt16LE(text.length, at)
      at += text.copy(bytes, at)
    }
    at = bytes.writeDoubleLE(shares.bytes[number] as number, at)
    at = bytes.writeDoubleLE(shares.messages[number] as number, at)
  }
  return bytes
}

function decodeShares(bytes: Buffer, accounts: Accounts): SegmentShares {
  const shares = new SegmentShares(undefined)
  const count = bytes.readUInt32LE(0)
  let at = 4
  const text = (): string => {
    const from = at + 2
    at = from + bytes.readUInt16LE(at)
    return bytes.toString('utf8', from, at)
  }
  for (let number = 0; number < count; number += 1) {
    const branch = text()
    const account = accounts.of(branch, text())
    // The numbers of the columns must stay the numbers of the file, so each account of the file
    // gets a number, even if it is the account of nobody once more.
    shares.append(account, bytes.readDoubleLE(at), bytes.readDoubleLE(at + 8))
    at += 16
  }
  return shares
}

function bytesOf({ length, offsets, removedOf }: PartitionIndex): number {
  return (offsets === undefined ? 12 : 16) * length + whole(2 * length) + whole(2 * removedOf.length)
}

/** The next multiple of 4: the columns of 4 bytes must begin there. */
function whole(bytes: number): number {
  return (bytes + 3) & ~3
}
