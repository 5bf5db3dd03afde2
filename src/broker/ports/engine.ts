/**
 * The engine port: the log that owns messages of QoS 1 and 2 before they are acknowledged and that
 * every Session reads, and the state that must be as durable as the log is. Messages and state
 * share one order of commits.
 */
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Message } from './message.ts'

/** Why the engine could not own something. With 0x83 it never will; any other reason passes. */
export interface EngineFailure {
  readonly reasonCode: ReasonCode
  readonly reason: string
}

/** False for a failure that stays: the message has no form in bytes, and will have none next time. */
export function passes({ reasonCode }: EngineFailure): boolean {
  return reasonCode !== ReasonCodes.implementationSpecificError
}

/**
 * A key of the state with its new value; undefined: the key is forgotten. Keys are at most 131,072
 * bytes of UTF-8.
 */
export interface StateChange {
  readonly key: string
  readonly value: Buffer | undefined
}

/** What is known under a key. The value is the caller's to keep. */
export interface StateEntry {
  readonly key: string
  readonly value: Buffer
}

/** Changes of state on their way; told exactly once. */
export interface StateRequest {
  readonly changes: readonly StateChange[]
  /** All of them are owned, as durably as the engine promises. */
  committed(): void
  /** None of them is. */
  failed(failure: EngineFailure): void
}

/** One message on its way into the log; told exactly once. */
export interface AppendRequest {
  readonly message: Message
  /** Owned together with the message, or neither is. */
  readonly changes?: readonly StateChange[] | undefined
  /**
   * The log owns the message, as durably as the engine promises; its place is set on the message.
   */
  committed(offset: number): void
  failed(failure: EngineFailure): void
}

export interface ReadResult {
  readonly messages: readonly Message[]
  /** The offset of each message, ascending. */
  readonly offsets: readonly number[]
  /** Where the next read goes on. */
  readonly next: number
  /** Records between `from` and the first one still there: retention took them. */
  readonly lost: number
}

/** What is asked of the stored messages: of one branch of topics, in a span of time. */
export interface ScanQuery {
  readonly partition: number
  /**
   * Topic Names that begin with it, up to the end of a level: `application/5/` or
   * `application/5/device/0102030405060708/`.
   */
  readonly topicPrefix: string
  /** Looks at the whole Topic Name; absent: all that begin with the prefix. */
  readonly accepts?: ((topicName: string) => boolean) | undefined
  /** ms since 1970, inclusive; when the log took the message. */
  readonly fromMs?: number | undefined
  /** ms since 1970, exclusive. */
  readonly toMs?: number | undefined
  /** Begin behind this offset in the direction of reading. */
  readonly afterOffset?: number | undefined
  readonly direction: 'oldest first' | 'newest first'
  readonly maximumMessages: number
}

export interface ScanResult {
  /** In the direction asked for; each knows its place (`partition`, `offset`, `ownedAtMs`). */
  readonly messages: readonly Message[]
  /** True when there may be more behind the last one. */
  readonly more: boolean
  /**
   * Where a next scan goes on (`afterOffset`); set when `more`, also where this one found nothing
   * in its share of the work.
   */
  readonly nextAfterOffset: number | undefined
}

/**
 * How the engine learns what its readers still need; an engine that retains by time and size does
 * not ask.
 */
export interface LogReaders {
  /**
   * The lowest offset that a reader of the partition still has to read; Infinity when all readers
   * are at the tail.
   */
  lowestNeeded(partition: number): number
}

export interface EngineHealth {
  /** False while nothing can be owned: the disk is full, or fails. Everything can still be read. */
  readonly canWrite: boolean
  /** A sentence for people; empty when all is well. */
  readonly reason: string
}

/** How much is stored. */
export interface EngineUsage {
  readonly messages: number
  readonly bytes: number
  /** When the log took the oldest message, ms since 1970; undefined when there is none. */
  readonly oldestAtMs: number | undefined
}

export interface Engine {
  /** The number of partitions; fixed for the life of the data. */
  readonly partitions: number
  /**
   * True when what it owns is there again after `open` in another process: then Sessions are kept
   * in its state.
   */
  readonly isDurable: boolean
  /**
   * Opens or recovers what is stored. Throws a sentence for people when the data is not this
   * program's to read.
   */
  open(readers: LogReaders): Promise<void>
  /** The offset after the last committed message. */
  tail(partition: number): number
  /**
   * The first offset at or after which the partition holds nothing older than the time (ms since
   * 1970); the tail when all is older.
   */
  offsetAt(partition: number, timeMs: number): Promise<number>
  /**
   * Appends in call order per partition; `committed` is called in that order, never within `append`
   * itself.
   */
  append(partition: number, request: AppendRequest): void
  /**
   * Writes state, in one order with all other calls of `write` and `append`: what was called first
   * is owned first.
   */
  write(request: StateRequest): void
  /**
   * The state whose keys begin so, by key: all that was owned when the call was made, at least. For
   * the start; it may be slow.
   */
  load(prefix: string): AsyncIterable<StateEntry>
  /** Messages from `from` on, at least one if there is any before `tail`. */
  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult>
  /** Reads what is stored, apart from all readers: history. Bounded work a call. */
  scan(query: ScanQuery): Promise<ScanResult>
  health(): EngineHealth
  /** How much the log holds; cheap enough to be asked every few seconds. */
  usage(): EngineUsage
  /** Owns what was asked of it before, then closes. */
  close(): Promise<void>
}
