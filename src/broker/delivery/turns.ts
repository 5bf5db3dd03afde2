/**
 * The work at the end of the current turn of the event loop: readers that may go on, and
 * connections with bytes to write. Each account does as much of it as its share of the turn allows.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Counters } from '../ports/counters.ts'
import { LastJoin } from './last-join.ts'
import type { Reader } from '../sessions/reader.ts'
import { TurnRests } from './turn-rests.ts'
import type { StreamFigures } from './turn-rests.ts'
import { TurnShare } from './turn-shares.ts'
import type { TurnJob, TurnShares } from './turn-shares.ts'

/** An object with bytes to write: the output of a connection. */
export interface Flushable {
  /** Pays for the time that writing takes: TLS encrypts the bytes, and the system copies them. */
  readonly share: TurnShare
  flush(): void
}

/**
 * From this number of connections to write to in one turn on, the next messages are worth
 * gathering. Fewer connections are written to within half a millisecond, and so in one turn.
 */
const CROWD = 16
/**
 * After a crowd was written to, messages are gathered for this long at most: each connection then
 * gets one TLS record in the place of several. The turns of a fast broker are short, and would
 * gather a message or two. A turn that brings nothing ends the gathering, because clients that wait
 * for their acknowledgements send no more. By the clock's whole ms, this is one to two of them.
 */
const GATHER_MS = 2
/** Writes of the same bytes to crowds, in a ms: they take a quarter of the processor time. */
const BUSY_WRITES_PER_MS = 50
/**
 * From this number of messages for each connection on, a turn was a fan-in. It is small, because
 * the turns of a fast broker are short.
 */
const FAN_IN = 2
/**
 * Messages of fan-ins, in a ms: they take half of the processor time. With fewer, rests save a
 * fifth, and triple the latency.
 */
const BUSY_MESSAGES_PER_MS = 50
/** From this number of messages on, a turn that writes to a crowd may be cheaper after a rest. */
const BUSY_TURN = 16
/** Messages of these turns, in a ms: they take a third of the processor time. */
const BUSY_CROWD_MESSAGES_PER_MS = 30
/** Messages that come in pieces of so many are together already, and rests can't help them. */
const LARGE_CHUNK = 16
/**
 * The messages of a few publishers, as network servers are, come in larger pieces after a rest, and
 * take two thirds or half of the processor time. Rests are tried from this number of messages in a
 * ms on, while the process is so busy. They are kept where the pieces grow so much with them.
 */
const BUSY_SOURCE = { messagesPerMs: 10, share: 0.6, growth: 4 } as const

type TurnCounters = Pick<Counters, 'bytesReceived' | 'publishesSent' | 'publishesReceived' | 'publishingChunks'>

export class Turns {
  /** The joined buffer that all connections share within a turn. */
  readonly lastJoin = new LastJoin()
  readonly #clock: Clock
  readonly #shares: TurnShares
  readonly #goOn: (reader: Reader) => void
  readonly #counters: TurnCounters
  /** Rests after a turn that wrote the same bytes to a crowd. */
  readonly #fanOutRests: TurnRests
  /** Rests after a turn that wrote many messages to few connections. */
  readonly #fanInRests: TurnRests
  /**
   * Rests after any other turn: one that wrote to a crowd of different packets, as acknowledgements
   * of a fan-in are, or one with messages of few publishers.
   */
  readonly #otherRests: TurnRests
  /** The messages sent up to the last flush. */
  #sentUntil = 0
  #awake = new Set<Reader>()
  /** The readers that may go on, and that wait for their tenant's next slice. */
  readonly #held = new Map<Reader, TurnJob>()
  /** The shares of the tenants whose readers went on a short time ago. */
  readonly #tenants = new Map<string, TurnShare>()
  #flushing: Flushable[] = []
  #isPlanned = false
  /** When the gathering began; undefined: nothing is gathered. */
  #gatheringSince: SteadyMs | undefined = undefined
  /** The bytes received up to the last turn of the gathering. */
  #receivedBytes = 0

  constructor(clock: Clock, shares: TurnShares, counters: TurnCounters, goOn: (reader: Reader) => void) {
    this.#counters = counters
    this.#fanOutRests = new TurnRests({
      clock,
      counters,
      isWorth: ({ workPerMs }) => workPerMs >= BUSY_WRITES_PER_MS,
    })
    this.#fanInRests = new TurnRests({
      clock,
      counters,
      isWorth: ({ workPerMs }) => workPerMs >= BUSY_MESSAGES_PER_MS,
    })
    this.#otherRests = new TurnRests({
      clock,
      counters,
      isWorth: (without) => without.messagesOfAChunk < LARGE_CHUNK && (isBusyCrowd(without) || isBusySource(without)),
      isHelped: (rested, without) =>
        isBusyCrowd(without) || rested.messagesOfAChunk >= BUSY_SOURCE.growth * without.messagesOfAChunk,
    })
    this.#clock = clock
    this.#shares = shares
    this.#goOn = goOn
  }

  /** A change may let the reader take more. */
  wake(reader: Reader): void {
    if (this.#held.has(reader)) return
    this.#awake.add(reader)
    this.#plan()
  }

  forget(reader: Reader): void {
    this.#awake.delete(reader)
    const job = this.#held.get(reader)
    if (job === undefined) return
    this.#held.delete(reader)
    this.#shares.forget(this.#shareOf(reader), job)
  }

  /** Counts time that the reader took, or is about to take, beside `goOn`. */
  spend(reader: Reader, ms: number): void {
    this.#shares.spend(this.#shareOf(reader), ms)
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
      for (const reader of awake) this.#goOnInTurn(reader)
      this.#forgetIdleTenants()
    }
    if (this.#gathersOn()) this.#plan()
    else this.#flush()
  }

  /** True while the messages wait for others: the last turn brought some, and there is time. */
  #gathersOn(): boolean {
    if (this.#gatheringSince === undefined) return false
    const { bytesReceived } = this.#counters
    const isMore = bytesReceived !== this.#receivedBytes
    this.#receivedBytes = bytesReceived
    if (isMore && this.#clock.steady() - this.#gatheringSince < GATHER_MS) return true
    this.#gatheringSince = undefined
    return false
  }

  #goOnInTurn(reader: Reader): void {
    const share = this.#shareOf(reader)
    if (share.isFree) {
      this.#goOnNow(reader, share)
      return
    }
    const job = {
      goOn: (): void => {
        this.#held.delete(reader)
        this.#goOnNow(reader, share)
      },
    }
    this.#held.set(reader, job)
    this.#shares.wait(share, job)
  }

  #goOnNow(reader: Reader, share: TurnShare): void {
    const from = this.#clock.steady()
    this.#goOn(reader)
    this.#shares.spend(share, this.#clock.steady() - from)
  }

  #shareOf({ tenant }: Reader): TurnShare {
    let share = this.#tenants.get(tenant)
    if (share === undefined) {
      share = new TurnShare()
      this.#tenants.set(tenant, share)
    }
    return share
  }

  #forgetIdleTenants(): void {
    for (const [tenant, share] of this.#tenants) if (share.isIdle) this.#tenants.delete(tenant)
  }

  #flush(): void {
    const flushing = this.#flushing
    this.#flushing = []
    const { publishesSent } = this.#counters
    const messages = publishesSent - this.#sentUntil
    this.#sentUntil = publishesSent
    if (flushing.length < CROWD) {
      for (const connection of flushing) connection.flush()
      this.lastJoin.forget()
      if (messages === 0) return
      if (messages >= FAN_IN * flushing.length) this.#fanInRests.rest(messages)
      else this.#otherRests.rest(0)
      return
    }
    this.#flushCrowd(flushing)
    const { sharedWrites } = this.lastJoin
    this.lastJoin.forget()
    if (sharedWrites >= CROWD) {
      if (this.#fanOutRests.rest(sharedWrites)) return
    } else if (messages > 0 && this.#otherRests.rest(messages >= BUSY_TURN ? messages : 0)) return
    this.#gatheringSince = this.#clock.steady()
    this.#receivedBytes = this.#counters.bytesReceived
    this.#plan()
  }

  #flushCrowd(flushing: readonly Flushable[]): void {
    const clock = this.#clock
    let from = clock.steady()
    for (const connection of flushing) {
      const { share } = connection
      if (!share.isFree) {
        this.#shares.wait(share, { goOn: () => this.#flushHeld(connection) })
        continue
      }
      connection.flush()
      const now = clock.steady()
      this.#shares.spend(share, now - from)
      from = now
    }
  }

  #flushHeld(connection: Flushable): void {
    const from = this.#clock.steady()
    connection.flush()
    this.#shares.spend(connection.share, this.#clock.steady() - from)
    // Nothing of the turn stays behind in the joined buffer.
    this.#plan()
  }
}

/** Turns that wrote many packets to a crowd follow each other. */
function isBusyCrowd({ workPerMs }: StreamFigures): boolean {
  return workPerMs >= BUSY_CROWD_MESSAGES_PER_MS
}

/** Messages pass, and take much of the process's time. */
function isBusySource({ messagesPerMs, busyShare }: StreamFigures): boolean {
  return messagesPerMs >= BUSY_SOURCE.messagesPerMs && busyShare >= BUSY_SOURCE.share
}
