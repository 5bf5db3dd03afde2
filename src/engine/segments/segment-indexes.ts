/**
 * The indexes of sealed segments. An index is read from its file when needed; if that fails, it is
 * made again from the segment. Their memory is bounded.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { codeOf } from '../ports/disk.ts'
import type { Disk, DiskFile } from '../ports/disk.ts'
import type { Accounts, SegmentShares } from './accounts.ts'
import { KIND_MESSAGE, KIND_REMOVED, kindOf, placeOfRecord, readRemoved, topicNameOfRecord } from './record.ts'
import { scanRecords } from './scan-records.ts'
import type { Pace, ScanOutcome } from './scan-records.ts'
import type { SegmentFiles } from './segment-files.ts'
import { readBranch, readBranchPlaces } from './branch-entries.ts'
import type { BranchEntry, BranchPlaces } from './branch-entries.ts'
import { decodeIndex, encodeIndex, readBranchesAt, readIndexBytes } from './segment-index-file.ts'
import type { StoredIndex } from './segment-index-file.ts'
import { indexName, segmentName } from './segment-header.ts'
import { SegmentIndex, endOf } from './segment-index.ts'
import type { Segment } from './segment.ts'
import { KnownTopics } from './topic-branch.ts'

/**
 * The largest jump of offsets within a segment. Only a forged or rotten record has a larger one.
 * Bounds the growth of an index.
 */
export const GREATEST_JUMP = 1_048_576
/** The largest jump of offsets within a rewritten segment, which lacks the removed messages. */
export const GREATEST_GAP = 2 ** 32 - 1

/** Segments whose places are remembered, some 2 KB each. */
const MAXIMUM_PLACES = 4_096

export interface SegmentIndexesOptions {
  readonly disk: Disk
  readonly directory: string
  readonly files: SegmentFiles
  readonly logger: Logger
  readonly accounts: Accounts
  readonly clock: Pick<Clock, 'afterTurn'>
  /**
   * Memory of the indexes of sealed segments; beyond it, the indexes used longest ago are dropped.
   */
  readonly maximumBytes: number
}

export class SegmentIndexes {
  readonly #options: SegmentIndexesOptions
  /** Segments whose index is in memory; the first is the one used longest ago. */
  readonly #loaded = new Set<Segment>()
  readonly #loading = new Map<Segment, Promise<SegmentIndex>>()
  /** In the order in which they were read. */
  readonly #places = new Map<Segment, BranchPlaces>()
  #bytes = 0

  constructor(options: SegmentIndexesOptions) {
    this.#options = options
  }

  /** The segment's index, if it is in memory. */
  find(segment: Segment): SegmentIndex | undefined {
    if (segment.index !== undefined && this.#loaded.delete(segment)) this.#loaded.add(segment)
    return segment.index
  }

  /** The segment's index. Rejects with the disk's error if the segment itself can't be read. */
  async load(segment: Segment): Promise<SegmentIndex> {
    const index = this.find(segment)
    if (index !== undefined) return index
    let loading = this.#loading.get(segment)
    if (loading === undefined) {
      loading = this.#load(segment).finally(() => this.#loading.delete(segment))
      this.#loading.set(segment, loading)
    }
    return await loading
  }

  /**
   * The entries of one topic branch, read from the index's file without the rest of the index.
   * Undefined: the file does not have them, so the index must be loaded.
   */
  async entriesOfBranch(
    segment: Segment,
    partition: number,
    branch: number,
  ): Promise<readonly BranchEntry[] | undefined> {
    const { disk, directory } = this.#options
    // Without its shares nobody knows which of its messages are removed.
    if (!segment.isSealed || segment.shares === undefined) return undefined
    try {
      const file = await disk.open(`${directory}/${indexName(segment.number)}`)
      try {
        const places = await this.#placesOf(segment, file)
        const entries = places && (await readBranch(file, places, partition, branch))
        return segment.isGone ? undefined : entries
      } finally {
        await file.close()
      }
    } catch {
      return undefined
    }
  }

  /**
   * Where the entries of each partition stand in the segment's file. Remembered, because a query
   * for one device asks each segment, and each read of the disk takes its time.
   */
  async #placesOf(segment: Segment, file: DiskFile): Promise<BranchPlaces | undefined> {
    const known = this.#places.get(segment)
    if (known !== undefined) return known
    const start = await readBranchesAt(file, segment)
    const places = start === undefined ? undefined : await readBranchPlaces(file, start)
    if (places === undefined || segment.isGone) return places
    this.#places.set(segment, places)
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= MAXIMUM_PLACES) break
      this.#places.delete(oldest)
    }
    return places
  }

  /**
   * Makes the segment's index again from its records, with its shares of the accounts. Rejects with
   * the disk's error, and with the errors of the pace.
   */
  async rebuild(segment: Segment, pace?: Pace): Promise<SegmentIndex> {
    const { files, logger, accounts } = this.#options
    const index = new SegmentIndex(segment.bases.length, segment.createdAtMs, accounts)
    const { end, damages, damagedBytes } = await files.use(segment, (file) =>
      buildIndex(file, segment, index, accounts, undefined, pace),
    )
    const bytes = damagedBytes + segment.length - end
    if (bytes > 0) logger.error({ kind: 'records', file: segmentName(segment.number), damages, bytes }, 'log.damaged')
    if (segment.isGone) throw new SegmentGoneError()
    this.forget(segment)
    adoptShares(segment, index.shares)
    segment.index = index
    await this.save(segment)
    return index
  }

  /**
   * Writes the index of a complete segment, and counts its memory from then on. A failure costs
   * time later, but no data.
   */
  async save(segment: Segment): Promise<void> {
    const { disk, directory, logger, clock } = this.#options
    const { index } = segment
    if (index === undefined || segment.isGone) return
    this.#places.delete(segment)
    this.#keep(segment, index)
    const path = `${directory}/${indexName(segment.number)}`
    const turn = (): Promise<void> => new Promise((resolve) => clock.afterTurn(resolve))
    try {
      const pieces = await encodeIndex(index, segment, turn)
      if (segment.isGone) return
      await disk.remove(path)
      const file = await disk.create(path)
      try {
        await file.write(pieces, 0)
      } finally {
        await file.close()
      }
    } catch (error) {
      logger.warn({ segment: segment.number, code: codeOf(error) }, 'log.index_unwritten')
    }
  }

  /** Forgets the index of a removed segment. */
  forget(segment: Segment): void {
    if (this.#loaded.delete(segment)) this.#bytes -= segment.index?.bytes ?? 0
    segment.index = undefined
    if (segment.isGone) this.#places.delete(segment)
  }

  async #load(segment: Segment): Promise<SegmentIndex> {
    const { disk, directory, accounts } = this.#options
    const partitions = segment.bases.length
    const stored = await readStoredIndex(disk, directory, segment.number, partitions, accounts)
    if (segment.isGone) throw new SegmentGoneError()
    if (stored?.length !== segment.length || stored.generation !== segment.generation) {
      return await this.rebuild(segment)
    }
    const { index, hasShares } = stored
    // The file has the same numbers of accounts as when its shares were read at the start.
    if (segment.shares !== undefined) index.shares = segment.shares
    else if (hasShares) adoptShares(segment, index.shares)
    this.#keep(segment, index)
    return index
  }

  #keep(segment: Segment, index: SegmentIndex): void {
    segment.index = index
    this.#loaded.add(segment)
    this.#bytes += index.bytes
    for (const oldest of this.#loaded) {
      if (this.#bytes <= this.#options.maximumBytes || oldest === segment) return
      this.forget(oldest)
    }
  }
}

/**
 * Reads the index in the file beside a segment, and the number of the segment's bytes that it
 * covers; undefined: there is no valid index. An index is written when its segment is complete. So
 * all the covered bytes are on disk, and no byte behind them was ever acknowledged.
 */
export async function readStoredIndex(
  disk: Disk,
  directory: string,
  number: number,
  partitions: number,
  accounts: Accounts,
): Promise<StoredIndex | undefined> {
  try {
    const file = await disk.open(`${directory}/${indexName(number)}`)
    try {
      return decodeIndex(await readIndexBytes(file), partitions, number, accounts)
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

/** The segment was taken out of the log, or replaced, while it was read. */
export class SegmentGoneError extends Error {
  readonly code = 'segment_gone'

  constructor() {
    super('the segment is no longer part of the log')
  }
}

/** Gives the segment new shares, which count from now on. Removed messages stay removed. */
export function adoptShares(segment: Segment, shares: SegmentShares): void {
  const before = segment.shares
  if (before === shares) return
  if (before !== undefined) shares.removeAs(before)
  before?.uncount()
  segment.shares = shares
  shares.count()
}

/**
 * Adds the messages of the segment's file to an index. Bytes that are no record, and records that
 * stand out of order, are left out.
 */
export function buildIndex(
  file: DiskFile,
  segment: Segment,
  index: SegmentIndex,
  accounts: Accounts,
  visit?: (bytes: Buffer, start: number, position: number, length: number) => void,
  pace?: Pace,
): Promise<ScanOutcome> {
  const { rewritten, bases } = segment
  const topics = new KnownTopics(accounts)
  if (rewritten !== undefined) {
    for (const [partition, base] of bases.entries()) index.beginRewritten(partition, base)
  }
  const range = { from: segment.headBytes, to: segment.length }
  return scanRecords(
    file,
    range,
    segment.seal,
    ({ bytes, start, position, length }) => {
      const kind = kindOf(bytes, start)
      if (kind === KIND_MESSAGE) {
        const { partition, offset, ownedAtMs } = placeOfRecord(bytes, start)
        const before = index.partition(partition)
        const expected = before === undefined ? (bases[partition] ?? Infinity) : endOf(before)
        if (offset < expected || offset > expected + (rewritten === undefined ? GREATEST_JUMP : GREATEST_GAP)) return
        const { branch, account } = topics.of(topicNameOfRecord(bytes, start))
        const number = index.shares.numberOf(account)
        index.add(partition, offset, position, ownedAtMs, branch, number)
        index.shares.add(number, length)
        segment.sawTime(ownedAtMs)
      } else if (kind === KIND_REMOVED && rewritten !== undefined) {
        for (const { partition, topicBranch, tenant } of readRemoved(bytes, start)) {
          index.noteRemoved(partition, index.shares.numberOf(accounts.of(topicBranch, tenant)))
        }
      }
      visit?.(bytes, start, position, length)
    },
    pace,
  )
}
