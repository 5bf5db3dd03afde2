/**
 * The process in which tenants' scripts run: one engine, the scripts that it has loaded, and one
 * job at a time. A message brings one job or several. The pool decides which scripts stay loaded.
 * It kills the process where a script does not come to an end.
 */
import { answerParent } from '../../helper-process.ts'
import { TOGETHER_MS } from './script-limits.ts'
import { ProcessorTime } from './processor-time.ts'
import { Sandbox } from './sandbox.ts'
import type { ScriptCall } from './sandbox.ts'
import { compileEngine, ScriptEngine } from './script-engine.ts'
import type { EngineClock } from './script-engine.ts'
import { scriptFault } from './script-outcome.ts'
import type { ScriptFault, ScriptFaultCode, ScriptOutcome } from './script-outcome.ts'

/** One of the jobs of a message. With `script` the slot gets a new script first. */
export interface ProcessJob {
  readonly slot: number
  readonly script: string | undefined
  readonly call: ScriptCall
  /** Slots that are not used any more. */
  readonly dropped: readonly number[]
}

/** A message to the process. */
export interface ProcessJobs {
  readonly jobs: readonly ProcessJob[]
}

/** The result of a job. */
export interface JobResult {
  readonly outcome: ScriptOutcome
  /** Time that passed. */
  readonly durationMs: number
  /** Time of a processor that the job took. */
  readonly processorMs: number
  /** Bytes that the script of the slot holds in this process. */
  readonly sizeBytes: number
  /** Whether the script was loaded for this job. */
  readonly wasLoaded: boolean
}

/**
 * A message of the process: that it has started, or the results of its jobs, in their order. With
 * `running` the next job is still running. No other message has the same results. Jobs behind the
 * one that runs, and jobs at the end that have no result, are not run, because the others took too
 * long.
 */
export type ProcessMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'finished' | 'running'; readonly results: readonly JobResult[] }

interface Slot {
  readonly script: string
  /** Undefined when the script has to be loaded again; a fault when it can't be loaded. */
  loaded: Sandbox | ScriptFault | undefined
}

const clock: EngineClock = {
  elapsedMs: () => performance.now(),
  processorMs: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}

/** Faults of loading that do not come from the script alone. The next job tries again. */
const PASSING: ReadonlySet<ScriptFaultCode> = new Set(['time_exceeded', 'stack_exceeded', 'engine_failed'])

const say: (message: ProcessMessage) => void = answerParent((message) => void take((message as ProcessJobs).jobs))
const slots = new Map<number, Slot>()
/** A script that is run once before the first job; see `openWarm`. */
const WARM_UP = 'function Decode(fPort, bytes) { return { sum: bytes[0] + fPort } }'
const WARM_UP_INPUT = '{"fPort":1,"bytes":[1],"recvTimeMs":0,"variables":{},"object":null}'

const wasm = await compileEngine()
/** Undefined after it failed, and when no other one could be opened. */
let engine: ScriptEngine | undefined = await openWarm()
/** The results of the jobs of a message that the pool does not have yet. */
let results: JobResult[] = []
/** True when a job has taken so long that those behind it are not run. */
let isLong = false
const processorTime = new ProcessorTime(clock.processorMs)
/** Whether this job has loaded its script. */
let wasLoaded = false

say({ kind: 'started' })

async function take(jobs: readonly ProcessJob[]): Promise<void> {
  const startMs = clock.elapsedMs()
  results = []
  // A job alone has none behind it.
  isLong = jobs.length === 1
  for (const [index, job] of jobs.entries()) {
    // The pool counts on this, also for a job that is not run now.
    accept(job)
    if (index > 0 && (isLong || clock.elapsedMs() - startMs >= TOGETHER_MS)) continue
    const result = await resultOf(job)
    // Not before: a long run takes the results away that are there.
    results.push(result)
  }
  say({ kind: 'finished', results })
}

function tellLongRun(): void {
  // Loading a script and calling it are two runs of one job.
  if (isLong) return
  isLong = true
  say({ kind: 'running', results })
  results = []
}

function openEngine(): Promise<ScriptEngine> {
  return ScriptEngine.open(wasm, clock, tellLongRun)
}

async function resultOf(job: ProcessJob): Promise<JobResult> {
  const startMs = clock.elapsedMs()
  wasLoaded = false
  let outcome: ScriptOutcome
  try {
    outcome = await run(job)
  } catch (error) {
    // A script can't get here. The next job begins with a new engine, whatever the reason was.
    loseEngine()
    const text = error instanceof Error ? `the engine failed: ${error.name}` : 'the engine failed'
    outcome = scriptFault('engine_failed', text)
  }
  const loaded = slots.get(job.slot)?.loaded
  const sizeBytes = loaded instanceof Sandbox ? loaded.size : 0
  const durationMs = clock.elapsedMs() - startMs
  return { outcome, durationMs, processorMs: processorTime.charge(durationMs), sizeBytes, wasLoaded }
}

/**
 * Opens the first engine, and runs a script once. The first run compiles the engine, which takes
 * some 70 ms; no tenant shall pay for that.
 */
async function openWarm(): Promise<ScriptEngine> {
  const opened = await openEngine()
  const warmUp = Sandbox.load(opened, WARM_UP)
  if (warmUp.ok) warmUp.sandbox.call({ operation: 'decodeUplink', input: WARM_UP_INPUT })
  return opened
}

function accept({ slot, script, dropped }: ProcessJob): void {
  for (const one of dropped) forget(one)
  if (script !== undefined) slots.set(slot, { script, loaded: undefined })
}

async function run({ slot: index, call }: ProcessJob): Promise<ScriptOutcome> {
  const slot = slots.get(index)
  if (slot === undefined) return scriptFault('engine_failed', 'the script is not loaded')
  engine ??= await openEngine()
  slot.loaded ??= load(engine, slot.script)
  const { loaded } = slot
  const outcome = loaded instanceof Sandbox ? loaded.call(call) : loaded
  if (!(loaded instanceof Sandbox) && PASSING.has(loaded.code)) slot.loaded = undefined
  if (engine.isBroken) {
    loseEngine()
    // The script that broke the engine pays for the next one.
    engine = await openEngine()
  }
  return outcome
}

function forget(index: number): void {
  const loaded = slots.get(index)?.loaded
  if (loaded instanceof Sandbox) loaded.release()
  slots.delete(index)
}

function load(into: ScriptEngine, script: string): Sandbox | ScriptFault {
  wasLoaded = true
  const result = Sandbox.load(into, script)
  return result.ok ? result.sandbox : result
}

/** The scripts were loaded into that engine. Each is loaded again when it is called. */
function loseEngine(): void {
  engine = undefined
  for (const slot of slots.values()) {
    if (!(slot.loaded instanceof Sandbox)) continue
    slot.loaded.release()
    slot.loaded = undefined
  }
}
