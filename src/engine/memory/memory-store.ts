/**
 * What the memory engine has of one partition: the messages of a span of offsets, in memory, in one
 * form or another.
 */
import type { Message } from '../../broker/ports/message.ts'

export interface MemoryStore {
  /** The offset of the oldest message; the next one's when there is none. */
  readonly first: number
  /** The offset of the next message. */
  readonly tail: number
  /** Bytes of the messages, about. */
  readonly bytes: number
  /**
   * Takes the message, whose place is set. Throws RangeError for what it can't hold; then the
   * message is not there.
   */
  append(message: Message): void
  /** The message at an offset that is there; it outlives the turn. */
  message(offset: number): Message
  /** Its Topic Name. */
  topicName(offset: number): string
  /** When it was taken, ms since 1970. */
  ownedAtMs(offset: number): number
  /**
   * Lets go of what no reader needs: none does below `needed`. Call it when those who wait for the
   * last messages have been told.
   */
  trim(needed: number): void
  /** Lets go of a good part of the oldest, whoever needs it. */
  shed(): void
}
