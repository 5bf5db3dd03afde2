/**
 * The processor time that the scripts of each organization take. An organization has a bound on it,
 * on average over ten seconds. An organization with a slow script is known as slow for a while, so
 * that slow organizations never have all processes.
 */
import type { Clock, SteadyMs } from '../../clock.ts'

/** The time over which the use is an average. An organization may use this much at once. */
const AVERAGE_MS = 10_000
const AVERAGE_SECONDS = AVERAGE_MS / 1_000

/**
 * A run of a script that takes longer is slow. An uplink takes some 0.1 ms, and using up the memory
 * of a script 13 ms.
 */
const SLOW_RUN_MS = 10

/**
 * A run that loads its script first is slow when it takes longer. Loading a script of 65,536
 * characters takes 15 ms.
 */
const SLOW_LOADING_MS = 25

/**
 * The time of slow runs after which an organization is known as slow: one endless loop, or at
 * most eight runs that are slow.
 */
const SLOW_RUNS_MS = 75

/**
 * How long slow runs are remembered, from the last one on. Each time that they are forgotten, a
 * hostile organization may hold a further process for one run.
 */
const SLOW_MEMORY_MS = 900_000

/**
 * An organization is known as quick after so many runs of at most `QUICK_RUN_MS`. A longer run,
 * which a busy machine causes now and then, takes some of them back, and a slow run all of them.
 * Stops an organization whose scripts nobody knows from delaying others.
 */
const QUICK_RUNS = 256
const MOST_QUICK_RUNS = 512
const QUICK_RUN_MS = 2
const LOST_QUICK_RUNS = 32

/** A use below this is none: it would be shown as 0. */
const LEAST_MS_PER_SECOND = 0.5

/**
 * Organizations whose use is remembered, some 100 bytes each. At the bound the use is forgotten
 * that was noted first.
 */
const MAXIMUM_REMEMBERED = 10_000

interface Use {
  /** The time used, at the moment `atMs`. It fades with the time that passes. */
  usedMs: number
  atMs: SteadyMs
  /** The time of slow runs, until `slowUntilMs`. */
  slowMs: number
  slowUntilMs: number
  /** Quick runs, less those that longer runs have taken back. Runs with a load do not count. */
  quickRuns: number
}

export interface CodecTimeOptions {
  readonly clock: Pick<Clock, 'steady'>
  /** The bound of an organization, in ms of a processor in a second. */
  readonly boundOf: (organizationId: string) => number
}

/** The use of all organizations. */
export class CodecTime {
  readonly #clock: CodecTimeOptions['clock']
  readonly #boundOf: CodecTimeOptions['boundOf']
  readonly #uses = new Map<string, Use>()

  constructor({ clock, boundOf }: CodecTimeOptions) {
    this.#clock = clock
    this.#boundOf = boundOf
  }

  /** Notes a run of a script, which may have been loaded for this run. */
  spend(organizationId: string, ms: number, wasLoaded = false): void {
    const atMs = this.#clock.steady()
    const use = this.#uses.get(organizationId) ?? this.#remember(organizationId, atMs)
    use.usedMs = fadedMs(use, atMs) + ms
    use.atMs = atMs
    const gained = ms <= QUICK_RUN_MS ? 1 : -LOST_QUICK_RUNS
    if (!wasLoaded) use.quickRuns = Math.max(0, Math.min(use.quickRuns + gained, MOST_QUICK_RUNS))
    if (ms <= (wasLoaded ? SLOW_LOADING_MS : SLOW_RUN_MS)) return
    use.quickRuns = 0
    use.slowMs = ms + (use.slowUntilMs > atMs ? use.slowMs : 0)
    use.slowUntilMs = atMs + SLOW_MEMORY_MS
  }

  /** True when a script of the organization may run. */
  hasTime(organizationId: string): boolean {
    return this.msPerSecond(organizationId) < this.#boundOf(organizationId)
  }

  /** The bound of the organization, in ms of a processor in a second. */
  boundOf(organizationId: string): number {
    return this.#boundOf(organizationId)
  }

  /** The use of the organization, in ms of a processor in a second. */
  msPerSecond(organizationId: string): number {
    const use = this.#uses.get(organizationId)
    return use === undefined ? 0 : fadedMs(use, this.#clock.steady()) / AVERAGE_SECONDS
  }

  /** True for some time after slow runs of the organization. */
  isSlow(organizationId: string): boolean {
    const use = this.#uses.get(organizationId)
    return use !== undefined && use.slowMs >= SLOW_RUNS_MS && use.slowUntilMs > this.#clock.steady()
  }

  /** True after many quick runs of the organization: its jobs may run together with others'. */
  isQuick(organizationId: string): boolean {
    return (this.#uses.get(organizationId)?.quickRuns ?? 0) >= QUICK_RUNS && !this.isSlow(organizationId)
  }

  /** Nobody knows the organization as quick any more. */
  distrust(organizationId: string): void {
    const use = this.#uses.get(organizationId)
    if (use !== undefined) use.quickRuns = 0
  }

  /** The organizations whose scripts have run lately. */
  *organizations(): Generator<string> {
    for (const organizationId of this.#uses.keys()) {
      if (this.msPerSecond(organizationId) >= LEAST_MS_PER_SECOND) yield organizationId
    }
  }

  #remember(organizationId: string, atMs: SteadyMs): Use {
    if (this.#uses.size >= MAXIMUM_REMEMBERED) this.#forget()
    const use = { usedMs: 0, atMs, slowMs: 0, slowUntilMs: 0, quickRuns: 0 }
    this.#uses.set(organizationId, use)
    return use
  }

  /** Forgets the use that has faded. Where there is none, forgets the use that was noted first. */
  #forget(): void {
    let first: string | undefined
    for (const organizationId of this.#uses.keys()) {
      first ??= organizationId
      if (this.isSlow(organizationId) || this.msPerSecond(organizationId) >= LEAST_MS_PER_SECOND) continue
      this.#uses.delete(organizationId)
    }
    if (first !== undefined && this.#uses.size >= MAXIMUM_REMEMBERED) this.#uses.delete(first)
  }
}

/** The time used, as far as it counts now. So at the bound, an organization may use its bound. */
function fadedMs({ usedMs, atMs }: Use, nowMs: SteadyMs): number {
  return usedMs * Math.exp((atMs - nowMs) / AVERAGE_MS)
}
