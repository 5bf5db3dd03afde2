/**
 * The embedded engine: messages and changes of state in one log of its own, in one directory of one
 * process. A message or change that the engine says it owns survives a kill and a power cut: it is
 * on disk, synced, before `committed` is called. docs/decisions/0005 says why it is not a database.
 */
import assert from 'node:assert'
import { NOBODY_FOLLOWS } from '../broker/ports/engine.ts'
import type {
  AppendRequest,
  Arrivals,
  Engine,
  EngineHealth,
  EngineUsage,
  LogReaders,
  ReadResult,
  ScanQuery,
  ScanResult,
  StateEntry,
  StateRequest,
} from '../broker/ports/engine.ts'
import type { Logger } from '../logger.ts'
import { silentLogger } from '../logger.ts'
import { Accounts } from './segments/accounts.ts'
import type { TenantOfBranch } from './segments/accounts.ts'
import { openShares } from './opening/open-shares.ts'
import { LogRewriter } from './writing/log-rewriter.ts'
import { StoredBounds } from './writing/stored-bounds.ts'
import { NewSegments } from './segments/active-segment.ts'
import { BlockCache } from './reading/block-cache.ts'
import { DecodedMessages } from './reading/decoded-messages.ts'
import type { Disk } from './ports/disk.ts'
import { systemClock } from '../clock.ts'
import type { Clock } from '../clock.ts'
import { logDirectoryOf, prepareLogDirectory, stateDirectoryOf } from './segments/log-directory.ts'
import type { LogFormat } from './segments/log-directory.ts'
import { LogReader } from './reading/log-reader.ts'
import type { ReadableLog } from './reading/log-reader.ts'
import { offsetAtTime, scanLog } from './reading/log-scan.ts'
import { LogUpkeep } from './writing/log-upkeep.ts'
import { usageOf } from './reading/log-usage.ts'
import { LogWriter } from './writing/log-writer.ts'
import { RecordSource } from './reading/record-source.ts'
import { recoverLog } from './opening/recover-log.ts'
import type { RecoveredLog } from './opening/recover-log.ts'
import { SegmentFiles } from './segments/segment-files.ts'
import { SegmentIndexes } from './segments/segment-indexes.ts'
import type { Segment } from './segments/segment.ts'
import type { StateStore } from './writing/state-store.ts'
import { TailMemory } from './reading/tail-memory.ts'

export interface EmbeddedEngineOptions {
  readonly disk: Disk
  /** The directory of the log. It holds nothing else, and is made when it is missing. */
  readonly directory: string
  readonly partitions?: number
  readonly clock?: Clock
  readonly logger?: Logger
  /**
   * How long messages are kept, ms; a segment is removed when its last message is older. Default: 7
   * days.
   */
  readonly retentionMs?: number
  /** Bytes of the log; beyond them, its oldest segments are removed. Default: 16 GiB. */
  readonly retentionBytes?: number
  /**
   * Bytes at which a segment is complete. Default: 64 MiB, or a sixteenth of `retentionBytes` if
   * that is less.
   */
  readonly segmentBytes?: number
  /** Age at which a segment is complete, ms. Default: 1 h. */
  readonly segmentMs?: number
  /** Memory for the bytes written last, in the form that they have on disk. Default: 16 MiB. */
  readonly tailBytes?: number
  /** Memory for blocks that were read from disk. Default: 32 MiB. */
  readonly cacheBytes?: number
  /** Memory for decoded messages, which their readers share. Default: 16 MiB. */
  readonly decodedBytes?: number
  /** Memory for the indexes of complete segments. Default: 64 MiB. */
  readonly indexBytes?: number
  /**
   * Memory for messages that wait for their commit; beyond it, messages fail with 0x97. Changes of
   * state have a quarter as much in addition. Default: 64 MiB.
   */
  readonly waitingBytes?: number
  /**
   * Time from one batch to the next while several publishers are at work, ms; a stream may get 2.5
   * times as long, and publishers that wait for their acknowledgements none. Default: 2.
   */
  readonly gatherMs?: number
  /** The tenants of the stored messages. Absent: retention goes by age and size alone. */
  readonly tenants?: StoredTenants
}

/** Divides the log between tenants, so that none pushes another's messages out. */
export interface StoredTenants {
  /** Tells the tenant of a topic branch, the first two levels of a Topic Name. */
  readonly tenantOf: TenantOfBranch
  /**
   * Bytes that the tenant's stored messages may have together. Beyond, the tenant's own oldest
   * messages are removed. The answer may change at any time.
   */
  readonly maximumStoredBytesOf: (tenant: string) => number
}

const MIB = 1_048_576
const DAY_MS = 86_400_000

interface Opened {
  readonly readable: ReadableLog
  readonly reader: LogReader
  readonly writer: LogWriter
  readonly upkeep: LogUpkeep
  readonly state: StateStore
  readonly seal: number
  readonly accounts: Accounts
  readonly bounds: StoredBounds | undefined
}

/** The parts of a log that a copy needs. */
export interface LogFiles {
  readonly disk: Disk
  readonly directory: string
  readonly partitions: number
  /** The segments, each with the number of its committed bytes. */
  readonly segments: readonly { readonly number: number; readonly length: number }[]
  readonly seal: number
  /** The snapshot's file in the directory `state/`. */
  readonly snapshot: string | undefined
}

export class EmbeddedEngine implements Engine {
  readonly partitions: number
  readonly isDurable = true
  readonly #options: EmbeddedEngineOptions
  readonly #clock: Clock
  readonly #logger: Logger
  #opened: Opened | undefined
  /** Indexes that are being written to disk. */
  readonly #saving = new Set<Promise<void>>()

  constructor(options: EmbeddedEngineOptions) {
    this.partitions = options.partitions ?? 64
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#logger = options.logger ?? silentLogger
  }

  /**
   * Opens the log. Ignores the readers, because retention goes by age and size alone. Damaged
   * records are logged and left out. Throws `LogDirectoryError` and the disk's errors.
   */
  async open(_readers?: LogReaders, arrivals: Arrivals = NOBODY_FOLLOWS): Promise<void> {
    assert(this.#opened === undefined, 'an engine is opened once')
    const { disk, directory } = this.#options
    const startedAt = this.#clock.steady()
    const format = await prepareLogDirectory(disk, directory, this.partitions)
    const accounts = new Accounts(this.#options.tenants?.tenantOf)
    const logger = this.#logger
    const recovered = await recoverLog({ disk, directory, format, logger, purpose: 'open', accounts })
    await openShares({ disk, directory: logDirectoryOf(directory), segments: recovered.segments, accounts })
    this.#opened = this.#assemble(recovered, format, { accounts, arrivals })
    const { segments, cutBytes, damages, state } = recovered
    const durationMs = this.#clock.steady() - startedAt
    const fields = { segments: segments.length, stateKeys: state.size, cutBytes, damages: damages.length, durationMs }
    this.#logger.info(fields, 'log.opened')
    const isSnapshotDamaged = damages.some(({ kind }) => kind === 'snapshot' || kind === 'snapshot_missing')
    this.#opened.bounds?.enforce()
    if (isSnapshotDamaged) this.#track(this.#opened.upkeep.renewSnapshot())
    this.#opened.upkeep.start()
  }

  tail(partition: number): number {
    return this.#open.readable.tails[partition] as number
  }

  async offsetAt(partition: number, timeMs: number): Promise<number> {
    return await offsetAtTime(this.#open.readable, partition, timeMs)
  }

  append(partition: number, request: AppendRequest): void {
    this.#open.writer.append(partition, request)
  }

  write(request: StateRequest): void {
    this.#open.writer.write(request)
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    yield* this.#open.state.load(prefix)
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult> {
    return this.#open.reader.read(partition, from, maximumMessages)
  }

  async scan(query: ScanQuery): Promise<ScanResult> {
    const { readable, reader } = this.#open
    return await scanLog(readable, reader, query)
  }

  health(): EngineHealth {
    return this.#open.writer.health()
  }

  usage(): EngineUsage {
    return usageOf(this.#open.readable.segments)
  }

  storedBytesOf(tenant: string): number {
    return this.#open.accounts.storedBytesOf(tenant)
  }

  tenants(): Iterable<string> {
    return this.#open.accounts.tenants()
  }

  /**
   * Does the periodic work at once, as far as it is due: retention, and a snapshot of the state.
   */
  async maintain(): Promise<void> {
    await this.#open.upkeep.maintain()
  }

  /** The files of the log as they are now. None of them is removed before `release` is called. */
  async pinFiles(): Promise<{ readonly files: LogFiles; readonly release: () => void }> {
    const { readable, upkeep, seal } = this.#open
    const { disk, directory } = this.#options
    const release = await upkeep.pin()
    const segments = readable.segments.map(({ number, length }) => ({ number, length }))
    const files = { disk, directory, partitions: this.partitions, seal, segments, snapshot: upkeep.snapshot?.name }
    return { files, release }
  }

  async close(): Promise<void> {
    const { writer, upkeep, readable } = this.#open
    await writer.close()
    await upkeep.close()
    await Promise.all(this.#saving)
    await readable.files.close()
  }

  get #segmentMs(): number {
    return this.#options.segmentMs ?? 3_600_000
  }

  get #open(): Opened {
    assert(this.#opened !== undefined, 'the engine is open')
    return this.#opened
  }

  #assemble(
    recovered: RecoveredLog,
    { seal }: LogFormat,
    { accounts, arrivals }: { readonly accounts: Accounts; readonly arrivals: Arrivals },
  ): Opened {
    const { disk, directory } = this.#options
    const logger = this.#logger
    const { segments, tails, state } = recovered
    const logDirectory = logDirectoryOf(directory)
    const tailMemory = new TailMemory(this.#options.tailBytes ?? 16 * MIB)
    const readable = this.#makeReadable(recovered, accounts, tailMemory)
    const { indexes, cache, files } = readable
    const retentionBytes = this.#options.retentionBytes ?? 16_384 * MIB
    // Retention removes whole segments. Where little is kept, segments must be small.
    const segmentBytes = this.#options.segmentBytes ?? Math.min(64 * MIB, Math.max(MIB, retentionBytes / 16))
    const bounds = this.#makeBounds(segments, accounts, retentionBytes)
    const forget = async (segment: Segment): Promise<void> => {
      indexes.forget(segment)
      cache.forget(segment.id)
      await files.forget(segment)
    }
    const upkeep = new LogUpkeep({
      rewriter: this.#makeRewriter({ ...readable, segments }, accounts, { bounds, segmentBytes, forget }),
      accounts,
      indexes,
      bounds,
      disk,
      logDirectory,
      stateDirectory: stateDirectoryOf(directory),
      clock: this.#clock,
      logger,
      segments,
      tails,
      state,
      seal,
      snapshot: recovered.snapshot,
      maximumAgeMs: this.#options.retentionMs ?? 7 * DAY_MS,
      maximumBytes: retentionBytes,
      snapshotBytes: segmentBytes,
      forget,
    })
    const newSegments = new NewSegments({
      disk,
      directory: logDirectory,
      segments,
      lastNumber: recovered.lastNumber,
      seal,
      gap: recovered.gap,
      segmentBytes,
      segmentMs: this.#segmentMs,
      accounts,
    })
    const writer = new LogWriter({
      clock: this.#clock,
      logger,
      tailMemory,
      state,
      newSegments,
      accounts,
      arrivals,
      tails,
      maximumWaitingBytes: this.#options.waitingBytes ?? 64 * MIB,
      gatherMs: this.#options.gatherMs ?? 2,
      sealed: (segment) => this.#sealed(segment, indexes, upkeep),
    })
    for (const segment of segments) if (segment.index !== undefined) this.#track(indexes.save(segment))
    return { readable, reader: new LogReader(readable), writer, upkeep, state, seal, accounts, bounds }
  }

  #makeReadable({ segments, tails }: RecoveredLog, accounts: Accounts, tailMemory: TailMemory): ReadableLog {
    const { disk, directory: root, indexBytes, cacheBytes, decodedBytes } = this.#options
    const logger = this.#logger
    const directory = logDirectoryOf(root)
    const files = new SegmentFiles(disk, directory)
    const maximumBytes = indexBytes ?? 64 * MIB
    const indexes = new SegmentIndexes({ disk, directory, files, logger, accounts, clock: this.#clock, maximumBytes })
    const cache = new BlockCache(cacheBytes ?? 32 * MIB)
    const decoded = new DecodedMessages(this.partitions, decodedBytes ?? 16 * MIB)
    const source = new RecordSource(tailMemory, cache)
    return { segments, tails, indexes, files, cache, source, decoded, logger }
  }

  #makeBounds(segments: readonly Segment[], accounts: Accounts, maximumBytes: number): StoredBounds | undefined {
    const maximumBytesOf = this.#options.tenants?.maximumStoredBytesOf
    if (maximumBytesOf === undefined) return undefined
    return new StoredBounds({ accounts, segments, maximumBytesOf, maximumBytes, logger: this.#logger })
  }

  #makeRewriter(
    { segments, indexes, files }: ReadableLog & { readonly segments: Segment[] },
    accounts: Accounts,
    {
      bounds,
      segmentBytes,
      forget,
    }: {
      readonly bounds: StoredBounds | undefined
      readonly segmentBytes: number
      readonly forget: (segment: Segment) => Promise<void>
    },
  ): LogRewriter | undefined {
    if (bounds === undefined) return undefined
    const { disk, directory } = this.#options
    return new LogRewriter({
      disk,
      logDirectory: logDirectoryOf(directory),
      stateDirectory: stateDirectoryOf(directory),
      files,
      indexes,
      accounts,
      clock: this.#clock,
      logger: this.#logger,
      segments,
      filledBytes: bounds.filledBytes,
      segmentBytes,
      segmentMs: this.#segmentMs,
      forget,
    })
  }

  #sealed(segment: Segment, indexes: SegmentIndexes, upkeep: LogUpkeep): void {
    this.#track(indexes.save(segment))
    this.#track(upkeep.maintain())
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#saving.delete(tracked))
    this.#saving.add(tracked)
  }
}
