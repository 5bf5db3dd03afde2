/**
 * Rests of the event loop while a stream of messages goes to a crowd. Each message that is written
 * by itself takes a TLS record and a system call for each connection of the crowd. In a rest of one
 * ms further messages arrive, and are written together.
 *
 * A publisher that waits for its acknowledgements would send less for it. So the messages are
 * counted first without rests and then with them, and the rests end when fewer go out.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Counters } from '../ports/counters.ts'

type SentCounter = Pick<Counters, 'publishesSent'>

/** The length of a rest. It is the longest time that a message waits for it. */
const REST_MS = 1
/**
 * The rests begin with so many writes to crowds in a ms. They take a quarter of the processor time.
 * Crowds with less to do cost others no rest.
 */
const STREAM_WRITES_PER_MS = 50
/** Messages are counted for this long without rests, and then for as long with them. */
const COUNTED_MS = 50
/** The rests go on when at least this share of the messages is sent with them. */
const KEPT_SHARE = 0.8
/** The decision holds for this long. Then the messages are counted again. */
const DECIDED_MS = 1_000

export class FanOutRests {
  readonly #clock: Clock
  readonly #counters: SentCounter
  #phase: 'counting' | 'trying' | 'resting' | 'awake' = 'counting'
  /** When the phase began, and the number of messages sent until then. */
  #since: SteadyMs
  #sentUntil: number
  /** The writes to crowds in this phase. */
  #writes = 0
  /** The messages that were sent in a ms without rests. */
  #messagesPerMs = 0

  constructor(clock: Clock, counters: SentCounter) {
    this.#clock = clock
    this.#counters = counters
    this.#since = clock.steady()
    this.#sentUntil = counters.publishesSent
  }

  /** So many connections were written the same bytes. True: the event loop has rested. */
  rest(written: number): boolean {
    this.#writes += written
    this.#decide()
    if (this.#phase === 'counting' || this.#phase === 'awake') return false
    this.#clock.rest(REST_MS)
    return true
  }

  #decide(): void {
    const phase = this.#phase
    const isDecided = phase === 'resting' || phase === 'awake'
    const now = this.#clock.steady()
    const elapsedMs = now - this.#since
    if (elapsedMs < (isDecided ? DECIDED_MS : COUNTED_MS)) return
    const { publishesSent } = this.#counters
    const messagesPerMs = (publishesSent - this.#sentUntil) / elapsedMs
    const writesPerMs = this.#writes / elapsedMs
    this.#writes = 0
    this.#since = now
    this.#sentUntil = publishesSent
    if (isDecided) this.#phase = 'counting'
    else if (phase === 'trying') {
      this.#phase = messagesPerMs < KEPT_SHARE * this.#messagesPerMs ? 'awake' : 'resting'
    } else if (writesPerMs >= STREAM_WRITES_PER_MS) {
      this.#phase = 'trying'
      this.#messagesPerMs = messagesPerMs
    }
  }
}
