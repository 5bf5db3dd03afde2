/**
 * The work at the end of the current turn of the event loop: readers that may go on, and
 * connections with bytes to write.
 */
import type { Clock } from '../../clock.ts'
import { LastJoin } from './last-join.ts'
import type { Reader } from '../sessions/reader.ts'

/** An object with bytes to write: the output of a connection. */
export interface Flushable {
  flush(): void
}

/**
 * From this number of connections to write to in one turn on, the next messages are worth
 * gathering.
 */
const CROWD = 16
/**
 * After a crowd was written to, messages are gathered for this long: each connection then gets one
 * TLS record in the place of several. The turns of a fast broker are short, and would gather a
 * message or two. A single or idle connection is flushed at once.
 */
const GATHER_MS = 1

export class Turns {
  /** The joined buffer that all connections share within a turn. */
  readonly lastJoin = new LastJoin()
  readonly #clock: Clock
  readonly #goOn: (reader: Reader) => void
  #awake = new Set<Reader>()
  #flushing: Flushable[] = []
  #isPlanned = false
  #isGathering = false

  constructor(clock: Clock, goOn: (reader: Reader) => void) {
    this.#clock = clock
    this.#goOn = goOn
  }

  /** A change may let the reader take more. */
  wake(reader: Reader): void {
    this.#awake.add(reader)
    this.#plan()
  }

  forget(reader: Reader): void {
    this.#awake.delete(reader)
  }

  /** Flushes the connection's output after the turn. */
  flushLater(connection: Flushable): void {
    this.#flushing.push(connection)
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#clock.afterTurn(() => this.#end())
  }

  #end(): void {
    this.#isPlanned = false
    if (this.#awake.size > 0) {
      const awake = this.#awake
      this.#awake = new Set()
      for (const reader of awake) this.#goOn(reader)
    }
    if (!this.#isGathering) this.#flush()
  }

  #flush(): void {
    const flushing = this.#flushing
    this.#flushing = []
    for (const connection of flushing) connection.flush()
    this.lastJoin.forget()
    if (flushing.length < CROWD) return
    this.#isGathering = true
    this.#clock.after(GATHER_MS, () => {
      this.#isGathering = false
      this.#flush()
    })
  }
}
