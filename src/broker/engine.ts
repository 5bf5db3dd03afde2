/** The engine port: the log that owns messages of QoS 1 and 2 before they are acknowledged, and that every Session reads. */
import type { ReasonCode } from '../mqtt/reason-codes.ts'
import type { Message } from './message.ts'

/** Why the engine could not own a message. */
export interface AppendFailure {
  readonly reasonCode: ReasonCode
  readonly reason: string
}

/** One message on its way into the log; told exactly once. */
export interface AppendRequest {
  readonly message: Message
  /** The log owns the message, as durably as the engine promises. */
  committed(offset: number): void
  failed(failure: AppendFailure): void
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

/** How the engine learns what its readers still need; an engine that retains by time and size does not ask. */
export interface LogReaders {
  /** The lowest offset that a reader of the partition still has to read; Infinity when all readers are at the tail. */
  lowestNeeded(partition: number): number
}

export interface Engine {
  /** The number of partitions; fixed for the life of the data. */
  readonly partitions: number
  open(readers: LogReaders): Promise<void>
  /** The offset after the last committed message. */
  tail(partition: number): number
  /** Appends in call order per partition; `committed` is called in that order, never within `append` itself. */
  append(partition: number, request: AppendRequest): void
  /** Messages from `from` on, at least one if there is any before `tail`. */
  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult>
  close(): Promise<void>
}
