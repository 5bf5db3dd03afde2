/**
 * Rests of the event loop while a stream of messages passes that are cheaper together. In a rest of
 * one ms further messages arrive, and the next turn takes them at once: with fewer system calls,
 * and with one TLS record for each connection in the place of several.
 *
 * A publisher that waits for its acknowledgements may send less for it, and not every stream costs
 * less. So the messages and the CPU time are counted first without rests and then with them. The
 * rests end when fewer messages go out, or when a message takes as much CPU time as before.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Counters } from '../ports/counters.ts'

/** The length of a rest. It is the longest time that a message waits for it. */
const REST_MS = 1
/** Messages are counted for this long without rests, and then for as long with them. */
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

export class TurnRests {
  readonly #options: TurnRestsOptions
  #phase: 'counting' | 'trying' | 'resting' | 'awake' = 'counting'
  /** When the phase began, and the CPU time taken and the messages sent until then. */
  #since: SteadyMs
  #cpuUntil: number
  #sentUntil: number
  /** The work in this phase. */
  #work = 0
  /** The messages that were sent in a ms without rests, and the CPU time of each. */
  #messagesPerMs = 0
  #cpuPerMessage = 0

  constructor(options: TurnRestsOptions) {
    this.#options = options
    this.#since = options.clock.steady()
    this.#cpuUntil = options.clock.cpu()
    this.#sentUntil = options.counters.publishesSent
  }

  /**
   * Called after a turn with so much work that is cheaper together. True: the event loop has
   * rested.
   */
  rest(work: number): boolean {
    this.#work += work
    this.#decide()
    if (this.#phase === 'counting' || this.#phase === 'awake') return false
    this.#options.clock.rest(REST_MS)
    return true
  }

  #decide(): void {
    const { clock, counters, workPerMs } = this.#options
    const phase = this.#phase
    const isDecided = phase === 'resting' || phase === 'awake'
    const now = clock.steady()
    const elapsedMs = now - this.#since
    if (elapsedMs < (isDecided ? DECIDED_MS : COUNTED_MS)) return
    const messages = counters.publishesSent - this.#sentUntil
    const messagesPerMs = messages / elapsedMs
    const cpu = clock.cpu()
    const cpuPerMessage = (cpu - this.#cpuUntil) / messages
    const isBusy = this.#work >= workPerMs * elapsedMs
    this.#work = 0
    this.#since = now
    this.#cpuUntil = cpu
    this.#sentUntil = counters.publishesSent
    if (isDecided) this.#phase = 'counting'
    else if (phase === 'trying') {
      const isAsMuch = messagesPerMs >= KEPT_SHARE * this.#messagesPerMs
      this.#phase = isAsMuch && cpuPerMessage <= CPU_SHARE * this.#cpuPerMessage ? 'resting' : 'awake'
    } else if (isBusy) {
      this.#phase = 'trying'
      this.#messagesPerMs = messagesPerMs
      this.#cpuPerMessage = cpuPerMessage
    }
  }
}
