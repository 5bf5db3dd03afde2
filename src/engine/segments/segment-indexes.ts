/**
 * The indexes of sealed segments. An index is read from its file when needed; if that fails, it is
 * made again from the segment. Their memory is bounded.
 */
import type { Logger } from '../../logger.ts'
import { codeOf, readWhole } from '../ports/disk.ts'
import type { Disk, DiskFile } from '../ports/disk.ts'
import { KIND_MESSAGE, kindOf, placeOfRecord, topicNameOfRecord } from './record.ts'
import { scanRecords } from './scan-records.ts'
import type { ScanOutcome } from './scan-records.ts'
import type { SegmentFiles } from './segment-files.ts'
import { indexName, segmentHeaderBytes, segmentName } from './segment-header.ts'
import { SegmentIndex } from './segment-index.ts'
import type { Segment } from './segment.ts'
import { branchOf } from './topic-branch.ts'

/**
 * The largest jump of offsets within a segment. Only a forged or rotten record has a larger one.
 * Bounds the growth of an index.
 */
export const GREATEST_JUMP = 1_048_576

export interface SegmentIndexesOptions {
  readonly disk: Disk
  readonly directory: string
  readonly files: SegmentFiles
  readonly logger: Logger
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
   * Writes the index of a complete segment, and counts its memory from then on. A failure costs
   * time later, but no data.
   */
  async save(segment: Segment): Promise<void> {
    const { disk, directory, logger } = this.#options
    const { index } = segment
    if (index === undefined) return
    this.#keep(segment, index)
    const path = `${directory}/${indexName(segment.number)}`
    try {
      await disk.remove(path)
      const file = await disk.create(path)
      try {
        await file.write([index.encode(segment)], 0)
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
  }

  async #load(segment: Segment): Promise<SegmentIndex> {
    const { disk, directory, files, logger } = this.#options
    const partitions = segment.bases.length
    const stored = await readStoredIndex(disk, directory, segment.number, partitions)
    if (stored?.length === segment.length) {
      this.#keep(segment, stored.index)
      return stored.index
    }
    const index = new SegmentIndex(partitions, segment.createdAtMs)
    const { end, damages, damagedBytes } = await files.use(segment.number, (file) => buildIndex(file, segment, index))
    const bytes = damagedBytes + segment.length - end
    if (bytes > 0) logger.error({ kind: 'records', file: segmentName(segment.number), damages, bytes }, 'log.damaged')
    segment.index = index
    await this.save(segment)
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
): Promise<{ readonly index: SegmentIndex; readonly length: number } | undefined> {
  return await readWhole(disk, `${directory}/${indexName(number)}`).then(
    (bytes) => SegmentIndex.decode(bytes, partitions, number),
    () => undefined,
  )
}

/**
 * Adds the messages of the segment's file to an index. Bytes that are no record, and records that
 * stand out of order, are left out.
 */
export function buildIndex(
  file: DiskFile,
  segment: Segment,
  index: SegmentIndex,
  visit?: (bytes: Buffer, start: number, position: number, length: number) => void,
): Promise<ScanOutcome> {
  const range = { from: segmentHeaderBytes(segment.bases.length), to: segment.length }
  return scanRecords(file, range, segment.seal, ({ bytes, start, position, length }) => {
    if (kindOf(bytes, start) === KIND_MESSAGE) {
      const { partition, offset, ownedAtMs } = placeOfRecord(bytes, start)
      const before = index.partition(partition)
      const expected = before === undefined ? (segment.bases[partition] ?? Infinity) : before.base + before.length
      if (offset < expected || offset > expected + GREATEST_JUMP) return
      index.add(partition, offset, position, ownedAtMs, branchOf(topicNameOfRecord(bytes, start)))
      segment.sawTime(ownedAtMs)
    }
    visit?.(bytes, start, position, length)
  })
}
