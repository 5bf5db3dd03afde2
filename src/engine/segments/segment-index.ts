/**
 * The index of one segment: by partition, the position of each message in the file, its time, and
 * bits of its Topic Name, 12 bytes a message. The index is written beside the segment when the
 * segment is complete, and can be made again from the segment at any time. The file, little-endian:
 *
 *     0   8 bytes  "FGATEIDX"
 *     8   uint32   version
 *     12  uint32   CRC-32 of all that follows
 *     16  float64  number of the segment
 *     24  float64  bytes of the segment
 *     32  float64  time that the times count from, ms since 1970
 *     40  uint32   partitions that have messages, and 4 bytes of nothing
 *     48           for each of these: uint32 partition, uint32 messages, float64 first offset
 *                  for each of these: uint32 positions; int32 times; uint32 bits
 */
import { crc32 } from 'node:zlib'

const MAGIC = 'FGATEIDX'
const VERSION = 1
const HEAD_BYTES = 48
const CRC_FROM = 16
const ENTRY_BYTES = 12
/** The position of a message that can't be read any more. */
const HOLE = 0xffff_ffff
const GREATEST_TIME = 0x7fff_ffff

/** The messages of one partition in one segment: their offsets are `base`, `base + 1`, ... */
export interface PartitionIndex {
  readonly base: number
  length: number
  positions: Uint32Array
  times: Int32Array
  branches: Uint32Array
}

/** The segment of an index. */
export interface IndexOf {
  readonly number: number
  readonly length: number
  readonly createdAtMs: number
}

export class SegmentIndex {
  readonly #partitions: (PartitionIndex | undefined)[]
  readonly #createdAtMs: number
  #bytes = 0

  constructor(partitions: number, createdAtMs: number) {
    this.#partitions = Array.from({ length: partitions }, () => undefined)
    this.#createdAtMs = createdAtMs
  }

  /** Bytes of memory. */
  get bytes(): number {
    return this.#bytes
  }

  partition(partition: number): PartitionIndex | undefined {
    return this.#partitions[partition]
  }

  /** Adds a message. Offsets ascend within a partition; skipped offsets can't be read. */
  add(partition: number, offset: number, position: number, ownedAtMs: number, branch: number): void {
    let index = this.#partitions[partition]
    if (index === undefined) {
      index = {
        base: offset,
        length: 0,
        positions: new Uint32Array(16),
        times: new Int32Array(16),
        branches: new Uint32Array(16),
      }
      this.#bytes += 16 * ENTRY_BYTES
      this.#partitions[partition] = index
    }
    while (index.base + index.length < offset) this.#push(index, HOLE, ownedAtMs, 0)
    this.#push(index, position, ownedAtMs, branch)
  }

  /** The position of the message in the file; -1: the segment does not hold it. */
  position(partition: number, offset: number): number {
    const index = this.#partitions[partition]
    if (index === undefined || offset < index.base || offset >= index.base + index.length) return -1
    const position = index.positions[offset - index.base] as number
    return position === HOLE ? -1 : position
  }

  /**
   * The time at which the log took a message, ms since 1970. Exact within 24 days of the segment's
   * beginning; beyond, the bound.
   */
  ownedAtMs(index: PartitionIndex, at: number): number {
    return this.#createdAtMs + (index.times[at] as number)
  }

  /** The bytes of the index's file. */
  encode({ number, length }: IndexOf): Buffer {
    const present = [...this.#partitions.entries()].flatMap(([partition, index]) =>
      index === undefined ? [] : [{ partition, index }],
    )
    const messages = present.reduce((sum, { index }) => sum + index.length, 0)
    const bytes = Buffer.allocUnsafeSlow(HEAD_BYTES + 16 * present.length + ENTRY_BYTES * messages)
    bytes.write(MAGIC, 0, 'latin1')
    bytes.writeUInt32LE(VERSION, 8)
    bytes.writeDoubleLE(number, 16)
    bytes.writeDoubleLE(length, 24)
    bytes.writeDoubleLE(this.#createdAtMs, 32)
    bytes.writeUInt32LE(present.length, 40)
    bytes.writeUInt32LE(0, 44)
    let at = HEAD_BYTES
    for (const { partition, index } of present) {
      at = bytes.writeUInt32LE(partition, at)
      at = bytes.writeUInt32LE(index.length, at)
      at = bytes.writeDoubleLE(index.base, at)
    }
    for (const { index } of present) {
      for (const column of [index.positions, index.times, index.branches]) {
        bytes.set(new Uint8Array(column.buffer, 0, 4 * index.length), at)
        at += 4 * index.length
      }
    }
    bytes.writeUInt32LE(crc32(bytes.subarray(CRC_FROM)), 12)
    return bytes
  }

  /**
   * Decodes the bytes of an index's file; they must begin their memory. Also returns the number of
   * the segment's bytes that the index covers. Undefined: the index is not whole, not valid or that
   * of another segment.
   */
  static decode(
    bytes: Buffer,
    partitions: number,
    number: number,
  ): { readonly index: SegmentIndex; readonly length: number } | undefined {
    if (bytes.byteOffset !== 0 || bytes.length < HEAD_BYTES || bytes.toString('latin1', 0, 8) !== MAGIC)
      return undefined
    if (bytes.readUInt32LE(8) !== VERSION || crc32(bytes.subarray(CRC_FROM)) !== bytes.readUInt32LE(12))
      return undefined
    if (bytes.readDoubleLE(16) !== number) return undefined
    const decoded = new SegmentIndex(partitions, bytes.readDoubleLE(32))
    const present = bytes.readUInt32LE(40)
    let at = HEAD_BYTES + 16 * present
    for (let entry = 0; entry < present; entry += 1) {
      const head = HEAD_BYTES + 16 * entry
      const length = bytes.readUInt32LE(head + 4)
      decoded.#partitions[bytes.readUInt32LE(head)] = {
        base: bytes.readDoubleLE(head + 8),
        length,
        positions: new Uint32Array(bytes.buffer, at, length),
        times: new Int32Array(bytes.buffer, at + 4 * length, length),
        branches: new Uint32Array(bytes.buffer, at + 8 * length, length),
      }
      at += ENTRY_BYTES * length
    }
    decoded.#bytes = bytes.length
    return { index: decoded, length: bytes.readDoubleLE(24) }
  }

  #push(index: PartitionIndex, position: number, ownedAtMs: number, branch: number): void {
    if (index.length === index.positions.length) {
      this.#bytes += index.length * ENTRY_BYTES
      index.positions = grown(new Uint32Array(2 * index.length), index.positions)
      index.times = grown(new Int32Array(2 * index.length), index.times)
      index.branches = grown(new Uint32Array(2 * index.length), index.branches)
    }
    const time = ownedAtMs - this.#createdAtMs
    index.positions[index.length] = position
    index.times[index.length] = time > GREATEST_TIME ? GREATEST_TIME : time < -GREATEST_TIME ? -GREATEST_TIME : time
    index.branches[index.length] = branch
    index.length += 1
  }
}

function grown<Column extends Uint32Array | Int32Array>(larger: Column, column: Column): Column {
  larger.set(column)
  return larger
}
