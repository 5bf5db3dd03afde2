/**
 * Gives the bytes of removed messages back. The messages that are left in adjacent segments are
 * written to one new file, which then takes the place of these segments. The new file has the name
 * of the newest of them, so the next segment still follows it.
 *
 * A power cut leaves the old segments or the new one:
 *
 * 1. The new file is written under another name, and synced. A start removes it.
 * 2. It is renamed. The head of the new segment says which segment it follows, so a start takes the
 *    older ones of the old segments for leftovers, and removes them.
 * 3. Their indexes and files are removed.
 *
 * Changes of state are left out as well. So only segments may be rewritten that no snapshot of the
 * state needs any more.
 */
import type { Disk, DiskFile } from '../ports/disk.ts'
import type { Accounts } from '../segments/accounts.ts'
import { KIND_MESSAGE, kindOf, placeOfRecord, removedRecord } from '../segments/record.ts'
import type { RemovedAccount } from '../segments/record.ts'
import { scanRecords } from '../segments/scan-records.ts'
import type { Pace, VisitedRecord } from '../segments/scan-records.ts'
import type { SegmentFiles } from '../segments/segment-files.ts'
import {
  indexName,
  readAnySegmentHeader,
  rewrittenName,
  segmentHeaderBytes,
  segmentName,
  writeSegmentHeader,
} from '../segments/segment-header.ts'
import type { SegmentHeader } from '../segments/segment-header.ts'
import type { SegmentIndexes } from '../segments/segment-indexes.ts'
import { SegmentIndex, entryFrom, offsetOf } from '../segments/segment-index.ts'
import { Segment } from '../segments/segment.ts'
import { InterruptedError } from './background-pace.ts'

/** Bytes that are synced at a time. A larger sync would hold up the syncs of new messages. */
const SYNC_BYTES = 4_194_304

export interface RewriteOptions {
  readonly disk: Disk
  readonly directory: string
  readonly files: SegmentFiles
  readonly indexes: SegmentIndexes
  readonly accounts: Accounts
  readonly pace: Pace
  /** True: the rewriting is to end at once, and changes nothing. */
  readonly isInterrupted: () => boolean
  /** Takes the new segment into the log, in the place of the old ones; synchronous. */
  readonly replace: (target: Segment) => void
}

/** `interrupted`: nothing was changed. `damaged`: the same; the segments can't be rewritten. */
export type RewriteOutcome = 'rewritten' | 'interrupted' | 'damaged'

/**
 * Rewrites adjacent segments, ascending. They have the same seal, and no offset is skipped between
 * them. Rejects with the disk's errors; the log is whole then, with the old segments or the new
 * one.
 */
export async function rewriteSegments(sources: readonly Segment[], options: RewriteOptions): Promise<RewriteOutcome> {
  return await new Rewrite(sources, options).run()
}

class Rewrite {
  readonly #sources: readonly Segment[]
  readonly #options: RewriteOptions
  readonly #first: Segment
  readonly #last: Segment
  readonly #path: string
  /** The index of the new segment. */
  readonly #index: SegmentIndex
  /** The records on their way to the file. */
  #pieces: Buffer[] = []
  #gathered = 0
  #written: number
  #unsynced = 0
  #messages = 0
  #firstMs = Infinity
  #lastMs = -Infinity

  constructor(sources: readonly Segment[], options: RewriteOptions) {
    this.#sources = sources
    this.#options = options
    this.#first = sources[0] as Segment
    this.#last = sources.at(-1) as Segment
    this.#path = `${options.directory}/${rewrittenName(this.#last.number)}`
    const { bases, createdAtMs } = this.#first
    this.#index = new SegmentIndex(bases.length, createdAtMs, options.accounts)
    this.#written = segmentHeaderBytes(bases.length, true)
  }

  async run(): Promise<RewriteOutcome> {
    const { disk, indexes } = this.#options
    try {
      const loaded: SegmentIndex[] = []
      for (const source of this.#sources) loaded.push(await indexes.load(source))
      // A reader that opens an old segment's file by its name must not find the new file there, so
      // the old files stay open until the new segment is part of the log.
      return await this.#hold(this.#sources, () => this.#write(loaded))
    } catch (error) {
      await disk.remove(this.#path).catch(() => {})
      if (error instanceof InterruptedError) return 'interrupted'
      throw error
    }
  }

  async #hold<Result>([source, ...others]: readonly Segment[], run: () => Promise<Result>): Promise<Result> {
    if (source === undefined) return await run()
    return await this.#options.files.use(source, () => this.#hold(others, run))
  }

  async #write(loaded: readonly SegmentIndex[]): Promise<RewriteOutcome> {
    const { disk, directory, files, replace } = this.#options
    const head = await files.use(this.#first, readAnySegmentHeader)
    if (head === undefined) return 'damaged'
    const removed = this.#noteRemoved(loaded)
    await disk.remove(this.#path)
    const file = await disk.create(this.#path)
    let header: SegmentHeader
    try {
      for (const [place, source] of this.#sources.entries()) {
        if (await this.#copy(source, loaded[place] as SegmentIndex, file)) continue
        await disk.remove(this.#path)
        return 'damaged'
      }
      this.#gather(removedRecord(removed, this.#first.seal))
      await this.#flush(file)
      header = await this.#finish(file, head)
    } finally {
      await file.close()
    }
    if (this.#options.isInterrupted()) throw new InterruptedError()
    await disk.rename(this.#path, `${directory}/${segmentName(this.#last.number)}`)
    replace(this.#target(header))
    await this.#removeMerged()
    return 'rewritten'
  }

  /** Notes in the new index which accounts have lost messages, and returns them. */
  #noteRemoved(loaded: readonly SegmentIndex[]): RemovedAccount[] {
    const index = this.#index
    const removed: RemovedAccount[] = []
    for (const [partition, base] of this.#first.bases.entries()) {
      if (this.#last.end(partition) <= base) continue
      index.beginRewritten(partition, base)
      for (const { shares, partitions } of loaded) {
        const entries = partitions[partition]
        if (entries === undefined) continue
        const numbers = new Set(entries.removedOf)
        if (shares.removed !== undefined) {
          for (let at = 0; at < entries.length; at += 1) {
            const number = entries.accounts[at] as number
            if (shares.removed[number] === 1) numbers.add(number)
          }
        }
        for (const number of numbers) {
          const account = shares.accounts[number] ?? this.#options.accounts.nobody
          index.noteRemoved(partition, index.shares.numberOf(account))
        }
      }
      for (const number of index.partition(partition)?.removedOf ?? []) {
        const { topicBranch = '', tenant = '' } = index.shares.accounts[number] ?? {}
        removed.push({ partition, topicBranch, tenant })
      }
    }
    return removed
  }

  /** Copies the messages that are left of a segment. False: the segment is damaged. */
  async #copy(source: Segment, index: SegmentIndex, file: DiskFile): Promise<boolean> {
    if (index.shares.keptMessages === 0) return true
    const range = { from: source.headBytes, to: source.length }
    const pace = { ...this.#options.pace, turn: () => this.#turn(file) }
    const outcome = await this.#options.files.use(source, (from) =>
      scanRecords(from, range, source.seal, (record) => this.#visit(record, index), pace),
    )
    return outcome.damages === 0 && outcome.end === source.length
  }

  #visit({ bytes, start, position, length }: VisitedRecord, index: SegmentIndex): void {
    if (kindOf(bytes, start) !== KIND_MESSAGE) return
    const { partition, offset, ownedAtMs } = placeOfRecord(bytes, start)
    const entries = index.partition(partition)
    if (entries === undefined) return
    const at = entryFrom(entries, offset)
    if (at >= entries.length || offsetOf(entries, at) !== offset || index.positionAt(entries, at) !== position) return
    const number = entries.accounts[at] as number
    if (index.shares.isRemoved(number)) return
    const { shares } = this.#index
    const account = shares.numberOf(index.shares.accounts[number] ?? this.#options.accounts.nobody)
    const branch = entries.branches[at] as number
    this.#index.add(partition, offset, this.#written + this.#gathered, ownedAtMs, branch, account)
    shares.add(account, length)
    this.#messages += 1
    this.#firstMs = Math.min(this.#firstMs, ownedAtMs)
    this.#lastMs = Math.max(this.#lastMs, ownedAtMs)
    // A copy: the bytes are valid during the visit alone.
    this.#gather(Buffer.from(bytes.subarray(start, start + length)))
  }

  #gather(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#gathered += piece.length
  }

  /** Between two turns: writes what was gathered, and leaves the disk and the process to others. */
  async #turn(file: DiskFile): Promise<void> {
    await this.#flush(file)
    if (this.#unsynced >= SYNC_BYTES) {
      await file.datasync()
      this.#unsynced = 0
    }
    await this.#options.pace.turn()
  }

  async #flush(file: DiskFile): Promise<void> {
    const pieces = this.#pieces
    if (pieces.length === 0) return
    this.#pieces = []
    await file.write([Buffer.concat(pieces)], this.#written)
    this.#written += this.#gathered
    this.#unsynced += this.#gathered
    this.#gathered = 0
  }

  /** Writes the head. The file is durable when this resolves. */
  async #finish(file: DiskFile, { gap, previous }: SegmentHeader): Promise<SegmentHeader> {
    const { bases, createdAtMs, seal } = this.#first
    const isEmpty = this.#messages === 0
    const rewritten = {
      length: this.#written,
      firstMs: isEmpty ? Math.min(...this.#sources.map(({ firstMs }) => firstMs)) : this.#firstMs,
      lastMs: isEmpty ? Math.max(...this.#sources.map(({ lastMs }) => lastMs)) : this.#lastMs,
      messages: this.#messages,
      generation: 1 + Math.max(...this.#sources.map(({ generation }) => generation)),
    }
    const header = { number: this.#last.number, seal, createdAtMs, gap, previous, bases, rewritten }
    const head = Buffer.alloc(segmentHeaderBytes(bases.length, true))
    writeSegmentHeader(head, 0, header)
    await file.write([head], 0)
    await file.datasync()
    return header
  }

  #target(header: SegmentHeader): Segment {
    const target = new Segment(header)
    target.ends.set(this.#last.ends)
    target.index = this.#index
    return target
  }

  /** Removes the files of the old segments, as far as the new file has not replaced them. */
  async #removeMerged(): Promise<void> {
    const { disk, directory } = this.#options
    const merged = this.#sources.slice(0, -1)
    await disk.syncDirectory(directory)
    if (merged.length === 0) return
    // The indexes are removed first, durably: an index without its segment shows that a segment is
    // missing.
    for (const { number } of merged) await disk.remove(`${directory}/${indexName(number)}`)
    await disk.syncDirectory(directory)
    for (const { number } of merged) await disk.remove(`${directory}/${segmentName(number)}`)
    await disk.syncDirectory(directory)
  }
}
