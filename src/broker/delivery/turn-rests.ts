/**
 * Rests of the event loop while a stream of messages passes that are cheaper together. In a rest of
 * one ms further messages arrive, and the next turn takes them at once: with fewer system calls,
 * and with one TLS record for each connection in the place of several.
 *
 * A publisher that waits for its acknowledgements may send less for it, and not every stream costs
 * less. So rests are a trial: messages and CPU time are counted with rests and without them. The
 * rests end when fewer messages go out, or when a message takes as much CPU time as without rests.
 */
import type { Clock } from '../../clock.ts'
import { Trial } from '../../trial.ts'
import type { Counters } from '../ports/counters.ts'

/** The length of a rest. It is the longest time that a message waits for it. */
const REST_MS = 1
/** Messages are counted for this long without rests, and for as long with them. */
const COUNTED_MS = 50
/** The rests go on when at least this share of the messages is sent with them. */
const KEPT_SHARE = 0.8
/** The rests go on when a message takes at most this share of the CPU time with them. */
const CPU_SHARE = 0.95
/** The decision holds for this long. Then the messages are counted again. */
const DECIDED_MS = 1_000

export interface TurnRestsOptions {
  readonly clock: Pick<Clock, 'steady' | 'cpu' | 'rest'>
  readonly counters: Pick<Counters, 'publishesSent' | 'publishesReceived' | 'publishingChunks'>
  /**
   * True: rests are tried on the stream of these figures. Any other stream costs others no rest.
   */
  isWorth(without: StreamFigures): boolean
  /**
   * True: the rests can be why a message takes less CPU time. CPU times vary, and a stream that
   * does not change with rests must not have them by chance.
   */
  isHelped?(rested: StreamFigures, without: StreamFigures): boolean
}

/** The stream of all messages within some time. */
export interface StreamFigures {
  /** The messages that were sent in a ms. */
  readonly messagesPerMs: number
  /** The CPU time of the process in a ms, in ms. */
  readonly busyShare: number
  /** The work that `rest` was told of, in a ms. */
  readonly workPerMs: number
  /** The messages that came in one piece of a client's byte stream. */
  readonly messagesOfAChunk: number
}

/** The counts when the figures were counted last. */
interface Counts {
  readonly cpuMs: number
  readonly sent: number
  readonly received: number
  readonly chunks: number
}

export class TurnRests {
  readonly #options: TurnRestsOptions
  readonly #trial: Trial<StreamFigures>
  #last: Counts
  /** The work since then. */
  #work = 0

  constructor(options: TurnRestsOptions) {
    this.#options = options
    this.#last = this.#counts()
    this.#trial = new Trial({
      clock: options.clock,
      countedMs: COUNTED_MS,
      decidedMs: DECIDED_MS,
      count: (elapsedMs) => this.#count(elapsedMs),
      isWorth: (without) => options.isWorth(without),
      isBetter: (rested, [before, after]) =>
        2 * rested.messagesPerMs >= KEPT_SHARE * (before.messagesPerMs + after.messagesPerMs) &&
        2 * cpuPerMessage(rested) <= CPU_SHARE * (cpuPerMessage(before) + cpuPerMessage(after)) &&
        options.isHelped?.(rested, after) !== false,
    })
  }

  /**
   * Called after a turn with so much work that is cheaper together. True: the event loop has
   * rested.
   */
  rest(work: number): boolean {
    this.#work += work
    if (!this.#trial.step()) return false
    this.#options.clock.rest(REST_MS)
    return true
  }

  #count(elapsedMs: number): StreamFigures {
    const last = this.#last
    const counts = this.#counts()
    const work = this.#work
    this.#last = counts
    this.#work = 0
    return {
      messagesPerMs: (counts.sent - last.sent) / elapsedMs,
      busyShare: (counts.cpuMs - last.cpuMs) / elapsedMs,
      workPerMs: work / elapsedMs,
      messagesOfAChunk: (counts.received - last.received) / (counts.chunks - last.chunks),
    }
  }

  #counts(): Counts {
    const { clock, counters } = this.#options
    return {
      cpuMs: clock.cpu(),
      sent: counters.publishesSent,
      received: counters.publishesReceived,
      chunks: counters.publishingChunks,
    }
  }
}

function cpuPerMessage({ busyShare, messagesPerMs }: StreamFigures): number {
  return busyShare / messagesPerMs
}
