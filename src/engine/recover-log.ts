/**
 * Opening a log: heads of all segments, the records of the last one, the state out of its snapshot and of what the log says behind it.
 *
 * What a power cut can leave is a last segment that ends with something torn: it is cut at the first byte that is no record, and what lies behind was
 * never acknowledged, for a batch is acknowledged only when all of it and all before it is on disk. A segment with one after it was complete before
 * that was begun, so what is no record there is damage: it is skipped, logged and counted, and never cut.
 */
import type { Log } from '../broker/log.ts'
import type { Disk, DiskFile } from './disk.ts'
import { LogDirectoryError, logDirectoryOf, stateDirectoryOf } from './log-directory.ts'
import { NewerRecordError, changesOfRecord } from './record.ts'
import { scanRecords } from './scan-records.ts'
import { buildIndex, readStoredIndex } from './segment-indexes.ts'
import { indexName, readSegmentHeader, segmentHeaderBytes, segmentName, segmentNumberOf } from './segment-header.ts'
import type { SegmentHeader } from './segment-header.ts'
import { SegmentIndex } from './segment-index.ts'
import { Segment } from './segment.ts'
import { StateStore, newestSnapshot } from './state-store.ts'
import type { Snapshot } from './state-store.ts'

/** Heads read at a time. */
const HEADS_TOGETHER = 16

export interface RecoveredLog {
  /** Ascending, all sealed. */
  readonly segments: Segment[]
  /** By partition: behind the last message. */
  readonly tails: Float64Array
  readonly state: StateStore
  readonly snapshot: Snapshot | undefined
  /** The number of the newest segment's file, valid or not; 0 when there is none. */
  readonly lastNumber: number
  /** Bytes cut from the end of the last segment. */
  readonly cutBytes: number
  /** Stretches of segments that are no records, as far as they were read. */
  readonly damages: number
}

interface Head {
  readonly number: number
  /** Undefined: not whole, or not valid. */
  readonly header: SegmentHeader | undefined
}

/** Reads what is stored. Changes nothing but the end of the last segment, which is durable then. Throws `LogDirectoryError`. */
export async function recoverLog(disk: Disk, directory: string, partitions: number, log: Log): Promise<RecoveredLog> {
  try {
    return await new Recovery(disk, directory, partitions, log).run()
  } catch (error) {
    if (error instanceof NewerRecordError) {
      throw new LogDirectoryError(
        'newer_format',
        `The log in ${directory} can't be read: ${error.message}. Use the newer one.`,
      )
    }
    throw error
  }
}

class Recovery {
  readonly #disk: Disk
  readonly #directory: string
  readonly #partitions: number
  readonly #log: Log
  readonly #stateDirectory: string
  readonly #state = new StateStore()
  #snapshot: Snapshot | undefined
  #damages = 0
  #cutBytes = 0

  constructor(disk: Disk, directory: string, partitions: number, log: Log) {
    this.#disk = disk
    this.#directory = logDirectoryOf(directory)
    this.#partitions = partitions
    this.#log = log
    this.#snapshot = undefined
    this.#stateDirectory = stateDirectoryOf(directory)
  }

  async run(): Promise<RecoveredLog> {
    this.#snapshot = newestSnapshot(await this.#disk.list(this.#stateDirectory))
    if (this.#snapshot !== undefined) await this.#state.readSnapshot(this.#disk, this.#stateDirectory, this.#snapshot)
    const heads = await this.#readHeads()
    const lastNumber = heads.at(-1)?.number ?? 0
    await this.#setAsideHeadless(heads)
    const valid = await this.#withoutLeftovers(heads.flatMap(({ header }) => (header === undefined ? [] : [header])))
    this.#requireSnapshotSegments(valid)
    const segments = valid.map((header) => new Segment(header))
    for (const [place, segment] of segments.entries()) {
      const next = valid[place + 1]
      if (next === undefined) await this.#recoverLast(segment)
      else await this.#recoverSealed(segment, next)
    }
    const tails = segments.at(-1)?.ends.slice() ?? new Float64Array(this.#partitions)
    const { cutBytes, damages } = { cutBytes: this.#cutBytes, damages: this.#damages }
    return { segments, tails, state: this.#state, snapshot: this.#snapshot, lastNumber, cutBytes, damages }
  }

  async #readHeads(): Promise<Head[]> {
    const names = await this.#disk.list(this.#directory)
    const numbers = names
      .map((name) => segmentNumberOf(name))
      .filter((number) => number !== undefined)
      .toSorted((one, other) => one - other)
    // An index that outlived its segment by a power cut.
    for (const name of names) {
      const segment = name.replace(/\.index$/, '.log')
      if (segment !== name && !names.includes(segment)) await this.#disk.remove(`${this.#directory}/${name}`)
    }
    const heads: Head[] = []
    for (let at = 0; at < numbers.length; at += HEADS_TOGETHER) {
      const some = numbers.slice(at, at + HEADS_TOGETHER)
      heads.push(...(await Promise.all(some.map((number) => this.#readHead(number)))))
    }
    return heads
  }

  async #readHead(number: number): Promise<Head> {
    const file = await this.#disk.open(`${this.#directory}/${segmentName(number)}`)
    try {
      const bytes = Buffer.allocUnsafeSlow(segmentHeaderBytes(this.#partitions))
      const bytesRead = await file.read([bytes], 0)
      const header = readSegmentHeader(bytes.subarray(0, bytesRead), this.#partitions)
      return { number, header: header?.number === number ? header : undefined }
    } finally {
      await file.close()
    }
  }

  /** A segment without a valid head: the last one may have been begun in a power cut; nothing in it was acknowledged, and it is kept under another name to be sure. */
  async #setAsideHeadless(heads: readonly Head[]): Promise<void> {
    for (const { number, header } of heads) {
      if (header !== undefined) continue
      const path = `${this.#directory}/${segmentName(number)}`
      const file = await this.#disk.open(path)
      const bytes = await file.size()
      await file.close()
      const isLast = number === heads.at(-1)?.number
      if (isLast && bytes <= segmentHeaderBytes(this.#partitions)) await this.#disk.remove(path)
      else await this.#disk.rename(path, `${path}.damaged`)
      if (!isLast) this.#damages += 1
      this.#log[isLast ? 'warn' : 'error']({ segment: number, bytes }, 'log.segment_headless')
    }
  }

  /** Without segments that a write had failed in before they were made: their successor follows an older one. They are removed. */
  async #withoutLeftovers(headers: readonly SegmentHeader[]): Promise<readonly SegmentHeader[]> {
    const chain: SegmentHeader[] = []
    for (const header of headers.toReversed()) {
      const next = chain.at(-1)
      if (next === undefined || header.number <= (next.previous?.number ?? -1)) chain.push(header)
      else {
        this.#log.info({ segment: header.number }, 'log.leftover_removed')
        await this.#disk.remove(`${this.#directory}/${segmentName(header.number)}`)
        await this.#disk.remove(`${this.#directory}/${indexName(header.number)}`)
      }
    }
    return chain.toReversed()
  }

  /** Without the segments behind the snapshot, or without any snapshot the first ones, some of the state would be missing and nobody would know. */
  #requireSnapshotSegments(headers: readonly SegmentHeader[]): void {
    const [first] = headers
    const at = this.#snapshot?.at
    if (first === undefined && at === undefined) return
    if (first !== undefined && (at === undefined ? first.previous === undefined : first.number <= at.segment)) return
    const what = at === undefined ? 'the snapshot of the state' : `its segment ${at.segment}, where the state goes on,`
    throw new LogDirectoryError(
      'damaged',
      `The log in ${this.#directory} is not complete: ${what} is missing. Restore a backup into a new data directory.`,
    )
  }

  async #recoverSealed(segment: Segment, next: SegmentHeader): Promise<void> {
    const { previous } = next
    if (previous?.number !== segment.number) {
      // What was between them is gone: how far this one goes, only its records say.
      this.#log.error({ segment: segment.number, next: next.number }, 'log.segment_missing')
      this.#damages += 1
      await this.#withFile(segment, async (file) => {
        segment.length = await file.size()
        await this.#index(file, segment, 'skip')
      })
      return
    }
    segment.length = previous.length
    segment.firstMs = previous.firstMs
    segment.lastMs = previous.lastMs
    for (const [partition, base] of next.bases.entries()) segment.ends[partition] = base - next.gap
    const from = this.#replayFrom(segment)
    if (from === undefined) return
    await this.#withFile(segment, async (file) => {
      const outcome = await scanRecords(file, { from, to: segment.length }, 'skip', ({ bytes, start }) =>
        this.#state.apply(changesOfRecord(bytes, start)),
      )
      this.#note(segment, outcome)
    })
  }

  async #recoverLast(segment: Segment): Promise<void> {
    const stored = await readStoredIndex(this.#disk, this.#directory, segment.number, this.#partitions)
    await this.#withFile(segment, async (file) => {
      const size = await file.size()
      segment.length = size
      let end: number
      if (stored !== undefined && stored.length <= size) {
        end = stored.length
        segment.length = end
        await this.#index(file, segment, 'skip')
      } else end = await this.#index(file, segment, 'stop')
      this.#requireCommitted(segment, end)
      this.#cutBytes = size - end
      segment.length = end
      if (end < size) {
        this.#log.warn({ segment: segment.number, bytes: size - end }, 'log.tail_cut')
        await file.truncate(end)
      }
      // After a kill the records may be in the system's memory alone: they are served from now on, so they must not vanish in a power cut.
      await file.datasync()
    })
    await this.#disk.syncDirectory(this.#directory)
  }

  /** What the snapshot knows of was on disk before it: if the records end before, that is no torn tail, and cutting it would give its offsets away a second time. */
  #requireCommitted(segment: Segment, end: number): void {
    const at = this.#snapshot?.at
    if (at === undefined || at.segment !== segment.number || end >= at.position) return
    throw new LogDirectoryError(
      'damaged',
      `Segment ${segment.number} of the log in ${this.#directory} is damaged at byte ${end}, and was written up to byte ${at.position}. Restore a backup into a new data directory.`,
    )
  }

  /** Builds the index, the ends and the state of a segment from its records; answers where they end. */
  async #index(file: DiskFile, segment: Segment, atDamage: 'stop' | 'skip'): Promise<number> {
    const index = new SegmentIndex(this.#partitions, segment.createdAtMs)
    const replayFrom = this.#replayFrom(segment) ?? Infinity
    const outcome = await buildIndex(file, segment, index, atDamage, (bytes, start, position) => {
      if (position >= replayFrom) this.#state.apply(changesOfRecord(bytes, start))
    })
    for (let partition = 0; partition < this.#partitions; partition += 1) {
      const entries = index.partition(partition)
      if (entries !== undefined) segment.ends[partition] = entries.base + entries.length
    }
    segment.index = index
    if (atDamage === 'skip') this.#note(segment, outcome)
    return outcome.end
  }

  /** Where the state goes on in this segment; undefined: all of it is in the snapshot. */
  #replayFrom(segment: Segment): number | undefined {
    const head = segmentHeaderBytes(this.#partitions)
    const at = this.#snapshot?.at
    if (at === undefined || segment.number > at.segment) return head
    return segment.number === at.segment ? at.position : undefined
  }

  #note(
    segment: Segment,
    { damages, damagedBytes }: { readonly damages: number; readonly damagedBytes: number },
  ): void {
    this.#damages += damages
    if (damages > 0) this.#log.error({ segment: segment.number, damages, damagedBytes }, 'log.damaged')
  }

  async #withFile(segment: Segment, run: (file: DiskFile) => Promise<void>): Promise<void> {
    const file = await this.#disk.open(`${this.#directory}/${segmentName(segment.number)}`)
    try {
      await run(file)
    } finally {
      await file.close()
    }
  }
}
