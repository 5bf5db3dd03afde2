/**
 * Readers that are behind the tail of the log. They read the log from their cursors, in turns, as
 * far as there is room for the messages, until they are at the tail.
 */
import type { Clock } from '../../clock.ts'
import type { Counters } from '../ports/counters.ts'
import type { Engine, ReadResult } from '../ports/engine.ts'
import type { Limits } from '../ports/limits.ts'
import type { Cursor, LogPlaces, Written } from '../sessions/log-places.ts'
import type { Message } from '../ports/message.ts'
import { shedOldest } from './queue-bound.ts'
import { placeKey } from '../sessions/session.ts'
import type { Owed } from '../sessions/session.ts'
import type { Outlet, Reader } from '../sessions/reader.ts'
import type { Turns } from './turns.ts'

/**
 * Records read by one reader in one turn of the event loop, so that a long way to the tail starves
 * nobody.
 */
const RECORDS_PER_TURN = 256
const RECORDS_PER_READ = 256
/**
 * The time that a read of the disk takes of its tenant's share when it begins, beside the time for
 * which its messages are handed on. So few reads of a tenant with many readers are under way at
 * once, and their messages don't come all together.
 */
const DISK_READ_MS = 1
/** How long a reader waits for messages of the log that this node has not reached, ms. */
const BEHIND_MS = 5

/** The log as far as it was routed. The delivery writes it, and shares it. */
export interface Routed {
  /**
   * By partition: the offset after the last message that was routed. A reader at the tail has seen
   * everything before it.
   */
  readonly tails: readonly number[]
  /** By partition: the messages and bytes routed since the start. */
  readonly written: readonly Written[]
}

export interface CatchUpOptions {
  readonly clock: Clock
  readonly engine: Engine
  readonly readers: LogPlaces
  readonly routed: Routed
  readonly limits: Limits
  readonly counters: Counters
  readonly turns: Turns
  readonly outlet: Outlet
}

export class CatchUp {
  readonly #engine: Engine
  readonly #readers: LogPlaces
  readonly #routed: Routed
  readonly #limits: Limits
  readonly #counters: Counters
  readonly #turns: Turns
  readonly #clock: Clock
  readonly #outlet: Outlet

  constructor({ clock, engine, readers, routed, limits, counters, turns, outlet }: CatchUpOptions) {
    this.#clock = clock
    this.#engine = engine
    this.#readers = readers
    this.#routed = routed
    this.#limits = limits
    this.#counters = counters
    this.#turns = turns
    this.#outlet = outlet
  }

  /** Hands on as many messages as there is room for, and as one turn allows. */
  goOn(reader: Reader): void {
    if (reader.catchingUp) return
    // The owed messages are read all together.
    if (reader.owed.some(({ message }) => message === undefined)) {
      this.#readAgain(reader, reader.owed)
      return
    }
    if (!reader.sendOlder(this.#outlet)) return
    if (reader.isBounded && this.#mayBeBeyondBounds(reader)) {
      this.#shed(reader)
      return
    }
    if (reader.behind.size > 0) this.#read(reader)
    else reader.recovery = undefined
  }

  #read(reader: Reader): void {
    let budget = RECORDS_PER_TURN
    for (const [partition, cursor] of reader.behind) {
      while (reader.takesMore(this.#outlet)) {
        if (cursor.offset >= (this.#routed.tails[partition] as number)) {
          this.#readers.remove(cursor)
          reader.behind.delete(partition)
          this.#outlet.changed(reader)
          break
        }
        if (budget <= 0) {
          this.#turns.wake(reader)
          return
        }
        const result = this.#engine.read(partition, cursor.offset, RECORDS_PER_READ)
        if (result instanceof Promise) {
          this.#takeLater(reader, cursor, result)
          return
        }
        budget -= Math.max(1, result.messages.length)
        if (!this.#take(reader, cursor, result)) return
      }
    }
    if (reader.behind.size === 0) reader.recovery = undefined
  }

  #takeLater(reader: Reader, cursor: Cursor, reading: Promise<ReadResult>): void {
    reader.catchingUp = true
    this.#turns.spend(reader, DISK_READ_MS)
    const from = cursor.offset
    reading.then(
      (result) => {
        reader.catchingUp = false
        // While the log was read, the reader may have ended, or a replay may have moved it.
        const isAsked = reader.behind.get(cursor.partition) === cursor && cursor.offset === from
        if (isAsked && reader.takesMore(this.#outlet)) {
          const begunAt = this.#clock.steady()
          this.#take(reader, cursor, result)
          this.#turns.spend(reader, this.#clock.steady() - begunAt)
        }
        this.#turns.wake(reader)
      },
      // The engine reports its own failures. The reader stays at its cursor and tries again when it
      // is woken.
      () => {
        reader.catchingUp = false
      },
    )
  }

  /** Hands on the messages that were read as far as there is room; true when all of them went. */
  #take(reader: Reader, cursor: Cursor, result: ReadResult): boolean {
    const { partition } = cursor
    this.#outlet.changed(reader)
    const lost = lostFor(reader, result)
    if (lost > 0) {
      this.#counters.publishesLost += lost
      reader.missed(this.#outlet, lost)
    }
    const tail = this.#routed.tails[partition] as number
    for (let index = 0; index < result.messages.length; index += 1) {
      const message = result.messages[index] as Message
      const offset = result.offsets[index] as number
      // The message is not routed yet: the reader is about to be at the tail and gets it there.
      if (offset >= tail) {
        this.#readers.move(cursor, tail)
        return true
      }
      if (!this.#takeOne(reader, message, partition, offset)) {
        this.#readers.move(cursor, offset)
        return false
      }
      if (reader.isBounded && reader.matches(message.topicName)) {
        cursor.owed.messagesUpTo += 1
        cursor.owed.bytesUpTo += message.sizeBytes
      }
    }
    this.#readers.move(cursor, Math.min(result.next, tail))
    return true
  }

  /**
   * Hands on one message of the log to a reader that is behind; false when there is no room for it.
   */
  #takeOne(reader: Reader, message: Message, partition: number, offset: number): boolean {
    const { recovery } = reader
    let dup = false
    if (recovery !== undefined) {
      if (recovery.handled.has(placeKey(partition, offset))) return true
      dup = message.qos > 0 && offset < (recovery.sentBefore.get(partition) ?? 0)
    }
    return reader.take(this.#outlet, message, partition, offset, dup)
  }

  /**
   * After a restart the owed messages are known by their places alone: they are read from the log.
   * Another node may have given a place that this node has not reached in the log.
   */
  #readAgain(reader: Reader, list: readonly Owed[]): void {
    reader.catchingUp = true
    let isBehind = false
    const readAll = async (): Promise<void> => {
      for (const owed of list) {
        if (owed.message !== undefined) continue
        if (owed.offset >= (this.#routed.tails[owed.partition] as number)) {
          isBehind = true
          continue
        }
        const result = await this.#engine.read(owed.partition, owed.offset, 1)
        if (result.offsets[0] === owed.offset) owed.message = result.messages[0]
        else owed.isLost = true
      }
    }
    readAll().then(
      () => {
        reader.catchingUp = false
        this.#forgetLost(reader)
        if (isBehind) this.#clock.after(BEHIND_MS, () => this.#turns.wake(reader))
        else this.#turns.wake(reader)
      },
      () => {
        reader.catchingUp = false
      },
    )
  }

  /** Retention took owed messages: they can't be sent any more. */
  #forgetLost(reader: Reader): void {
    const lost = reader.forgetLost()
    if (lost === 0) return
    reader.missed(this.#outlet, lost)
    this.#counters.publishesLost += lost
    this.#outlet.changed(reader)
  }

  /** False is certain. True needs a closer look, since not all messages that were written match. */
  #mayBeBeyondBounds(reader: Reader): boolean {
    let messages = 0
    let bytes = 0
    for (const [partition, cursor] of reader.behind) {
      const written = this.#routed.written[partition] as Written
      messages += written.messages - cursor.owed.messagesUpTo
      bytes += written.bytes - cursor.owed.bytesUpTo
    }
    return messages > this.#limits.maximumQueuedMessages || bytes > this.#limits.maximumQueuedBytes
  }

  /** Moves the reader past the oldest messages that are beyond its bounds, then goes on. */
  #shed(reader: Reader): void {
    reader.catchingUp = true
    shedOldest(reader, {
      engine: this.#engine,
      tails: this.#routed.tails,
      readers: this.#readers,
      limits: this.#limits,
    }).then(
      ({ lost, messages, bytes }) => {
        reader.catchingUp = false
        this.#counters.publishesLost += lost
        if (lost > 0) reader.missed(this.#outlet, lost)
        // Now the numbers are exact. Only the sum over the partitions counts.
        let known = { messages, bytes }
        for (const [partition, { owed }] of reader.behind) {
          const written = this.#routed.written[partition] as Written
          owed.messagesUpTo = written.messages - known.messages
          owed.bytesUpTo = written.bytes - known.bytes
          known = { messages: 0, bytes: 0 }
        }
        if (reader.behind.size > 0) this.#turns.wake(reader)
      },
      () => {
        reader.catchingUp = false
      },
    )
  }
}

/**
 * The most messages of the reader's that the log has lost: also those beyond its tenant's bound.
 */
function lostFor({ tenant }: Reader, { lost, removed }: ReadResult): number {
  if (removed === undefined) return lost
  return lost + (removed.get(tenant) ?? 0) + (removed.get('') ?? 0)
}
