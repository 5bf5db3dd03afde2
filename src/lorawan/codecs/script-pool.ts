/**
 * The processes in which tenants' scripts run. They start with the first job, and take one job at a
 * time, or several of one organization, or of several that are known as quick. A process whose job
 * does not come to an end is killed and replaced: nothing else stops every loop under every
 * runtime. `FairQueue` decides which job is next.
 */
import { createHash } from 'node:crypto'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import { startHelper } from '../../helper-process.ts'
import type { HelperProcess } from '../../helper-process.ts'
import { programFile } from '../../installation.ts'
import type { Logger } from '../../logger.ts'
import { CodecTime } from './codec-time.ts'
import { FairQueue } from './fair-queue.ts'
import type { TakenJob } from './fair-queue.ts'
import { Gathering } from './gathering.ts'
import { LoadedScripts } from './loaded-scripts.ts'
import { Quarantine } from './quarantine.ts'
import type { ScriptCall } from './sandbox.ts'
import {
  ASSURED_WAITING_KIB_PER_ORGANIZATION,
  FEW_TOGETHER,
  HARD_TIME_MS,
  MAXIMUM_TOGETHER,
  MAXIMUM_KNOWN_SCRIPTS,
  MAXIMUM_KNOWN_SCRIPT_LENGTH,
  MAXIMUM_WAITING_KIB,
  MAXIMUM_WAITING_KIB_PER_APPLICATION,
  MAXIMUM_WAITING_KIB_PER_ORGANIZATION,
  PROCESS_COST_MS,
  PROCESS_HEAP_MB,
  PROCESS_START_MS,
} from './script-limits.ts'
import { scriptFault } from './script-outcome.ts'
import type { ScriptOutcome } from './script-outcome.ts'
import type { ProcessJob, ProcessJobs, ProcessMessage } from './script-process.ts'

/** A script to be run for an application. */
export interface ScriptJob {
  /** Time is shared fairly between organizations first. */
  readonly organizationId: string
  /** The application and the purpose of the script. The jobs of a key run in their order. */
  readonly key: string
  readonly script: string
  readonly call: ScriptCall
  /** True for a job that may wait some ms for others, so that they go to a process together. */
  readonly mayGather?: boolean
}

/** The outcome of a job, and how long the process was busy with it. */
export interface ScriptRun {
  readonly outcome: ScriptOutcome
  readonly durationMs: number
}

/**
 * Time, as the pool needs it. Whole milliseconds are enough: the processes measure their own
 * jobs, and the pool measures only those that it kills.
 */
export type PoolClock = Pick<Clock, 'steady' | 'after'>

export interface ScriptPoolOptions {
  /**
   * Processes at most. Where there are several, an organization never has all of them at a time,
   * and organizations with slow scripts never have all of them together. So one is left for the
   * others.
   */
  readonly workers: number
  /**
   * Ms of a processor in a second that the scripts of an organization may take, on average over ten
   * seconds. Without it there is no bound.
   */
  readonly msPerSecondOf?: (organizationId: string) => number
  readonly clock: PoolClock
  readonly log: Logger
}

/** A script as the pool remembers it. */
interface KnownScript {
  readonly text: string
  /** Tells the script from all others. */
  readonly digest: string
}

type ResultsMessage = Extract<ProcessMessage, { readonly kind: 'finished' | 'running' }>

interface WaitingJob extends ScriptJob {
  readonly digest: string
  readonly resolve: (run: ScriptRun) => void
}

/** A process, with the scripts that it has loaded. */
interface ScriptProcess {
  readonly helper: HelperProcess<ProcessJobs>
  readonly scripts: LoadedScripts
  state: 'starting' | 'idle' | 'busy'
  /** In the order in which they run. */
  taken: readonly TakenJob<WaitingJob>[]
  startedMs: SteadyMs
  callOff: () => void
}

const PROGRAM = programFile('src/lorawan/codecs/script-process')

/** A bounded pool of processes that keep this process alive only while a job runs. */
export class ScriptPool {
  /** For telemetry; `waiting` and `workers` are current. */
  readonly counters = { runs: 0, loads: 0, failures: 0, timeouts: 0, kills: 0, refusals: 0, waiting: 0, workers: 0 }
  readonly #maximum: number
  readonly #clock: PoolClock
  readonly #log: Logger
  readonly #queue: FairQueue<WaitingJob>
  readonly #quarantine: Quarantine
  readonly #time: CodecTime
  readonly #processes = new Set<ScriptProcess>()
  readonly #ending = new Set<Promise<unknown>>()
  readonly #known = new BoundedCache<KnownScript>(MAXIMUM_KNOWN_SCRIPTS, {
    maximum: MAXIMUM_KNOWN_SCRIPT_LENGTH,
    sizeOf: ({ text }) => text.length,
  })
  readonly #gathering: Gathering
  /** Whether a job may be among those that wait that does not gather, or has waited already. */
  #isUrgent = false
  #isStarting = false
  #isClosed = false

  constructor({ workers, clock, log, msPerSecondOf = () => Infinity }: ScriptPoolOptions) {
    this.#maximum = workers
    this.#clock = clock
    this.#log = log
    this.#quarantine = new Quarantine(() => clock.steady())
    this.#time = new CodecTime({ clock, boundOf: msPerSecondOf })
    const limits = {
      total: MAXIMUM_WAITING_KIB,
      perOrganization: MAXIMUM_WAITING_KIB_PER_ORGANIZATION,
      perApplication: MAXIMUM_WAITING_KIB_PER_APPLICATION,
      assuredPerOrganization: ASSURED_WAITING_KIB_PER_ORGANIZATION,
      runningPerOrganization: Math.max(1, workers - 1),
    }
    this.#queue = new FairQueue(limits, (organizationId) => this.#time.isSlow(organizationId))
    this.#gathering = new Gathering(clock, () => this.#dispatch())
  }

  /** The processor time that each organization's scripts take. */
  get time(): Pick<CodecTime, 'hasTime' | 'isQuick' | 'isSlow' | 'msPerSecond' | 'organizations'> {
    return this.#time
  }

  /** Runs a script when it is its turn. Never rejects: faults are in the outcome. */
  run(job: ScriptJob): Promise<ScriptRun> {
    if (this.#isClosed) return refused(scriptFault('shutting_down', 'the service is shutting down'))
    const heldBack = this.#heldBack(job)
    if (heldBack !== undefined) return refused(heldBack)
    const { promise, resolve } = Promise.withResolvers<ScriptRun>()
    const { text: script, digest } = this.#knownScript(job.key, job.script)
    const sizeKib = Math.ceil(job.call.input.length / 1024)
    if (!this.#queue.push(job.organizationId, job.key, { ...job, script, digest, resolve }, sizeKib)) {
      this.counters.refusals += 1
      return refused(
        scriptFault('codec_busy', 'too many payloads wait for scripts: of this application, its organization, or all'),
      )
    }
    this.#isUrgent ||= job.mayGather !== true
    this.#gathering.wants(this.#isUrgent || this.#queue.size >= MAXIMUM_TOGETHER)
    return promise
  }

  /** Ends all processes. Waiting and running jobs fail as `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#gathering.close()
    this.#failWaiting('shutting_down', 'the service is shutting down')
    for (const one of this.#processes) {
      this.#end(one, scriptFault('shutting_down', 'the service is shutting down'))
    }
    await Promise.allSettled(this.#ending)
  }

  /** The reason why the script may not run now; undefined when it may. */
  #heldBack({ organizationId, key, script }: ScriptJob): ScriptOutcome | undefined {
    if (!this.#time.hasTime(organizationId)) {
      this.counters.refusals += 1
      const bound = this.#time.boundOf(organizationId)
      const text = `the payload codecs of the organization have used their time: ${bound} ms of a processor in a second (codecMsPerSecond)`
      return scriptFault('codec_time_used', text)
    }
    const heldMs = this.#quarantine.heldMs(key, script)
    if (heldMs === 0) return undefined
    this.counters.refusals += 1
    const seconds = Math.ceil(heldMs / 1000)
    const text = `the script took too long again and again; it is held back for ${seconds} s, or until it is changed`
    return scriptFault('script_quarantined', text)
  }

  /** Each caller may come with a copy of the text. Thousands of waiting jobs share one. */
  #knownScript(key: string, text: string): KnownScript {
    const known = this.#known.get(key)
    if (known?.text === text) return known
    const script = { text, digest: createHash('sha256').update(text).digest('base64') }
    this.#known.set(key, script)
    return script
  }

  #dispatch(): void {
    const maximumOfSlow = this.#maximumOfSlow()
    for (;;) {
      const idle = [...this.#processes].filter(({ state }) => state === 'idle')
      const [first] = idle
      if (first === undefined) break
      const next = this.#queue.next(maximumOfSlow)
      if (next === undefined) break
      if (!this.#mayRun(next)) continue
      const one = idle.find(({ scripts }) => scripts.has(next.job.digest)) ?? first
      this.#hand(one, [next, ...this.#together(next, one, idle.length)])
    }
    this.#isUrgent &&= this.#queue.size > 0
    this.counters.waiting = this.#queue.size
    if (this.#isStarting || this.#processes.size >= this.#maximum) return
    if (this.#queue.hasNext(Math.max(1, this.#maximum - 1))) this.#start()
  }

  /**
   * The jobs that go to a process behind this one. Where one job may take very long, the others
   * must be able to go to another process. Where several processes are idle, each gets its part.
   */
  #together(next: TakenJob<WaitingJob>, { scripts }: ScriptProcess, idle: number): readonly TakenJob<WaitingJob>[] {
    if (this.#time.isSlow(next.organizationId)) return []
    const own = this.#queue.nextTogether(next, MAXIMUM_TOGETHER - 1).filter((one) => this.#mayRun(one))
    if (!this.#time.isQuick(next.organizationId)) return own
    const mayJoin = (organizationId: string, { key, script, digest }: WaitingJob): boolean =>
      this.#time.isQuick(organizationId) &&
      scripts.has(digest) &&
      this.#time.hasTime(organizationId) &&
      this.#quarantine.heldMs(key, script) === 0
    const part = Math.ceil((this.#queue.size + own.length) / idle)
    const maximum = Math.min(Math.max(part, FEW_TOGETHER), MAXIMUM_TOGETHER - 1) - own.length
    return [...own, ...this.#queue.nextOfOthers(next, maximum, mayJoin)]
  }

  /** The job may have come before its script was held back, perhaps with a thousand others. */
  #mayRun(taken: TakenJob<WaitingJob>): boolean {
    const heldBack = this.#heldBack(taken.job)
    if (heldBack === undefined) return true
    this.#queue.finished(taken, 0)
    taken.job.resolve({ outcome: heldBack, durationMs: 0 })
    return false
  }

  /**
   * Jobs that slow organizations may run together. One process that is ready is left for the
   * others, so that these need not even wait for the start of a process.
   */
  #maximumOfSlow(): number {
    if (this.#maximum === 1) return 1
    let ready = 0
    for (const { state } of this.#processes) if (state !== 'starting') ready += 1
    return ready - 1
  }

  #start(): void {
    this.#isStarting = true
    let started: ScriptProcess | undefined
    try {
      const helper = startHelper<ProcessJobs, ProcessMessage>({
        program: PROGRAM,
        heapMb: PROCESS_HEAP_MB,
        onMessage: (message) => {
          if (started === undefined || !this.#processes.has(started)) return
          if (message.kind === 'started') this.#started(started)
          else if (message.kind === 'running') this.#goesOn(started, message)
          else this.#finished(started, message)
        },
        onEnd: (reason) => {
          if (started !== undefined && this.#processes.has(started)) this.#ended(started, reason)
        },
      })
      started = this.#watch(helper)
    } catch (error) {
      this.#isStarting = false
      this.#log.error({ error }, 'codec_worker.start_failed')
      this.#failWaiting('engine_failed', 'the engine for scripts could not be started')
    }
  }

  #watch(helper: HelperProcess<ProcessJobs>): ScriptProcess {
    const started: ScriptProcess = {
      helper,
      scripts: new LoadedScripts(),
      state: 'starting',
      taken: [],
      startedMs: this.#clock.steady(),
      callOff: () => {},
    }
    this.#processes.add(started)
    this.counters.workers = this.#processes.size
    started.callOff = this.#clock.after(PROCESS_START_MS, () =>
      this.#startFailed(started, new Error('it took too long')),
    )
    return started
  }

  /** The process has ended, and the pool has not ended it. */
  #ended(one: ScriptProcess, error: Error): void {
    if (one.state === 'starting') {
      this.#startFailed(one, error)
      return
    }
    this.#log.warn({ error, codec: one.taken[0]?.job.key }, 'codec_worker.ended')
    this.#end(one, scriptFault('engine_failed', 'the script made its engine fail'))
  }

  #started(one: ScriptProcess): void {
    this.#isStarting = false
    one.callOff()
    one.state = 'idle'
    one.helper.release()
    this.#dispatch()
  }

  #startFailed(one: ScriptProcess, error: unknown): void {
    this.#isStarting = false
    this.#log.error({ error }, 'codec_worker.start_failed')
    this.#failWaiting('engine_failed', 'the engine for scripts could not be started')
    this.#end(one, undefined)
  }

  #hand(one: ScriptProcess, taken: readonly TakenJob<WaitingJob>[]): void {
    one.state = 'busy'
    one.taken = taken
    one.startedMs = this.#clock.steady()
    one.callOff = this.#clock.after(HARD_TIME_MS, () => this.#kill(one))
    one.helper.hold()
    const jobs = taken.map(({ organizationId, job: { script, digest, call } }): ProcessJob => {
      const { slot, isNew, dropped } = one.scripts.use(digest, organizationId)
      return { slot, script: isNew ? script : undefined, call, dropped }
    })
    one.helper.send({ jobs })
    this.#gathering.handed()
  }

  #finished(one: ScriptProcess, { results }: ResultsMessage): void {
    one.callOff()
    one.state = 'idle'
    one.helper.release()
    const { taken } = one
    one.taken = []
    this.#putBack(taken.slice(results.length))
    this.#settleAll(one, taken, results)
    if (this.#queue.size > 0) this.#gathering.wants(this.#isUrgent || this.#queue.size >= FEW_TOGETHER)
  }

  /** One of the jobs takes long. The results before it count, and the jobs behind it wait again. */
  #goesOn(one: ScriptProcess, { results }: ResultsMessage): void {
    const { taken } = one
    one.taken = taken.slice(results.length, results.length + 1)
    this.#putBack(taken.slice(results.length + 1))
    this.#settleAll(one, taken, results)
    this.#dispatch()
  }

  #settleAll(
    { scripts }: ScriptProcess,
    taken: readonly TakenJob<WaitingJob>[],
    results: ResultsMessage['results'],
  ): void {
    for (const [index, { outcome, durationMs, processorMs, sizeBytes, wasLoaded }] of results.entries()) {
      const job = taken[index]
      if (job === undefined) break
      if (wasLoaded) this.counters.loads += 1
      scripts.ran(job.job.digest, sizeBytes)
      this.#time.spend(job.organizationId, processorMs, wasLoaded)
      this.#settle(job, outcome, durationMs)
    }
  }

  #putBack(jobs: readonly TakenJob<WaitingJob>[]): void {
    for (const job of jobs.toReversed()) this.#queue.putBack(job)
    this.#isUrgent ||= jobs.length > 0
  }

  #settle(taken: TakenJob<WaitingJob>, outcome: ScriptOutcome, durationMs: number): void {
    this.counters.runs += 1
    if (!outcome.ok) this.counters.failures += 1
    this.#queue.finished(taken, durationMs)
    if (!outcome.ok && outcome.code === 'time_exceeded') {
      this.counters.timeouts += 1
      this.#quarantine.strike(taken.job.key, taken.job.script, 1)
    }
    taken.job.resolve({ outcome, durationMs })
  }

  #kill(one: ScriptProcess): void {
    const { taken } = one
    this.counters.kills += 1
    const [only] = taken
    if (only !== undefined && taken.length === 1) {
      const { organizationId, key, script } = only.job
      // With the strike for its outcome these are three: replacing a process costs some time more.
      this.#quarantine.strike(key, script, 2)
      this.#log.warn({ organizationId, codec: key, durationMs: HARD_TIME_MS }, 'codec_worker.killed')
    }
    this.#end(one, scriptFault('time_exceeded', `the script did not stop within ${HARD_TIME_MS} ms`))
  }

  /** Takes the process out of the pool. Its job, if it has one, ends with the outcome. */
  #end(one: ScriptProcess, outcome: ScriptOutcome | undefined): void {
    one.callOff()
    this.#processes.delete(one)
    this.counters.workers = this.#processes.size
    if (one.state === 'starting') this.#isStarting = false
    const ended = one.helper.kill()
    this.#ending.add(ended)
    void ended.finally(() => this.#ending.delete(ended))
    const { taken } = one
    one.taken = []
    const [first] = taken
    if (first !== undefined && outcome !== undefined) {
      const durationMs = this.#clock.steady() - one.startedMs
      // Nobody knows which of several jobs it was. Where they are of one organization, it is slow
      // from now on, so that each of them runs alone. Several run without each other, and the one
      // whose job it was pays the next time.
      const organizations = new Set(taken.map(({ organizationId }) => organizationId))
      if (organizations.size === 1) this.#time.spend(first.organizationId, durationMs + PROCESS_COST_MS)
      else for (const organizationId of organizations) this.#time.distrust(organizationId)
      if (taken.length === 1 || this.#isClosed) for (const job of taken) this.#settle(job, outcome, durationMs)
      else this.#putBack(taken)
    }
    if (!this.#isClosed) this.#dispatch()
  }

  #failWaiting(code: 'shutting_down' | 'engine_failed', message: string): void {
    for (const { resolve } of this.#queue.drain()) resolve({ outcome: scriptFault(code, message), durationMs: 0 })
    this.counters.waiting = 0
  }
}

function refused(outcome: ScriptOutcome): Promise<ScriptRun> {
  return Promise.resolve({ outcome, durationMs: 0 })
}
