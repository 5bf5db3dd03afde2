/** Shared by the tests of tenants' scripts. */
import { Sandbox } from './sandbox.ts'
import type { ScriptCall, ScriptOperation } from './sandbox.ts'
import { compileEngine, ScriptEngine } from './script-engine.ts'
import type { EngineClock } from './script-engine.ts'
import type { GuestInput } from './guest.ts'
import type { ScriptOutcome } from './script-outcome.ts'

const wasm = compileEngine()

/** The machine's clock. */
const machineClock: EngineClock = {
  elapsedMs: () => performance.now(),
  processorMs: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}

/** A call, with the members filled in that do not matter to the test. */
export function callOf(operation: ScriptOperation, given: Partial<GuestInput> = {}): ScriptCall {
  const usual = { fPort: 2, bytes: [1, 2, 255], recvTimeMs: 1_700_000_000_000, variables: {}, object: {} }
  return { operation, input: JSON.stringify({ ...usual, ...given }) }
}

/** An engine in this process. */
export async function openEngine(clock: EngineClock = machineClock): Promise<ScriptEngine> {
  return ScriptEngine.open(await wasm, clock)
}

/** Loads a script into an engine of its own, in this process. */
export async function load(script: string, clock: EngineClock = machineClock) {
  const engine = await openEngine(clock)
  const loaded = Sandbox.load(engine, script)
  return loaded.ok ? { ...loaded, engine } : loaded
}

/** Loads a script in this process and calls it once. */
export async function run(
  script: string,
  operation: ScriptOperation = 'decodeUplink',
  given: Partial<GuestInput> = {},
): Promise<ScriptOutcome> {
  const loaded = await load(script)
  return loaded.ok ? loaded.sandbox.call(callOf(operation, given)) : loaded
}
