/**
 * A scheduler that owns all concurrency of a run: every step of it is a choice among the events
 * that may come next. A run is repeated exactly by the list of its choices.
 */

/** Events that happen in their order, such as the messages from one node to another. */
export interface Channel {
  readonly name: string
  /** False: its events wait. */
  readonly isOpen: () => boolean
}

/** An event that may come next. */
export interface Event {
  readonly label: string
  readonly run: () => void | Promise<void>
}

/** The choice of one step that is not the first option, by the numbers of step and option. */
export type Deviation = readonly [step: number, option: number]

/** Decides a step: the number of an option below the width. Option 0 is the usual one. */
export type Chooser = (step: number, width: number) => number

interface Posted extends Event {
  readonly order: number
}

interface Timer {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

/** More steps than any run needs: a run that goes on is a fault. */
const MAXIMUM_STEPS = 20_000
/** Timers that patient events wait for: somebody may look for something again and again. */
const MAXIMUM_WAITS = 100

export class Schedule {
  /** Time of the run, ms. */
  nowMs = Date.UTC(2026, 0, 1)
  /** The widths of the steps at which there was a choice. */
  readonly widths: number[] = []
  /** The events so far, for people. */
  readonly trace: string[] = []
  /** Events that a run may have instead of the usual ones, at each step. */
  faults: () => readonly Event[] = () => []
  /** Called when a second has passed. */
  second: () => void = () => {}
  /** Called after each step. True: it has begun something. */
  stepped: () => boolean = () => false
  readonly #choose: Chooser
  readonly #channels = new Map<Channel, Posted[]>()
  /** Events of these channels come when nothing else is left, unless the run chooses them. */
  readonly #patient = new Set<Channel>()
  /** Channels whose next event comes behind everything else. */
  readonly #late = new Set<Channel>()
  readonly #turns: (() => void)[] = []
  readonly #timers: Timer[] = []
  #order = 0
  #steps = 0
  #nextSecondMs = this.nowMs + 1_000
  #isChoosing = false
  /** Timers that have run since anything else happened. */
  #waits = 0

  constructor(choose: Chooser) {
    this.#choose = choose
  }

  /** The events of the channel come last. */
  letWait(channel: Channel): void {
    this.#patient.add(channel)
  }

  post(channel: Channel, label: string, run: () => void): void {
    const events = this.#channels.get(channel) ?? []
    this.#channels.set(channel, events)
    events.push({ label, run, order: (this.#order += 1) })
  }

  hasPosted(channel: Channel): boolean {
    return (this.#channels.get(channel)?.length ?? 0) > 0
  }

  /** Takes the next event of a channel away. */
  lose(channel: Channel): void {
    this.#channels.get(channel)?.shift()
    this.#late.delete(channel)
  }

  /** The open channels that have events, with the label of the next one. */
  *waiting(): Generator<readonly [channel: Channel, label: string]> {
    for (const [channel, [first]] of this.#channels) {
      if (first !== undefined && channel.isOpen()) yield [channel, first.label]
    }
  }

  afterTurn(run: () => void): void {
    this.#turns.push(run)
  }

  after(ms: number, run: () => void): () => void {
    const timer = { atMs: this.nowMs + ms, order: (this.#order += 1), run }
    this.#timers.push(timer)
    return () => {
      const index = this.#timers.indexOf(timer)
      if (index !== -1) this.#timers.splice(index, 1)
    }
  }

  /** Runs events, with a choice at each step, until `isOver`, or until nothing is left to do. */
  async explore(isOver: () => boolean): Promise<void> {
    this.#isChoosing = true
    await this.#run(isOver, 30_000)
    this.#isChoosing = false
    this.#late.clear()
  }

  /** Runs events in the usual order until `isOver`; throws when the time (ms) has passed. */
  async settle(isOver: () => boolean, what: string, withinMs = 60_000): Promise<void> {
    await this.#run(isOver, withinMs)
    if (!isOver()) throw new Error(`after ${withinMs} ms not there: ${what}`)
  }

  /** Lets time pass, with all timers and ticks, and with all events that come meanwhile. */
  async pass(ms: number): Promise<void> {
    const until = this.nowMs + ms
    await this.#run(() => this.nowMs >= until, ms + 1_000)
  }

  /** Lets time pass while all events wait. */
  async stall(ms: number): Promise<void> {
    const until = this.nowMs + ms
    while (this.nowMs < until) {
      this.#advance(until)
      await this.#drain()
    }
  }

  async #run(isOver: () => boolean, withinMs: number): Promise<void> {
    const until = this.nowMs + withinMs
    for (;;) {
      do await this.#drain()
      while (this.stepped())
      if (isOver()) return
      if ((this.#steps += 1) > MAXIMUM_STEPS) throw new Error(`more than ${MAXIMUM_STEPS} steps`)
      const options: Event[] = this.#options()
      if (this.#isChoosing) options.push(...this.faults())
      const option = this.#isChoosing && options.length > 1 ? this.#chooseOf(options.length) : 0
      const chosen = options[option]
      if (chosen !== undefined) {
        if (this.#isChoosing) this.trace.push(`${option === 0 ? ' ' : '*'} ${chosen.label}`)
        await chosen.run()
      } else if (this.nowMs >= until) return
      else this.#advance(until)
    }
  }

  #options(): Event[] {
    const heads: (Posted & { readonly rank: number; readonly channel: Channel })[] = []
    for (const [channel, [first]] of this.#channels) {
      if (first === undefined || !channel.isOpen()) continue
      heads.push({ ...first, channel, rank: this.#late.has(channel) ? 2 : this.#patient.has(channel) ? 1 : 0 })
    }
    heads.sort((one, other) => one.rank - other.rank || one.order - other.order)
    const options: Event[] = heads.map(({ label, run, channel }) => ({
      label,
      run: () => {
        this.lose(channel)
        return run()
      },
    }))
    const [usual] = heads
    if (usual?.rank === 0) this.#waits = 0
    // Timers come before the patient events.
    const next = this.#nextTimer()
    const isSoon = next !== undefined && next.atMs <= this.nowMs + 1_000
    if (usual?.rank === 1 && isSoon && this.#waits < MAXIMUM_WAITS) {
      // Late events come before time passes: somebody may look for it again and again.
      if (this.#late.size > 0) {
        this.#late.clear()
        return this.#options()
      }
      options.unshift({
        label: 'time passes',
        run: () => {
          this.#waits += 1
          this.#advance(next.atMs)
        },
      })
    }
    if (this.#isChoosing && usual?.rank === 0) {
      options.push({ label: `late: ${usual.label}`, run: () => void this.#late.add(usual.channel) })
    }
    return options
  }

  #chooseOf(width: number): number {
    const option = this.#choose(this.widths.length, width)
    this.widths.push(width)
    return Math.min(option, width - 1)
  }

  #nextTimer(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (next === undefined || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order)) {
        next = timer
      }
    }
    return next
  }

  /** Goes on to the next timer or second, at most until then. */
  #advance(until: number): void {
    const next = this.#nextTimer()
    const at = Math.min(next?.atMs ?? Infinity, this.#nextSecondMs, until)
    this.nowMs = Math.max(this.nowMs, at)
    if (next !== undefined && next.atMs <= this.nowMs) {
      this.#timers.splice(this.#timers.indexOf(next), 1)
      next.run()
    } else if (this.nowMs >= this.#nextSecondMs) {
      this.#nextSecondMs += 1_000
      this.second()
    }
  }

  /** Lets all promises and turns run that need no event. */
  async #drain(): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => void setImmediate(resolve))
      const turns = this.#turns.splice(0)
      if (turns.length === 0) return
      for (const run of turns) run()
    }
  }
}
