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
  readonly counters: Pick<Counters, 'publishesSent'>
  /** The rests begin with so much work in a ms. A stream with less costs others no rest. */
  readonly workPerMs: number
}

/** The messages that were sent in a ms, the CPU time of each, and the work in a ms. */
interface Figures {
  readonly messagesPerMs: number
  readonly cpuPerMessage: number
  readonly workPerMs: number
}

export class TurnRests {
  readonly #options: TurnRestsOptions
  readonly #trial: Trial<Figures>
  /** The CPU time taken and the messages sent until the figures were counted last. */
  #cpuUntil: number
  #sentUntil: number
  /** The work since then. */
  #work = 0

  constructor(options: TurnRestsOptions) {
    const { clock, counters, workPerMs } = options
    this.#options = options
    this.#cpuUntil = clock.cpu()
    this.#sentUntil = counters.publishesSent
    this.#trial = new Trial({
      clock,
      countedMs: COUNTED_MS,
      decidedMs: DECIDED_MS,
      count: (elapsedMs) => this.#count(elapsedMs),
      isWorth: (without) => without.workPerMs >= workPerMs,
      isBetter: (rested, [before, after]) =>
        2 * rested.messagesPerMs >= KEPT_SHARE * (before.messagesPerMs + after.messagesPerMs) &&
        2 * rested.cpuPerMessage <= CPU_SHARE * (before.cpuPerMessage + after.cpuPerMessage),
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

  #count(elapsedMs: number): Figures {
    const { clock, counters } = this.#options
    const messages = counters.publishesSent - this.#sentUntil
    const cpu = clock.cpu()
    const figures = {
      messagesPerMs: messages / elapsedMs,
      cpuPerMessage: (cpu - this.#cpuUntil) / messages,
      workPerMs: this.#work / elapsedMs,
    }
    this.#work = 0
    this.#cpuUntil = cpu
    this.#sentUntil = counters.publishesSent
    return figures
  }
}
