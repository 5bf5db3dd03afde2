/**
 * The messages of one partition in the memory engine: those of a span of offsets, as objects or as
 * records.
 */
import type { Message } from '../../broker/ports/message.ts'

export interface MemoryStore {
  /** The offset of the oldest message; the next offset if there is no message. */
  readonly first: number
  /** The offset of the next message. */
  readonly tail: number
  /** Bytes of the messages, approximately. */
  readonly bytes: number
  /**
   * Stores the message, whose place is set. Throws RangeError for a message that can't be stored;
   * then nothing has changed.
   */
  append(message: Message): void
  /** The message at an offset within the span. It stays valid after the turn. */
  message(offset: number): Message
  /** The message's Topic Name. */
  topicName(offset: number): string
  /** The time at which the message was taken, ms since 1970. */
  ownedAtMs(offset: number): number
  /** False while a call of `trim` would change nothing. */
  readonly isTrimmable: boolean
  /**
   * Drops the messages that no reader needs: no reader needs an offset below `needed`. Call it
   * after the readers that wait for the last messages were told.
   */
  trim(needed: number): void
  /** Drops a good part of the oldest messages, even if readers need them. */
  shed(): void
}
