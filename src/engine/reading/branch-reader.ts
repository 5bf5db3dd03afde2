/**
 * Reads the messages of one device from a complete segment. They stand far from each other, so each
 * is read alone, and no index and no block is read as a whole.
 */
import { readDespiteErrors } from '../ports/disk.ts'
import type { ReadableLog } from './log-reader.ts'
import type { BranchEntry } from '../segments/branch-entries.ts'
import { checkRecord } from '../segments/record.ts'
import type { Segment } from '../segments/segment.ts'

/** Bytes that are read of a record; most uplinks have less. A longer record is read by blocks. */
const SPAN_BYTES = 4_096
/** Above this number of messages of one segment, blocks cost less. */
const MAXIMUM_ALONE = 64

/** The branch of topics and the range that a scan wants. */
export interface BranchRange {
  readonly partition: number
  /** The bits of the Topic Names. */
  readonly branch: number
  /** Offsets: included, excluded. */
  readonly low: number
  readonly high: number
  /** ms since 1970: included, excluded. */
  readonly fromMs: number
  readonly toMs: number
}

export interface BranchMessage extends BranchEntry {
  /** The bytes of the valid record; undefined: they must be read by blocks. */
  readonly record: Buffer | undefined
}

/**
 * The messages of the branch, ascending. Undefined: the segment's index does not tell them, or the
 * segment is gone. The disk's errors show when the records are read by blocks.
 */
export async function readBranchMessages(
  { indexes, files }: Pick<ReadableLog, 'indexes' | 'files'>,
  segment: Segment,
  { partition, branch, low, high, fromMs, toMs }: BranchRange,
): Promise<readonly BranchMessage[] | undefined> {
  const entries = await indexes.entriesOfBranch(segment, partition, branch)
  const wanted = entries?.filter(
    ({ offset, ownedAtMs, account }) =>
      offset >= low &&
      offset < high &&
      ownedAtMs >= fromMs &&
      ownedAtMs < toMs &&
      segment.shares?.isRemoved(account) !== true,
  )
  if (wanted === undefined || wanted.length === 0) return wanted?.map(withoutRecord)
  if (wanted.length > MAXIMUM_ALONE) return wanted.map(withoutRecord)
  const records = await files
    .use(segment, (file) =>
      Promise.all(
        wanted.map(async ({ position }) => {
          const bytes = Buffer.allocUnsafe(SPAN_BYTES)
          const bytesRead = await readDespiteErrors(file, [bytes], position)
          const length = checkRecord(bytes, 0, bytesRead, segment.length - position, segment.seal)
          return length > 0 ? bytes : undefined
        }),
      ),
    )
    .catch(() => [])
  // The file may hold a rewritten segment by now, with the records at other positions.
  if (segment.isGone) return undefined
  return wanted.map((entry, number) => Object.assign({ record: records[number] }, entry))
}

function withoutRecord(entry: BranchEntry): BranchMessage {
  return Object.assign({ record: undefined }, entry)
}
