/**
 * Gives TLS handshakes their turns. A handshake takes the event loop for about a millisecond, and
 * thousands of clients come back at the same moment. Without turns, each message of an established
 * connection would wait for all handshakes that have arrived before it.
 */
import type { Clock } from '../clock.ts'

/**
 * The share of the event loop's time that handshakes take while other work waits: one part in this
 * many. At least one handshake begins in each turn of the event loop, so an idle service does
 * nothing but handshakes, one after the other.
 */
const PARTS = 4
/**
 * The time of handshakes in one turn of the event loop, also after a long turn of other work. An
 * event passes through three or four turns until its subscriber has it.
 */
const MAXIMUM_TURN_MS = 5

/** A connection whose ClientHello has come. */
export interface WaitingHandshake {
  /** True when the connection has ended. */
  readonly isOver: boolean
  /**
   * Gives the connection to TLS, which handles the ClientHello in the next tick, or when the event
   * loop next reads sockets.
   */
  begin(): void
  /** The time in ms that the handshake takes after the next tick; absent: none. */
  readonly laterMs?: number
}

/** One object for all listeners: they share the event loop. */
export class HandshakeTurns {
  readonly #clock: Pick<Clock, 'steady' | 'afterTurn'>
  /** By address, in the order of their turns. The connections of one address wait in a row. */
  readonly #waiting = new Map<string, WaitingHandshake[]>()
  #isScheduled = false
  /** The end of the last turn of handshakes. */
  #endedAt: number

  constructor(clock: Pick<Clock, 'steady' | 'afterTurn'>) {
    this.#clock = clock
    this.#endedAt = clock.steady()
  }

  /**
   * Begins the handshake when it is its turn. Addresses take turns: a client waits for one
   * handshake of each other address, however many an address has.
   */
  wait(address: string, handshake: WaitingHandshake): void {
    const row = this.#waiting.get(address)
    if (row === undefined) this.#waiting.set(address, [handshake])
    else row.push(handshake)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.afterTurn(() => {
      const now = this.#clock.steady()
      const otherWorkMs = now - this.#endedAt
      this.#begin(now + Math.min(otherWorkMs / (PARTS - 1), MAXIMUM_TURN_MS))
    })
  }

  #begin(endsAt: number): void {
    const next = this.#next()
    if (next === undefined) {
      this.#end()
      return
    }
    next.begin()
    // TLS handles the ClientHello in a tick that it has just asked for: this tick comes after it.
    process.nextTick(() => {
      const remainingEndsAt = endsAt - (next.laterMs ?? 0)
      if (this.#clock.steady() < remainingEndsAt) this.#begin(remainingEndsAt)
      else this.#end()
    })
  }

  #end(): void {
    this.#endedAt = this.#clock.steady()
    this.#isScheduled = false
    if (this.#waiting.size > 0) this.#schedule()
  }

  #next(): WaitingHandshake | undefined {
    for (const [address, row] of this.#waiting) {
      const next = row.shift()
      this.#waiting.delete(address)
      if (row.length > 0) this.#waiting.set(address, row)
      if (next?.isOver === false) return next
    }
    return undefined
  }
}
