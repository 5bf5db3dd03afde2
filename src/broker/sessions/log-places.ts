/**
 * The places in the log of all readers that are behind its tail. A reader at the tail has no place
 * and costs nothing.
 */
import type { LogReaders } from '../ports/engine.ts'

/** A reader's place in one partition; it belongs to the `LogPlaces` that made it. */
export interface Cursor {
  readonly partition: number
  /** The next offset to read. Only `LogPlaces.move` changes it. */
  offset: number
  /**
   * An upper bound on the records and bytes that the reader is behind with: all that were written
   * since it fell behind, less the ones that it took. Records that don't match count too, until
   * they are counted exactly.
   */
  readonly owed: { messagesUpTo: number; bytesUpTo: number }
}

/** Records and bytes written to a partition since the broker started. */
export interface Written {
  readonly messages: number
  readonly bytes: number
}

interface Place {
  readonly cursors: Set<Cursor>
  lowest: number
  /** False when the cursor that was lowest has moved: then `lowest` may be too low. */
  exact: boolean
}

export class LogPlaces implements LogReaders {
  readonly #places: Place[]

  constructor(partitions: number) {
    this.#places = Array.from({ length: partitions }, () => ({ cursors: new Set(), lowest: Infinity, exact: true }))
  }

  add(partition: number, offset: number, written: Written): Cursor {
    const place = this.#place(partition)
    const owed = { messagesUpTo: written.messages, bytesUpTo: written.bytes }
    const cursor: Cursor = { partition, offset, owed }
    place.cursors.add(cursor)
    if (offset < place.lowest) place.lowest = offset
    return cursor
  }

  /** Moves the cursor forward, or back for a replay. */
  move(cursor: Cursor, offset: number): void {
    const place = this.#place(cursor.partition)
    if (offset < place.lowest) place.lowest = offset
    else if (cursor.offset === place.lowest) place.exact = false
    cursor.offset = offset
  }

  remove(cursor: Cursor): void {
    const place = this.#place(cursor.partition)
    place.cursors.delete(cursor)
    if (cursor.offset === place.lowest) place.exact = false
  }

  lowestNeeded(partition: number): number {
    const place = this.#place(partition)
    if (!place.exact) {
      let lowest = Infinity
      for (const { offset } of place.cursors) if (offset < lowest) lowest = offset
      place.lowest = lowest
      place.exact = true
    }
    return place.lowest
  }

  #place(partition: number): Place {
    return this.#places[partition] as Place
  }
}
