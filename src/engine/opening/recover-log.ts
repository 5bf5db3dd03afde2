/**
 * Opens a log: reads the heads of all segments, the records of the last one, and the state from its
 * snapshot and from the log behind the snapshot.
 *
 * Every whole record is served. A record is whole if its checksum is valid, wherever it stands:
 * damaged bytes before it are passed over, listed and copied aside, and never cut. Only the bytes
 * behind the last whole record of the newest segment are cut, for a crash may have torn them, and a
 * batch is acknowledged only when all of it and everything before it is on disk; these bytes are
 * copied aside as well. If a snapshot, an index or the next segment shows that there was more, the
 * missing part counts as damage, too.
 *
 * `fieldgate check` runs the same code with the purpose `check`: it reads all segments, and changes
 * nothing.
 */
import type { Logger } from '../../logger.ts'
import { codeOf } from '../ports/disk.ts'
import type { Disk, DiskFile } from '../ports/disk.ts'
import { Accounts } from '../segments/accounts.ts'
import { KeptAside } from '../segments/kept-aside.ts'
import { DamageLedger } from './damage-ledger.ts'
import type { DamagedRecords } from './damage-ledger.ts'
import { STATE_OF_MISSING, STATE_OF_RECORDS, damageOf } from './log-damage.ts'
import type { LogDamage, LostMessages } from './log-damage.ts'
import { LogDirectoryError, logDirectoryOf, stateDirectoryOf } from '../segments/log-directory.ts'
import type { LogFormat } from '../segments/log-directory.ts'
import { endsBehind, lostBetween, lostMessages, messagesOf, raise } from './lost-messages.ts'
import { endsOf, readSegment } from '../segments/read-segment.ts'
import type { SegmentReading } from '../segments/read-segment.ts'
import { NewerRecordError, changesOfRecord } from '../segments/record.ts'
import { headerWithoutHead } from './recover-head.ts'
import { chainOf, readHeads } from '../segments/read-heads.ts'
import type { Head } from '../segments/read-heads.ts'
import { recoverState } from './recover-state.ts'
import type { RecoveredState } from './recover-state.ts'
import { scanRecords } from '../segments/scan-records.ts'
import type { StoredIndex } from '../segments/segment-index-file.ts'
import { readStoredIndex } from '../segments/segment-indexes.ts'
import {
  indexName,
  indexNumberOf,
  isRewrittenName,
  segmentHeaderBytes,
  segmentName,
  segmentNumberOf,
} from '../segments/segment-header.ts'
import type { SegmentHeader } from '../segments/segment-header.ts'
import { Segment } from '../segments/segment.ts'
import type { StateStore, Snapshot } from '../writing/state-store.ts'

const ALL = Infinity

export interface RecoveredLog {
  /** The segments, ascending, all sealed. */
  readonly segments: Segment[]
  /** By partition: the offset of the next message. */
  readonly tails: Float64Array
  /**
   * Offsets that each partition leaves out before the next segment: they may belong to messages in
   * damaged bytes whose place nobody knows.
   */
  readonly gap: number
  readonly state: StateStore
  /** The snapshot from which the state was recovered. */
  readonly snapshot: Snapshot | undefined
  /** The number of the newest segment's file, valid or not; 0 if there is none. */
  readonly lastNumber: number
  /**
   * Bytes cut from the end of the last segment; with the purpose `check`, the bytes that a start
   * would cut.
   */
  readonly cutBytes: number
  readonly damages: readonly LogDamage[]
  /** Records in the segments that were read. */
  readonly records: number
  readonly messages: number
}

export interface RecoverOptions {
  readonly disk: Disk
  readonly directory: string
  readonly format: LogFormat
  readonly logger: Logger
  readonly purpose: 'open' | 'check'
  /** The accounts of the stored bytes; absent: nobody wants to know them. */
  readonly accounts?: Accounts
}

/**
 * Reads a stored log. Throws `LogDirectoryError` for a log that a newer version wrote, and the
 * disk's errors.
 */
export async function recoverLog(options: RecoverOptions): Promise<RecoveredLog> {
  try {
    return await new Recovery(options).run()
  } catch (error) {
    if (!(error instanceof NewerRecordError)) throw error
    const { directory } = options
    throw new LogDirectoryError(
      'newer_format',
      `The log in ${directory} can't be read: ${error.message}. Use the newer one.`,
    )
  }
}

class Recovery {
  readonly #disk: Disk
  readonly #directory: string
  readonly #root: string
  readonly #partitions: number
  readonly #seal: number
  readonly #logger: Logger
  readonly #isCheck: boolean
  readonly #accounts: Accounts
  readonly #aside: KeptAside
  readonly #ledger: DamageLedger
  readonly #segments: Segment[] = []
  #state: RecoveredState | undefined
  #cutBytes = 0
  #gap = 0
  #records = 0
  #messages = 0

  constructor({ disk, directory, format, logger, purpose, accounts }: RecoverOptions) {
    this.#disk = disk
    this.#root = directory
    this.#directory = logDirectoryOf(directory)
    this.#partitions = format.partitions
    this.#seal = format.seal
    this.#logger = logger
    this.#isCheck = purpose === 'check'
    this.#accounts = accounts ?? new Accounts()
    this.#aside = new KeptAside(disk, directory, logger)
    this.#ledger = new DamageLedger({ logger, aside: this.#aside, isCheck: this.#isCheck })
  }

  async run(): Promise<RecoveredLog> {
    const names = await this.#disk.list(this.#directory)
    const heads = await this.#chain(names)
    const stateDirectory = stateDirectoryOf(this.#root)
    this.#state = await recoverState(this.#disk, stateDirectory, heads, this.#seal)
    for (const damage of this.#state.damages) this.#ledger.note(damage)
    for (const [place, head] of heads.entries()) await this.#recover(head, heads[place + 1])
    const tails = await this.#tails(names)
    if (!this.#isCheck) {
      for (const { name } of this.#state.damaged) await this.#aside.move(`${stateDirectory}/${name}`)
      await this.#disk.syncDirectory(this.#directory)
    }
    const numbers = names.map((name) => segmentNumberOf(name) ?? indexNumberOf(name) ?? 0)
    return {
      segments: this.#segments,
      tails,
      gap: this.#gap,
      state: this.#state.state,
      snapshot: this.#state.snapshot,
      lastNumber: Math.max(0, this.#state.newest?.at.segment ?? 0, ...numbers),
      cutBytes: this.#cutBytes,
      damages: this.#ledger.damages,
      records: this.#records,
      messages: this.#messages,
    }
  }

  /** The chain of the log's segments. Removes the leftovers of failed writes. */
  async #chain(names: readonly string[]): Promise<readonly Head[]> {
    const numbers = names.flatMap((name) => segmentNumberOf(name) ?? []).toSorted((one, other) => one - other)
    const { chain, leftovers } = chainOf(await readHeads(this.#disk, this.#directory, numbers, this.#partitions))
    if (this.#isCheck) return chain
    // The rewriting of a segment was broken off: the segment itself is whole.
    for (const name of names.filter(isRewrittenName)) await this.#remove(`${this.#directory}/${name}`)
    for (const { number, header } of leftovers) {
      this.#logger.info({ segment: number }, 'log.leftover_removed')
      const path = `${this.#directory}/${segmentName(number)}`
      if (header === undefined) await this.#aside.move(path)
      else await this.#remove(path)
      await this.#remove(`${this.#directory}/${indexName(number)}`)
    }
    return chain
  }

  async #recover(head: Head, next: Head | undefined): Promise<void> {
    const before = this.#segments.at(-1)
    const following = next?.header?.previous?.number === head.number ? next.header : undefined
    const header = head.header ?? (await this.#headless(head, following, next === undefined))
    if (header === undefined) return
    const segment = new Segment(header)
    const previous = head.header?.previous?.number
    if (before !== undefined && previous !== undefined && previous !== before.number) {
      this.#noteMissing(before, previous, header)
    }
    this.#segments.push(segment)
    await this.#withFile(segment.number, async (file) => {
      if (following === undefined) await this.#recoverOpenEnded(file, segment, next === undefined)
      else await this.#recoverSealed(file, segment, following, head)
    })
  }

  /**
   * The header of a segment whose head is damaged: other places hold everything that the head said.
   * Undefined: the segment has no record either.
   */
  async #headless(
    { number, size }: Head,
    following: SegmentHeader | undefined,
    isLast: boolean,
  ): Promise<SegmentHeader | undefined> {
    const around = {
      number,
      partitions: this.#partitions,
      seal: this.#seal,
      before: this.#segments.at(-1)?.ends,
      stored: await this.#storedIndex(number),
      following,
    }
    const header = await this.#withFile(number, (file) => headerWithoutHead(file, around))
    const headBytes = segmentHeaderBytes(this.#partitions)
    if (header !== undefined || !isLast) {
      const stretches = [{ from: 0, to: Math.min(headBytes, size) }]
      this.#ledger.note(damageOf('head', `log/${segmentName(number)}`, { stretches }))
      if (header === undefined && !this.#isCheck) await this.#aside.move(`${this.#directory}/${segmentName(number)}`)
      return header
    }
    // A power cut interrupted the beginning of the segment: nothing in it was acknowledged. Its
    // bytes are kept to be sure.
    this.#cutBytes += size
    if (this.#isCheck) return undefined
    this.#logger.warn({ segment: number, bytes: size }, 'log.segment_headless')
    const path = `${this.#directory}/${segmentName(number)}`
    if (size <= headBytes) await this.#remove(path)
    else await this.#aside.move(path)
    return undefined
  }

  /**
   * Recovers a segment that has a successor: the successor's head says how far the segment is
   * valid, and where its messages end.
   */
  async #recoverSealed(file: DiskFile, segment: Segment, following: SegmentHeader, head: Head): Promise<void> {
    const { previous, bases, gap } = following
    if (previous === undefined) return
    if (segment.rewritten === undefined) {
      segment.length = previous.length
      segment.firstMs = previous.firstMs
      segment.lastMs = previous.lastMs
    }
    for (const [partition, base] of bases.entries()) segment.ends[partition] = base - gap
    const replayFrom = this.#replayFrom(segment)
    const isShort = head.size < segment.length
    if (!this.#isCheck && !isShort && head.header !== undefined) {
      if (replayFrom === undefined) return
      const range = { from: replayFrom, to: segment.length }
      const outcome = await scanRecords(file, range, segment.seal, ({ bytes, start }) => this.#apply(bytes, start))
      if (outcome.damages === 0 && outcome.end === segment.length) return
    }
    // Something is damaged. The second reading finds everything that is lost.
    const applied = !this.#isCheck && !isShort && head.header !== undefined ? ALL : (replayFrom ?? ALL)
    const reading = await this.#read(file, segment, applied)
    const { end } = reading
    const stretches = [...reading.stretches, ...(end < segment.length ? [{ from: end, to: segment.length }] : [])]
    const [fromMs = reading.lastMs, toMs = -Infinity] = reading.betweenMs ?? []
    const betweenMs = [fromMs, end < segment.length ? Math.max(reading.lastMs, segment.lastMs) : toMs] as const
    await this.#noteRecords(file, segment, { stretches, ...lostOf(segment, reading), betweenMs })
  }

  /**
   * Recovers the newest segment, or one before a gap. Its records say how far it goes; its index or
   * a snapshot may show that there was more.
   */
  async #recoverOpenEnded(file: DiskFile, segment: Segment, isLast: boolean): Promise<void> {
    const size = await file.size()
    const found = await this.#storedIndex(segment.number)
    const stored = found?.generation === segment.generation ? found : undefined
    const snapshotted = this.#state?.newest?.at
    segment.length = Math.min(stored?.length ?? size, size)
    const reading = await this.#read(file, segment, this.#replayFrom(segment) ?? ALL)
    const { end, index } = reading
    const told = Math.max(stored?.length ?? 0, snapshotted?.segment === segment.number ? snapshotted.position : 0)
    const stretches = end < told ? [...reading.stretches, { from: end, to: told }] : reading.stretches
    segment.ends.set(endsOf(index, segment.bases))
    if (stored !== undefined) segment.ends.set(endsOf(stored.index, segment.ends))
    const { tails } = this.#state ?? { tails: [] }
    if (isLast) for (const [partition, tail] of tails.entries()) raise(segment.ends, partition, tail)
    let furtherAtMost = 0
    if (isLast && stored === undefined && stretches.length > 0) {
      const isTold = end < told && tails.length > 0
      furtherAtMost = await endsBehind(file, isTold ? reading.stretches : stretches, segment.ends)
      this.#gap = furtherAtMost
    }
    segment.length = end
    segment.index = index
    const lost = lostOf(segment, reading)
    furtherAtMost += lost.furtherAtMost
    const [fromMs = reading.lastMs, toMs = reading.lastMs] = reading.betweenMs ?? []
    await this.#noteRecords(file, segment, { stretches, lost: lost.lost, betweenMs: [fromMs, toMs], furtherAtMost })
    if (isLast) await this.#cut(file, segment, { size, told })
  }

  /** Cuts the bytes behind the last whole record, which were never acknowledged. */
  async #cut(
    file: DiskFile,
    segment: Segment,
    { size, told }: { readonly size: number; readonly told: number },
  ): Promise<void> {
    const { number, length } = segment
    if (told <= length) this.#cutBytes += size - length
    if (this.#isCheck) return
    try {
      if (length < size) {
        if (told <= length) {
          this.#logger.warn({ segment: number, position: length, bytes: size - length }, 'log.tail_cut')
          await this.#aside.keep(file, segmentName(number), { from: length, to: size })
        }
        await file.truncate(length)
      }
      // After a kill, the records may be in the system's memory alone. From now on they are served,
      // so a power cut must not lose them.
      await file.datasync()
    } catch (error) {
      // The head of the next segment says how far this one is valid. A full or read-only disk can
      // still be read.
      if (codeOf(error) === 'unknown') throw error
      this.#logger.warn({ segment: number, code: codeOf(error) }, 'log.tail_uncut')
    }
  }

  async #read(file: DiskFile, segment: Segment, replayFrom: number): ReturnType<typeof readSegment> {
    const reading = await readSegment(file, segment, this.#accounts, (bytes, start, position) => {
      if (position >= replayFrom) this.#apply(bytes, start)
    })
    this.#records += reading.records
    this.#messages += reading.messages
    return reading
  }

  #apply(bytes: Buffer, start: number): void {
    this.#state?.state.apply(changesOfRecord(bytes, start))
  }

  /**
   * The position in this segment from which records change the state; undefined: the snapshot holds
   * all of them.
   */
  #replayFrom(segment: Segment): number | undefined {
    const at = this.#state?.at
    if (at === undefined || segment.number > at.segment) return segment.headBytes
    return segment.number === at.segment ? Math.max(at.position, segment.headBytes) : undefined
  }

  /** By partition: the offset of the next message, behind every message that any file tells of. */
  async #tails(names: readonly string[]): Promise<Float64Array> {
    const last = this.#segments.at(-1)
    const ends = last?.ends ?? new Float64Array(this.#partitions)
    const tails = ends.slice()
    const { tails: snapshotted, newest } = this.#state ?? { tails: [] }
    for (const [partition, tail] of snapshotted.entries()) raise(tails, partition, tail)
    for (const name of names) {
      const number = indexNumberOf(name)
      if (number === undefined || names.includes(segmentName(number))) continue
      const stored = await this.#storedIndex(number)
      if (number > (last?.number ?? 0)) {
        if (stored !== undefined) tails.set(endsOf(stored.index, tails))
        continue
      }
      // Retention removes the index before its segment. The head of the next segment reports a
      // segment missing in the middle.
      if (stored !== undefined && number < (this.#segments[0]?.number ?? 0)) {
        this.#ledger.note(
          damageOf('segment', `log/${segmentName(number)}`, { lost: messagesOf(stored.index, this.#partitions) }),
        )
      }
      if (!this.#isCheck) await this.#remove(`${this.#directory}/${name}`)
    }
    const lost = lostBetween(ends, tails)
    const isMissing = newest !== undefined && newest.at.segment > (last?.number ?? 0)
    if (lost.length > 0 || isMissing) {
      const file = `log/${segmentName(isMissing ? newest.at.segment : (last?.number ?? 0) + 1)}`
      this.#ledger.note(damageOf('segment', file, { lost, state: STATE_OF_MISSING }))
    }
    return tails.map((tail) => tail + this.#gap)
  }

  #noteMissing(before: Segment, number: number, { bases, gap }: SegmentHeader): void {
    const lost = lostBetween(
      before.ends,
      bases.map((base) => base - gap),
    )
    const at = this.#state?.at
    const state = at === undefined || number >= at.segment ? STATE_OF_MISSING : ''
    this.#ledger.note(damageOf('segment', `log/${segmentName(number)}`, { lost, state }))
  }

  async #noteRecords(file: DiskFile, segment: Segment, found: DamagedRecords): Promise<void> {
    const replayFrom = this.#replayFrom(segment)
    const isOfState = replayFrom !== undefined && found.stretches.some(({ to }) => to > replayFrom)
    await this.#ledger.noteRecords(file, segment.number, found, isOfState ? STATE_OF_RECORDS : '')
  }

  async #storedIndex(number: number): Promise<StoredIndex | undefined> {
    return await readStoredIndex(this.#disk, this.#directory, number, this.#partitions, this.#accounts)
  }

  async #remove(path: string): Promise<void> {
    await this.#disk.remove(path).catch((error: unknown) => {
      if (codeOf(error) === 'unknown') throw error
      this.#logger.warn({ path, code: codeOf(error) }, 'log.file_unremoved')
    })
  }

  async #withFile<Result>(number: number, run: (file: DiskFile) => Promise<Result>): Promise<Result> {
    const file = await this.#disk.open(`${this.#directory}/${segmentName(number)}`)
    try {
      return await run(file)
    } finally {
      await file.close()
    }
  }
}

/**
 * The messages that are missing from a segment. A rewritten segment does not say which offsets it
 * had, only how many.
 */
function lostOf(
  { rewritten, bases, ends }: Segment,
  { index, messages }: SegmentReading,
): { readonly lost: LostMessages[]; readonly furtherAtMost: number } {
  if (rewritten === undefined) return { lost: lostMessages(index, bases, ends), furtherAtMost: 0 }
  return { lost: [], furtherAtMost: Math.max(0, rewritten.messages - messages) }
}
