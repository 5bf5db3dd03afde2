/**
 * Group commit: while one batch is being written to disk, all new requests gather for the next
 * batch; one write and one sync own them all. If the log is idle, a single append is written at
 * once. Under load the next batch waits a little for more requests, for a sync costs as much for
 * one record as for a hundred.
 */
import assert from 'node:assert'
import type { AppendRequest, Arrivals, EngineFailure, EngineHealth, StateRequest } from '../../broker/ports/engine.ts'
import type { Logger } from '../../logger.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Accounts } from '../segments/accounts.ts'
import type { ActiveSegment, NewSegments } from '../segments/active-segment.ts'
import { codeOf } from '../ports/disk.ts'
import type { Clock } from '../../clock.ts'
import { recordBound, tellFailed, waitingAppend, waitingWrite } from './log-request.ts'
import type { Waiting } from './log-request.ts'
import { writeChangesRecord, writeMessageRecord } from '../segments/record.ts'
import type { Segment } from '../segments/segment.ts'
import type { StateStore } from './state-store.ts'
import type { Chunk, TailMemory } from '../reading/tail-memory.ts'
import { BatchPublisher } from './batch-publisher.ts'
import type { Batch } from './batch-publisher.ts'
import { GatheringTime } from './gathering-time.ts'
import { RequestLanes } from './request-lanes.ts'
import type { Lane } from './request-lanes.ts'

/** A batch stops waiting for more requests once it has this many. */
const ENOUGH_RECORDS = 256
/** A batch stops waiting for more requests once it has this many bytes. */
const ENOUGH_BYTES = 131_072
/**
 * The average number of records per batch from which more requests are to be expected. Below it a
 * batch does not wait, so a lone publisher that waits for each answer is not slowed down.
 */
const COMPANY = 1.5
/** The time that a stream may gather for, in parts of the usual one. */
const LONGER_GATHERING = 2.5
/** Batches don't wait where so many times the records come without a wait. */
const GROWTH_WITHOUT_WAIT = 1.15
/** While the disk accepts no writes, it is tried again at this interval. */
const PROBE_MS = 1_000
/**
 * The part of `maximumWaitingBytes` that changes of state may take in addition: messages can't keep
 * a command from being stored.
 */
const STATE_RESERVE = 0.25
/** If a batch takes this long, the disk counts as not answering. */
const STALLED_MS = 10_000

export interface LogWriterOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly tailMemory: TailMemory
  readonly state: StateStore
  readonly newSegments: NewSegments
  /** The accounts of stored bytes. */
  readonly accounts: Accounts
  readonly arrivals: Arrivals
  /** By partition: the offset behind the last committed message. The writer moves it. */
  readonly tails: Float64Array
  /**
   * Bytes that may wait for their commit; beyond, messages fail with 0x97. Changes of state have a
   * quarter as many bytes in addition. Bounds memory if the disk is slower than the publishers.
   */
  readonly maximumWaitingBytes: number
  /**
   * Time from one batch to the next while more requests are to be expected, ms; a stream may get
   * more, and publishers that wait for their acknowledgements none. 0: a batch never waits.
   */
  readonly gatherMs: number
  /** Called when a segment is complete; its index is in memory. */
  readonly sealed: (segment: Segment) => void
}

export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #lanes: RequestLanes
  readonly #publisher: BatchPublisher
  readonly #gathering: GatheringTime
  #active: ActiveSegment | undefined
  /** By partition: the next offset to give; ahead of `tails` while a batch is being written. */
  #next: Float64Array
  #isRunning = false
  #isClosed = false
  /** The lanes that were refused something in this turn. */
  readonly #refused = new Set<Lane>()
  #startedAt: number = -Infinity
  #isOnItsWay = false
  #averageRecords = 1
  /** The time for which a batch waits for the disk when nothing else is to do, on average, ms. */
  #spareMs = 0
  /** Resolves when the batch before the one that is being written is published. */
  #published: Promise<void> = Promise.resolve()
  #endWait: (() => void) | undefined
  #idle: (() => void) | undefined
  #failure: EngineFailure | undefined
  #cancelProbe: (() => void) | undefined
  #probing: Promise<void> = Promise.resolve()

  constructor(options: LogWriterOptions) {
    this.#options = options
    this.#lanes = new RequestLanes(options.clock)
    this.#publisher = new BatchPublisher(options)
    this.#gathering = new GatheringTime(options.clock, {
      usualMs: options.gatherMs,
      longerMs: LONGER_GATHERING * options.gatherMs,
      growthWithoutWait: GROWTH_WITHOUT_WAIT,
    })
    this.#next = options.tails.slice()
  }

  append(partition: number, request: AppendRequest): void {
    assert(partition >= 0 && partition < this.#next.length, 'the partition is one of the log’s')
    this.#accept(request.owner, waitingAppend(partition, request))
  }

  write(request: StateRequest): void {
    this.#accept(request.owner, waitingWrite(request))
  }

  health(): EngineHealth {
    if (this.#failure !== undefined) return { canWrite: false, reason: this.#failure.reason }
    const waitsMs = this.#options.clock.steady() - this.#startedAt
    if (this.#isOnItsWay && waitsMs >= STALLED_MS) {
      return { canWrite: false, reason: `The disk has not answered for ${Math.floor(waitsMs / 1000)} s.` }
    }
    return { canWrite: true, reason: '' }
  }

  /** Commits earlier requests, then closes the active segment. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#endWait?.()
    if (this.#isRunning) await new Promise<void>((resolve) => (this.#idle = resolve))
    this.#cancelProbe?.()
    await this.#probing
    const active = this.#active
    this.#active = undefined
    if (active !== undefined) await this.#seal(active)
  }

  #accept(owner: string | undefined, waiting: Waiting): void {
    const lane = this.#lanes.of(owner)
    const failure = this.#refusal(lane, waiting)
    if (failure !== undefined) {
      queueMicrotask(() => tellFailed(waiting, failure))
      return
    }
    this.#lanes.add(lane, waiting)
    if (!this.#isRunning) {
      this.#isRunning = true
      // Deferred to the end of the turn: further requests of this turn join the batch.
      this.#options.clock.afterTurn(() => void this.#run())
    } else if (this.#endWait !== undefined && this.#hasEnough()) this.#endWait()
  }

  #refusal(lane: Lane, { append, bytes }: Waiting): EngineFailure | undefined {
    if (this.#isClosed) return { reasonCode: ReasonCodes.unspecifiedError, reason: 'The log is closed.' }
    if (this.#failure !== undefined) return this.#failure
    const isState = append === undefined
    if (this.#fits(lane, bytes, isState) && !(isState ? lane.refusesState : lane.refusesMessages)) return undefined
    // The refusal holds for this turn: a smaller message must not overtake a refused message of the
    // same sender. Messages have less room than state, so they are refused with it.
    if (this.#refused.size === 0) this.#options.clock.afterTurn(() => this.#refuseNoMore())
    this.#refused.add(lane)
    lane.refusesMessages = true
    if (isState) lane.refusesState = true
    return { reasonCode: ReasonCodes.quotaExceeded, reason: 'The disk is slower than what is published.' }
  }

  /**
   * An owner may have as many bytes waiting as are still free, so the next owner always finds room.
   * The service's own state has a reserve that no owner can take.
   */
  #fits(lane: Lane, bytes: number, isState: boolean): boolean {
    const { maximumWaitingBytes } = this.#options
    const reserveBytes = maximumWaitingBytes * STATE_RESERVE
    const freeBytes = maximumWaitingBytes + (isState ? reserveBytes : 0) - this.#lanes.bytes
    if (this.#lanes.count === 0) return true
    if (lane !== this.#lanes.own) return lane.bytes + bytes <= freeBytes
    return bytes <= freeBytes || (isState && lane.bytes + bytes <= reserveBytes)
  }

  #refuseNoMore(): void {
    for (const lane of this.#refused) lane.refusesMessages = lane.refusesState = false
    this.#refused.clear()
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    let durable: Batch | undefined
    for (;;) {
      const waitMs = this.#waitMs()
      if (this.#lanes.count === 0 || waitMs > 0) {
        if (durable !== undefined) await this.#publisher.publish(durable)
        durable = undefined
        if (this.#lanes.count === 0) break
        // Publishing may have taken a part of the time.
        const leftMs = waitMs > 0 ? this.#waitMs() : 0
        if (leftMs > 0) await this.#wait(leftMs)
      }
      const batch = this.#take()
      const writing = this.#persist(batch).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      // This runs while the disk works on the next batch.
      if (durable !== undefined) await (this.#published = this.#publisher.publish(durable))
      const publishedAt = clock.steady()
      const failed = await writing
      this.#spareMs += (clock.steady() - publishedAt - this.#spareMs) / 8
      if (failed === undefined) durable = batch
      else {
        durable = undefined
        this.#fail(batch, failed.error)
      }
      this.#isOnItsWay = false
    }
    this.#isRunning = false
    this.#idle?.()
  }

  #waitMs(): number {
    if (this.#isClosed || this.#averageRecords < COMPANY || this.#hasEnough()) return 0
    return this.#gathering.ms - (this.#options.clock.steady() - this.#startedAt)
  }

  #hasEnough(): boolean {
    return this.#lanes.count >= ENOUGH_RECORDS || this.#lanes.bytes >= ENOUGH_BYTES
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve)
      this.#endWait = () => {
        cancel()
        resolve()
      }
    })
    this.#endWait = undefined
  }

  #take(): Batch {
    const { requests, runs } = this.#lanes.take(this.#spareMs)
    this.#averageRecords += (requests.length - this.#averageRecords) / 8
    this.#gathering.took(requests.length)
    return { requests, runs, segment: undefined, end: 0, ownedAtMs: 0 }
  }

  async #persist(batch: Batch): Promise<void> {
    const { clock, newSegments } = this.#options
    const nowMs = Math.floor(clock.now())
    this.#startedAt = clock.steady()
    this.#isOnItsWay = true
    batch.ownedAtMs = nowMs
    if (this.#active !== undefined && !newSegments.isFull(this.#active, nowMs)) {
      const active = this.#active
      await active.append(this.#encode(batch, active))
      return
    }
    const before = this.#active
    this.#active = undefined
    const beginning = newSegments.begin(this.#next, nowMs)
    // After this, the batch before is published, and the segment to which it went is complete.
    await beginning.catch(() => {})
    await this.#published
    if (before !== undefined) await this.#seal(before)
    const active = await beginning
    newSegments.link(active)
    try {
      await active.append(this.#encode(batch, active))
      await newSegments.made(active)
    } catch (error) {
      await newSegments.drop(active)
      throw error
    }
    this.#active = active
  }

  /** Encodes the batch behind the segment's bytes. Returns the pieces of memory that hold it. */
  #encode(batch: Batch, active: ActiveSegment): Buffer[] {
    const { tailMemory } = this.#options
    tailMemory.trim()
    const pieces: Buffer[] = []
    let chunk: Chunk | undefined
    let from = 0
    let position = active.written
    const head = active.head
    if (head !== undefined) {
      chunk = tailMemory.room(active.segment.id, 0, head.length)
      from = chunk.used
      head.copy(chunk.bytes, from)
      chunk.used += head.length
      position += head.length
    }
    for (const waiting of batch.requests) {
      const bound = recordBound(waiting)
      if (bound === undefined) continue
      const room = tailMemory.room(active.segment.id, position, bound)
      if (room !== chunk) {
        if (chunk !== undefined) pieces.push(chunk.bytes.subarray(from, chunk.used))
        chunk = room
        from = room.used
      }
      waiting.position = position
      const end = this.#encodeOne(waiting, room, batch.ownedAtMs, active.segment.seal)
      waiting.length = end - room.used
      position += waiting.length
      room.used = end
    }
    if (chunk !== undefined) pieces.push(chunk.bytes.subarray(from, chunk.used))
    batch.segment = active.segment
    batch.end = position
    return pieces
  }

  #encodeOne(waiting: Waiting, { bytes, used }: Chunk, ownedAtMs: number, seal: number): number {
    const { append, write, partition } = waiting
    if (append === undefined) return writeChangesRecord(bytes, used, write.changes, seal)
    const offset = this.#next[partition] as number
    waiting.offset = offset
    this.#next[partition] = offset + 1
    return writeMessageRecord(bytes, used, append.message, { partition, offset, ownedAtMs }, append.changes, seal)
  }

  async #seal(active: ActiveSegment): Promise<void> {
    const { logger, sealed } = this.#options
    const { segment } = active
    segment.isSealed = true
    await active.close().catch((error: unknown) => {
      logger.warn({ segment: segment.number, code: codeOf(error) }, 'log.segment_unclosed')
    })
    sealed(segment)
  }

  /**
   * The batch is not, or not wholly, on disk: nothing more is written to that file, and all callers
   * that wait are told.
   */
  #fail(batch: Batch, error: unknown): void {
    const { logger, newSegments, tails } = this.#options
    const code = codeOf(error)
    if (code === 'unknown') throw error
    const reason = reasonOf(code)
    logger.error({ code, reason }, 'log.unwritable')
    const failure = { reasonCode: ReasonCodes.quotaExceeded, reason }
    this.#failure = failure
    this.#next = tails.slice()
    const active = this.#active
    this.#active = undefined
    if (active !== undefined) {
      active.segment.isSealed = true
      this.#probing = newSegments.abandon(active)
      this.#options.sealed(active.segment)
    }
    const waiting = this.#lanes.takeAll()
    for (const request of batch.requests) tellFailed(request, failure)
    for (const request of waiting) tellFailed(request, failure)
    this.#probeLater()
  }

  #probeLater(): void {
    if (this.#isClosed) return
    this.#cancelProbe = this.#options.clock.after(PROBE_MS, () => {
      this.#probing = this.#probing.then(() => this.#probe())
    })
  }

  async #probe(): Promise<void> {
    const { newSegments, clock, logger } = this.#options
    try {
      this.#active = await newSegments.probe(this.#next, Math.floor(clock.now()))
      this.#failure = undefined
      logger.info({}, 'log.writable')
    } catch (error) {
      if (codeOf(error) === 'unknown') throw error
      this.#failure = { reasonCode: ReasonCodes.quotaExceeded, reason: reasonOf(codeOf(error)) }
      this.#probeLater()
    }
  }
}

function reasonOf(code: string): string {
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full.'
  return `The disk can’t be written (${code}).`
}
