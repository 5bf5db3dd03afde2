/**
 * The head of a segment; the log is a row of segments, each a file. The head says at which offset
 * each partition goes on, so that tails outlive the segments that retention removes. The head also
 * says how far the segment before it is valid, so that bytes that a failing disk left behind that
 * place are never read. Little-endian:
 *
 *     0   8 bytes  "FGATELOG"
 *     8   uint16   version
 *     10  uint16   partitions
 *     12  uint32   CRC-32 of all that stands before and behind it
 *     16  uint32   number of the segment
 *     20  uint32   seal of the segment's records (record.ts)
 *     24  float64  when it was begun, ms since 1970
 *     32  float64  offsets skipped in each partition before it (after a restore), not lost
 *     40  float64  number of the segment before it; -1: there was none
 *     48  float64  valid bytes of the segment before it
 *     56  float64  when the first of its messages was taken, ms since 1970; Infinity: it has none
 *     64  float64  when the last one was; -Infinity: it has none
 *     72  float64  for each partition: the offset at which it goes on here
 *
 * Version 3 is the head of a rewritten segment, without the messages that were removed. It has,
 * behind the offsets: float64 valid bytes of this segment; float64 and float64, when the first and
 * the last of its messages were taken; float64 messages; float64 how often it was rewritten. The
 * segment stands for all segments between the one before it and its number.
 *
 * Version 1 has the number as a float64 at 16 and the seal 0, and its CRC covers only the bytes
 * behind the CRC.
 */
import { crc32 } from 'node:zlib'
import { readDespiteErrors } from '../ports/disk.ts'
import type { DiskFile } from '../ports/disk.ts'
import { NewerRecordError } from './record.ts'

const MAGIC = 'FGATELOG'
const VERSION = 2
const VERSION_REWRITTEN = 3
const FIXED_BYTES = 72
const REWRITTEN_BYTES = 40
const CRC_FROM = 16

/** The segment before this one, as it was when it was completed. */
export interface PreviousSegment {
  readonly number: number
  /** Its valid bytes. */
  readonly length: number
  readonly firstMs: number
  readonly lastMs: number
}

/** A segment that was rewritten, and has lost messages. */
export interface Rewritten {
  /** Its valid bytes. */
  readonly length: number
  readonly firstMs: number
  readonly lastMs: number
  /** The messages that are left. */
  readonly messages: number
  /** How often the segment was rewritten. */
  readonly generation: number
}

export interface SegmentHeader {
  readonly number: number
  readonly seal: number
  readonly createdAtMs: number
  readonly gap: number
  readonly previous: PreviousSegment | undefined
  /** By partition: the offset at which it goes on in this segment. */
  readonly bases: Float64Array
  /** Undefined: the segment is as it was written. */
  readonly rewritten?: Rewritten | undefined
}

/** Bytes of a head with this number of partitions. */
export function segmentHeaderBytes(partitions: number, isRewritten = false): number {
  return FIXED_BYTES + 8 * partitions + (isRewritten ? REWRITTEN_BYTES : 0)
}

/** `00000000000000000042.log`: the names sort as the numbers do. */
export function segmentName(number: number): string {
  return `${String(number).padStart(20, '0')}.log`
}

/** The name of a segment's file while it is being rewritten. */
export function rewrittenName(number: number): string {
  return `${segmentName(number)}.new`
}

/** True for the name of a file that is being rewritten. */
export function isRewrittenName(name: string): boolean {
  return /^\d{20}\.log\.new$/.test(name)
}

/** The name of the index beside a segment. */
export function indexName(number: number): string {
  return `${String(number).padStart(20, '0')}.index`
}

/** The number of the segment with this file name; undefined: the file is no segment. */
export function segmentNumberOf(name: string): number | undefined {
  return /^\d{20}\.log$/.test(name) ? Number(name.slice(0, 20)) : undefined
}

/** The number of the segment whose index has this file name; undefined: the file is no index. */
export function indexNumberOf(name: string): number | undefined {
  return /^\d{20}\.index$/.test(name) ? Number(name.slice(0, 20)) : undefined
}

/** Writes the head at `start`. Returns the position behind it. */
export function writeSegmentHeader(bytes: Buffer, start: number, header: SegmentHeader): number {
  const { number, seal, createdAtMs, gap, previous, bases, rewritten } = header
  bytes.write(MAGIC, start, 'latin1')
  bytes.writeUInt16LE(rewritten === undefined ? VERSION : VERSION_REWRITTEN, start + 8)
  bytes.writeUInt16LE(bases.length, start + 10)
  bytes.writeUInt32LE(number, start + 16)
  bytes.writeUInt32LE(seal, start + 20)
  const fixed = [
    createdAtMs,
    gap,
    previous?.number ?? -1,
    previous?.length ?? 0,
    previous?.firstMs ?? Infinity,
    previous?.lastMs ?? -Infinity,
  ]
  let at = start + 24
  for (const value of fixed) at = bytes.writeDoubleLE(value, at)
  for (const base of bases) at = bytes.writeDoubleLE(base, at)
  if (rewritten !== undefined) {
    const { length, firstMs, lastMs, messages, generation } = rewritten
    for (const value of [length, firstMs, lastMs, messages, generation]) at = bytes.writeDoubleLE(value, at)
  }
  bytes.writeUInt32LE(checksumOf(bytes.subarray(start, at)), start + 12)
  return at
}

/**
 * Reads the head of a segment's file, whatever its number of partitions; undefined: it is not whole
 * or not valid. Throws as `readSegmentHeader`.
 */
export async function readAnySegmentHeader(file: DiskFile): Promise<SegmentHeader | undefined> {
  const beginning = Buffer.alloc(CRC_FROM)
  await readDespiteErrors(file, [beginning], 0)
  const partitions = beginning.readUInt16LE(10)
  const bytes = Buffer.alloc(segmentHeaderBytes(partitions, true))
  const bytesRead = await readDespiteErrors(file, [bytes], 0)
  return readSegmentHeader(bytes.subarray(0, bytesRead), partitions)
}

/**
 * Reads the head at the beginning of a segment; undefined: it is not whole or not valid. Throws
 * `NewerRecordError` for the head of a newer version.
 */
export function readSegmentHeader(bytes: Buffer, partitions: number): SegmentHeader | undefined {
  if (bytes.length < CRC_FROM || bytes.toString('latin1', 0, 8) !== MAGIC) return undefined
  const version = bytes.readUInt16LE(8)
  const end = segmentHeaderBytes(partitions, version === VERSION_REWRITTEN)
  if (bytes.length < end || bytes.readUInt16LE(10) !== partitions) return undefined
  const checksum = version === 1 ? crc32(bytes.subarray(CRC_FROM, end)) : checksumOf(bytes.subarray(0, end))
  if (checksum !== bytes.readUInt32LE(12)) return undefined
  if (version > VERSION_REWRITTEN) throw new NewerRecordError(version)
  const bases = Float64Array.from({ length: partitions }, (_, index) => bytes.readDoubleLE(FIXED_BYTES + 8 * index))
  const number = bytes.readDoubleLE(40)
  const previous = {
    number,
    length: bytes.readDoubleLE(48),
    firstMs: bytes.readDoubleLE(56),
    lastMs: bytes.readDoubleLE(64),
  }
  return {
    number: version === 1 ? bytes.readDoubleLE(16) : bytes.readUInt32LE(16),
    seal: version === 1 ? 0 : bytes.readUInt32LE(20),
    createdAtMs: bytes.readDoubleLE(24),
    gap: bytes.readDoubleLE(32),
    previous: number === -1 ? undefined : previous,
    bases,
    rewritten: version === VERSION_REWRITTEN ? readRewritten(bytes, end - REWRITTEN_BYTES) : undefined,
  }
}

function readRewritten(bytes: Buffer, at: number): Rewritten {
  const [length = 0, firstMs = 0, lastMs = 0, messages = 0, generation = 0] = Array.from({ length: 5 }, (_, index) =>
    bytes.readDoubleLE(at + 8 * index),
  )
  return { length, firstMs, lastMs, messages, generation }
}

function checksumOf(head: Buffer): number {
  return crc32(head.subarray(CRC_FROM), crc32(head.subarray(0, 12)))
}
