/**
 * The engine port. The engine has the log, which owns messages of QoS 1 and 2 before they are
 * acknowledged and which every Session reads, and the state, which is as durable as the log.
 * Messages and state share one order of commits.
 *
 * A request may name its owner, for example a tenant. An engine may own the requests of different
 * owners in another order than that of the calls, so that no owner waits behind another owner's
 * thousands. The requests of one owner are owned in the order of the calls. A request of the
 * service itself is never owned after an owner's request that was made later.
 */
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Message } from './message.ts'

/**
 * Why the engine could not own something. With Reason Code 0x83 the failure stays; with any other
 * it passes.
 */
export interface EngineFailure {
  readonly reasonCode: ReasonCode
  readonly reason: string
}

/** False for a failure that stays: a message without a form in bytes will have none next time. */
export function passes({ reasonCode }: EngineFailure): boolean {
  return reasonCode !== ReasonCodes.implementationSpecificError
}

/**
 * A key of the state with its new value; undefined forgets the key. Keys are at most 131,072 bytes
 * of UTF-8. The engine may keep the value without a copy: nobody changes its bytes afterwards.
 */
export interface StateChange {
  readonly key: string
  readonly value: Buffer | undefined
}

/**
 * A key of the state with its value. The caller may keep the value, and must not change its bytes:
 * the engine may hold the same memory.
 */
export interface StateEntry {
  readonly key: string
  readonly value: Buffer
}

/** Changes of state on their way to the engine. One of the two methods is called, once. */
export interface StateRequest {
  readonly changes: readonly StateChange[]
  /** The owner of the request; undefined: the service itself. */
  readonly owner?: string | undefined
  /** All changes are owned, as durably as the engine promises. */
  committed(): void
  /** None of the changes is owned. */
  failed(failure: EngineFailure): void
}

/**
 * Takes the messages of the log as they arrive at this process, whoever appended them: each message
 * once, each partition in its order, from the place on that was the tail when the engine opened.
 */
export interface Arrivals {
  /**
   * The log owns the message. The message knows its place, and the tail is right behind it. Does
   * not throw.
   */
  arrived(message: Message): void
}

/** One message on its way into the log. One of the two methods is called, once. */
export interface AppendRequest {
  readonly message: Message
  /** The owner of the request; undefined: the service itself. */
  readonly owner?: string | undefined
  /** Changes that are owned together with the message, or not at all. */
  readonly changes?: readonly StateChange[] | undefined
  /**
   * The log owns the message, as durably as the engine promises; the message knows its place in the
   * log. `Arrivals.arrived` was called for the message right before, in the same turn.
   */
  committed(offset: number): void
  failed(failure: EngineFailure): void
}

export interface ReadResult {
  readonly messages: readonly Message[]
  /** The offset of each message, ascending. */
  readonly offsets: readonly number[]
  /** The offset at which the next read goes on. */
  readonly next: number
  /**
   * The number of records between `from` and the first one that is still there: retention took
   * them. The engine counts them, for offsets may have gaps without a record.
   */
  readonly lost: number
  /**
   * By tenant: the most messages of the tenant between `from` and `next` that were removed because
   * of the tenant's own bound. The empty tenant stands for messages whose tenant is not known.
   * Absent: there are none.
   */
  readonly removed?: ReadonlyMap<string, number>
}

/** A query over the stored messages: one branch of topics, in a span of time. */
export interface ScanQuery {
  readonly partition: number
  /**
   * The beginning of the Topic Names asked for, up to the end of a level: `application/5/` or
   * `application/5/device/0102030405060708/`.
   */
  readonly topicPrefix: string
  /** True for the Topic Names asked for, among those with the prefix. Absent: all of them. */
  readonly accepts?: ((topicName: string) => boolean) | undefined
  /** The earliest time at which the log took a message asked for: ms since 1970, inclusive. */
  readonly fromMs?: number | undefined
  /** The latest time at which the log took a message asked for: ms since 1970, exclusive. */
  readonly toMs?: number | undefined
  /** The scan begins behind this offset, in the direction of reading. */
  readonly afterOffset?: number | undefined
  readonly direction: 'oldest first' | 'newest first'
  readonly maximumMessages: number
}

export interface ScanResult {
  /**
   * The messages in the direction asked for; each knows its place (`partition`, `offset`,
   * `ownedAtMs`).
   */
  readonly messages: readonly Message[]
  /** True when there may be more messages behind the last one. */
  readonly more: boolean
  /**
   * `afterOffset` of the next scan. Set when `more` is true, even if this scan found nothing in its
   * share of the work.
   */
  readonly nextAfterOffset: number | undefined
}

/**
 * Tells the engine which messages its readers still need. An engine that retains by time and size
 * does not ask.
 */
export interface LogReaders {
  /**
   * The lowest offset that a reader of the partition still has to read; Infinity when all readers
   * are at the tail.
   */
  lowestNeeded(partition: number): number
}

export interface EngineHealth {
  /**
   * False while the engine can own nothing: the disk is full, or fails. Everything can still be
   * read.
   */
  readonly canWrite: boolean
  /** A sentence for people; empty when the engine can write. */
  readonly reason: string
  /** True when requests wait for an answer that does not come. They may still be owned. */
  readonly isStalled?: boolean
}

/** How much the log stores. */
export interface EngineUsage {
  readonly messages: number
  readonly bytes: number
  /** When the log took the oldest message, ms since 1970; undefined when there is none. */
  readonly oldestAtMs: number | undefined
}

/** For an engine whose log nobody follows. */
export const NOBODY_FOLLOWS: Arrivals = { arrived: () => {} }

export interface Engine {
  /** The number of partitions; fixed for the life of the data. */
  readonly partitions: number
  /** True when the engine's data outlives the process: then Sessions are kept in its state. */
  readonly isDurable: boolean
  /**
   * Opens or recovers the stored data. Throws a sentence for people when the data does not belong
   * to this program.
   */
  open(readers: LogReaders, arrivals: Arrivals): Promise<void>
  /** The offset after the last message that arrived. */
  tail(partition: number): number
  /**
   * The first offset whose message is at or after `timeMs` (ms since 1970); the tail if there is
   * none.
   */
  offsetAt(partition: number, timeMs: number): Promise<number>
  /**
   * Appends each owner's messages in call order. `committed` is called in the order of the
   * partition, and never within `append` itself.
   */
  append(partition: number, request: AppendRequest): void
  /**
   * Writes state, in one order with the owner's other calls of `write` and `append`: the first call
   * is owned first.
   */
  write(request: StateRequest): void
  /**
   * The state whose keys begin with the prefix, in the order of the keys: at least what was owned
   * when the call was made. For the start of the broker; it may be slow.
   */
  load(prefix: string): AsyncIterable<StateEntry>
  /** Reads messages from `from` on: at least one, if there is any before `tail`. */
  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult>
  /** Reads stored messages apart from all readers, for history. The work of a call is bounded. */
  scan(query: ScanQuery): Promise<ScanResult>
  health(): EngineHealth
  /** How much the log stores; cheap enough to be asked every few seconds. */
  usage(): EngineUsage
  /**
   * Bytes of the tenant's messages that can be read. 0 for an engine that does not bound them by
   * tenant.
   */
  storedBytesOf(tenant: string): number
  /** The tenants whose stored bytes are counted. */
  tenants(): Iterable<string>
  /** Owns everything that it was asked to own before the call, then closes. */
  close(): Promise<void>
}
