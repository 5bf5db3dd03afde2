/**
 * The event loop's time, in slices for each account. An account is a tenant, or a network server of
 * the whole deployment. Within one turn of the event loop the connections of an account together
 * work for one slice. Work beyond the slice waits, and goes on in the next turns. So an account
 * that floods delays the others by slices, and not by all of its work.
 *
 * Nothing is lost while one account alone has work: its next turn begins at once.
 */
import type { Clock } from '../../clock.ts'

/**
 * The time of one account within a turn. A message passes about four turns on its way from its
 * publisher to its subscriber, and each may be delayed by a slice. A shorter slice would spend more
 * time on the turns themselves, which take about 20 µs each.
 */
export const SLICE_MS = 2
/**
 * The time of all accounts whose work waits, within a turn. Beyond it the next account has to wait
 * for the next turn. Many accounts that flood then take no longer turns than two of them.
 */
const WAITING_MS = 2 * SLICE_MS

/**
 * The most that is counted as time of one account. The clock goes on while another process has the
 * processor, or while memory is collected, and nobody shall pay for that with a long wait.
 */
const MAXIMUM_SPENT_MS = 8 * SLICE_MS

/** Work that waits for its account's next slice. */
export interface TurnJob {
  /** Works for about as long as the share has time, and waits again if work is left. */
  goOn(): void
}

/** The share of one account. */
export class TurnShare {
  /**
   * The time worked since the last slices were given out. It may be longer than a slice, because
   * one message to many subscribers can take longer: then the account waits for several turns, or
   * until the others have had as much time.
   */
  spentMs = 0
  /** The time worked in the present turn. */
  turnMs = 0
  /** True: its jobs wait until `unpark`, and not for the next turn. */
  isParked = false
  readonly waiting = new Set<TurnJob>()

  /** True while a slice, or some of it, is left. */
  get hasTime(): boolean {
    return this.spentMs < SLICE_MS && !this.isParked
  }

  /** True when new work may begin at once: time is left, and nothing waits for it. */
  get isFree(): boolean {
    return this.waiting.size === 0 && this.hasTime
  }

  /** True when nothing of the share is worth remembering. */
  get isIdle(): boolean {
    return this.spentMs === 0 && this.waiting.size === 0
  }
}

export class TurnShares {
  /** Counts the turns in which an account worked. */
  turn = 0
  readonly #clock: Clock
  /** The shares that worked since slices were given out, or that worked longer than a slice. */
  readonly #spent = new Set<TurnShare>()
  /** The shares with jobs that wait for a turn; the one that waits longest first. */
  readonly #waiting = new Set<TurnShare>()
  #isPlanned = false
  /** When the present turn was planned to end. */
  #begunAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts time that the account worked. */
  spend(share: TurnShare, ms: number): void {
    if (ms <= 0) return
    share.spentMs = Math.min(share.spentMs + ms, MAXIMUM_SPENT_MS)
    share.turnMs += ms
    this.#spent.add(share)
    this.plan()
  }

  /** The job goes on in one of the next turns, behind the jobs of its account that wait already. */
  wait(share: TurnShare, job: TurnJob): void {
    share.waiting.add(job)
    if (share.isParked) return
    this.#waiting.add(share)
    this.plan()
  }

  /** The job waits no more: its connection has ended. */
  forget(share: TurnShare, job: TurnJob): void {
    if (share.waiting.delete(job) && share.waiting.size === 0) this.#waiting.delete(share)
  }

  /** The jobs of the share wait until `unpark`. */
  park(share: TurnShare): void {
    share.isParked = true
    this.#waiting.delete(share)
  }

  unpark(share: TurnShare): void {
    share.isParked = false
    if (share.waiting.size === 0) return
    this.#waiting.add(share)
    this.plan()
  }

  /** Plans the end of the present turn, at which `turn` grows. */
  plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#begunAt = this.#clock.steady()
    this.#clock.afterTurn(() => this.#next())
  }

  #next(): void {
    this.#isPlanned = false
    this.turn += 1
    const elapsedMs = this.#clock.steady() - this.#begunAt
    for (const share of this.#spent) {
      // Handshakes, HTTP and the log take time of a turn, too. Long turns make no long waits.
      share.spentMs -= Math.max(SLICE_MS, elapsedMs - share.turnMs)
      share.turnMs = 0
      if (share.spentMs > 0) continue
      share.spentMs = 0
      this.#spent.delete(share)
    }
    if (this.#waiting.size > 0) this.#goOn()
    if (this.#spent.size > 0 || this.#waiting.size > 0) this.plan()
  }

  #goOn(): void {
    const endsAt = this.#clock.steady() + WAITING_MS
    let left = this.#waiting.size
    for (const share of this.#waiting) {
      if (left === 0) return
      left -= 1
      this.#work(share)
      // A share with jobs left moves to the end: it comes last in the next turn.
      this.#waiting.delete(share)
      if (share.waiting.size > 0 && !share.isParked) this.#waiting.add(share)
      if (this.#clock.steady() >= endsAt) return
    }
  }

  #work(share: TurnShare): void {
    // Each job that waits now has one go at most: a job whose work takes no time, and that waits
    // again each time, would never let the turn end.
    let left = share.waiting.size
    for (const job of share.waiting) {
      if (!share.hasTime || left === 0) return
      left -= 1
      share.waiting.delete(job)
      job.goOn()
    }
  }
}
