/**
 * The thread in which tenants' scripts run. The thread has a table of loaded scripts, which the
 * pool manages, and takes one job at a time. The pool kills it when a script does not come to an
 * end.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Sandbox } from './sandbox.ts'
import type { SandboxClock, ScriptCall } from './sandbox.ts'
import { scriptFault } from './script-outcome.ts'
import type { ScriptFault, ScriptFaultCode, ScriptOutcome } from './script-outcome.ts'

/** The data that the worker starts with: the engine's code, compiled once for all workers. */
export interface WorkerStart {
  readonly wasm: WebAssembly.Module
}

/** One job. With `script`, the slot is loaded anew first. */
export interface WorkerJob {
  readonly slot: number
  readonly script: string | undefined
  readonly call: ScriptCall
}

/** The messages of the worker: it has started, or the outcome of its job. */
export type WorkerMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'finished'; readonly outcome: ScriptOutcome; readonly durationMs: number }

interface Slot {
  readonly script: string
  /** Undefined when the script has to be loaded again; a fault when it can't be loaded. */
  loaded: Sandbox | ScriptFault | undefined
}

const clock: SandboxClock = {
  elapsedMs: () => performance.now(),
  processorMs: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}

/** Faults of loading that do not come from the script alone. The next job tries again. */
const PASSING: ReadonlySet<ScriptFaultCode> = new Set(['time_exceeded', 'stack_exceeded', 'engine_failed'])

const { wasm } = workerData as WorkerStart
const slots = new Map<number, Slot>()

parentPort?.on('message', (job: WorkerJob) => {
  const startMs = clock.elapsedMs()
  const finish = (outcome: ScriptOutcome): void =>
    say({ kind: 'finished', outcome, durationMs: clock.elapsedMs() - startMs })
  run(job).then(finish, (error: unknown) => {
    // No script can cause this error. The next job begins with a new engine.
    slots.delete(job.slot)
    finish(
      scriptFault('engine_failed', error instanceof Error ? `the engine failed: ${error.name}` : 'the engine failed'),
    )
  })
})
say({ kind: 'started' })

async function run({ slot: index, script, call }: WorkerJob): Promise<ScriptOutcome> {
  if (script !== undefined) slots.set(index, { script, loaded: undefined })
  const slot = slots.get(index)
  if (slot === undefined) return scriptFault('engine_failed', 'the script is not loaded')
  slot.loaded ??= await load(slot.script)
  const { loaded } = slot
  if (loaded instanceof Sandbox) {
    const outcome = loaded.call(call)
    if (loaded.isBroken) slot.loaded = undefined
    return outcome
  }
  if (PASSING.has(loaded.code)) slot.loaded = undefined
  return loaded
}

async function load(script: string): Promise<Sandbox | ScriptFault> {
  const result = await Sandbox.load(wasm, script, clock)
  return result.ok ? result.sandbox : result
}

function say(message: WorkerMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message)
}
