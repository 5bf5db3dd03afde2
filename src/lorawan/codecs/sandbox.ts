/**
 * Runs one tenant's script in an engine of its own: QuickJS in WebAssembly, with 16 MiB of memory
 * that never grow. The engine has no function of the host but the question whether to go on. Each
 * call begins with exactly the memory that the engine had when the script was loaded: changes that
 * an earlier call made to globals or built-in objects are undone.
 */
import quickJs from '@jitl/quickjs-ng-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, newVariant } from 'quickjs-emscripten-core'
import type { QuickJSContext, QuickJSHandle, QuickJSSyncVariant } from 'quickjs-emscripten-core'
import { guestDriver, SCRIPT_FUNCTIONS } from './guest.ts'
import type { GuestLimits, ScriptFunction } from './guest.ts'
import { MemoryImage, unusedStack } from './memory-image.ts'
import {
  ENGINE_MEMORY_PAGES,
  MAXIMUM_CONSOLE_LINE_LENGTH,
  MAXIMUM_CONSOLE_LINES,
  MAXIMUM_KEPT_BYTES,
  MAXIMUM_NOTES,
  MAXIMUM_OUTPUT_DEPTH,
  MAXIMUM_OUTPUT_LENGTH,
  MAXIMUM_TEXT_LENGTH,
  SCRIPT_ELAPSED_MS,
  SCRIPT_MEMORY_BYTES,
  SCRIPT_STACK_BYTES,
  SCRIPT_TIME_MS,
} from './script-limits.ts'
import { scriptFault } from './script-outcome.ts'
import type { ScriptFault, ScriptFaultCode, ScriptOutcome } from './script-outcome.ts'

/** The operation of a script. The script may have either function of the operation. */
export type ScriptOperation = 'decodeUplink' | 'encodeDownlink' | 'decodeDownlink'

/** One call of a script. */
export interface ScriptCall {
  /** `parse` calls no function: it asks whether another script is JavaScript. */
  readonly operation: ScriptOperation | 'parse'
  /** A `GuestInput` as JSON; for `parse` the text of the script. */
  readonly input: string
}

/**
 * The time of this thread, in milliseconds with fractions, from any beginning. `Clock` has whole
 * milliseconds, and most scripts need less than one. Their durations, by which time is shared
 * fairly, would all be 0.
 */
export interface SandboxClock {
  /** The time that passed. */
  readonly elapsedMs: () => number
  /** The time that this thread spent on a processor. */
  readonly processorMs: () => number
}

/** The functions of each operation, the newer signature first. */
const FUNCTIONS_OF: Readonly<Record<ScriptOperation, readonly ScriptFunction[]>> = {
  decodeUplink: ['decodeUplink', 'Decode'],
  encodeDownlink: ['encodeDownlink', 'Encode'],
  decodeDownlink: ['decodeDownlink'],
}

const GUEST_LIMITS: GuestLimits = {
  outputLength: MAXIMUM_OUTPUT_LENGTH,
  textLength: MAXIMUM_TEXT_LENGTH,
  notes: MAXIMUM_NOTES,
  consoleLines: MAXIMUM_CONSOLE_LINES,
  consoleLineLength: MAXIMUM_CONSOLE_LINE_LENGTH,
}

/** The package declares a CommonJS module, whose default export would be one level deeper. */
const VARIANT = quickJs as unknown as QuickJSSyncVariant

/** The name of the script in its stack traces. */
const SCRIPT_FILE = 'script.js'

const GUEST_SOURCE = `(${guestDriver.toString()})(${JSON.stringify(GUEST_LIMITS)})`

/** Only `typeof` can name a function that may not exist, lexical declarations included. */
const FUNCTIONS_SOURCE = `({${SCRIPT_FUNCTIONS.map((name) => `${name}:typeof ${name}==='function'?${name}:undefined`).join(',')}})`

/** A loaded script. Not to be used again once `isBroken`. */
export class Sandbox {
  readonly #engine: Engine
  readonly #functions: ReadonlyMap<ScriptFunction, QuickJSHandle>
  readonly #image: MemoryImage

  private constructor(engine: Engine, functions: ReadonlyMap<ScriptFunction, QuickJSHandle>, image: MemoryImage) {
    this.#engine = engine
    this.#functions = functions
    this.#image = image
  }

  /**
   * Loads a script, within the bounds of a call. Returns the fault when the script can't be loaded.
   */
  static async load(
    wasm: WebAssembly.Module,
    script: string,
    clock: SandboxClock,
  ): Promise<{ readonly ok: true; readonly sandbox: Sandbox } | ScriptFault> {
    const engine = await Engine.open(wasm, clock)
    const loaded = engine.guarded((): ReadonlyMap<ScriptFunction, QuickJSHandle> | ScriptFault => {
      const { context } = engine
      const evaluated = context.evalCode(script, SCRIPT_FILE, { type: 'global' })
      if (evaluated.error) return engine.faultOf(evaluated.error)
      const found = context.evalCode(FUNCTIONS_SOURCE, 'functions.js', { type: 'global' })
      if (found.error) return engine.faultOf(found.error)
      const functions = SCRIPT_FUNCTIONS.map((name) => [name, context.getProp(found.value, name)] as const)
      return new Map(functions.filter(([, handle]) => context.typeof(handle) === 'function'))
    })
    if ('ok' in loaded) return loaded
    const image = engine.takeImage()
    if (image.size > MAXIMUM_KEPT_BYTES) {
      return scriptFault('memory_exceeded', `the script keeps more than ${MAXIMUM_KEPT_BYTES} bytes once it is loaded`)
    }
    return { ok: true, sandbox: new Sandbox(engine, loaded, image) }
  }

  /**
   * True after the engine itself failed. Its memory can be put back, but not what it left on the
   * host's stack.
   */
  get isBroken(): boolean {
    return this.#engine.isBroken
  }

  /** Calls the script. Never throws. */
  call({ operation, input }: ScriptCall): ScriptOutcome {
    if (operation === 'parse') {
      this.restore()
      return this.#engine.guarded(() => this.#engine.parse(input))
    }
    const name = FUNCTIONS_OF[operation].find((one) => this.#functions.has(one))
    const run = name === undefined ? undefined : this.#functions.get(name)
    if (name === undefined || run === undefined) {
      return scriptFault('function_missing', `the script has no function ${FUNCTIONS_OF[operation].join(' or ')}`)
    }
    this.restore()
    return this.#engine.guarded(() => this.#engine.call(run, name, input))
  }

  /** Puts the engine's memory back to its state when the script was loaded. Each call begins so. */
  restore(): void {
    this.#image.restore()
  }
}

/** An instance of QuickJS with the driver of `guest.ts` in it. */
class Engine {
  readonly context: QuickJSContext
  readonly #memory: WebAssembly.Memory
  readonly #clock: SandboxClock
  readonly #call: QuickJSHandle
  readonly #describe: QuickJSHandle
  readonly #unused: ReturnType<typeof unusedStack>
  #checkAtMs = Infinity
  #processorEndMs = 0
  #elapsedEndMs = 0
  #isInterrupted = false
  #isBroken = false

  private constructor(context: QuickJSContext, memory: WebAssembly.Memory, clock: SandboxClock) {
    this.context = context
    this.#memory = memory
    this.#clock = clock
    context.runtime.setInterruptHandler(() => this.#isOverdue())
    const guest = context.unwrapResult(context.evalCode(GUEST_SOURCE, 'guest.js', { type: 'global' }))
    this.#call = context.getProp(guest, 'call')
    this.#describe = context.getProp(guest, 'describe')
    this.#unused = unusedStack(memory)
  }

  static async open(wasm: WebAssembly.Module, clock: SandboxClock): Promise<Engine> {
    const memory = new WebAssembly.Memory({ initial: ENGINE_MEMORY_PAGES, maximum: ENGINE_MEMORY_PAGES })
    const quiet: object = { print: () => {}, printErr: () => {} }
    const ofThisMemory = newVariant(VARIANT, { wasmModule: wasm, wasmMemory: memory, emscriptenModule: quiet })
    const module = await newQuickJSWASMModuleFromVariant(ofThisMemory)
    const runtime = module.newRuntime({ memoryLimitBytes: SCRIPT_MEMORY_BYTES, maxStackSizeBytes: SCRIPT_STACK_BYTES })
    return new Engine(runtime.newContext(), memory, clock)
  }

  get isBroken(): boolean {
    return this.#isBroken
  }

  takeImage(): MemoryImage {
    return new MemoryImage(this.#memory, this.#unused)
  }

  /**
   * Runs a function in the engine within the bounds of one call. An error that breaks the engine
   * becomes a fault.
   */
  guarded<T>(run: () => T | ScriptFault): T | ScriptFault {
    this.#isInterrupted = false
    const nowMs = this.#clock.elapsedMs()
    this.#checkAtMs = nowMs + SCRIPT_TIME_MS
    this.#elapsedEndMs = nowMs + SCRIPT_ELAPSED_MS
    this.#processorEndMs = this.#clock.processorMs() + SCRIPT_TIME_MS
    try {
      const outcome = run()
      return this.#isInterrupted ? timeExceeded() : outcome
    } catch (error) {
      this.#isBroken = true
      if (this.#isInterrupted) return timeExceeded()
      // Deep recursion in the engine's own functions, above all in parsers, uses up the thread's
      // stack first.
      if (error instanceof RangeError)
        return scriptFault('stack_exceeded', 'the script made too many calls within calls')
      return scriptFault('engine_failed', 'the script made its engine fail')
    }
  }

  call(run: QuickJSHandle, name: ScriptFunction, input: string): ScriptOutcome {
    const { context } = this
    const given = [run, context.newString(name), context.newString(input)]
    const called = context.callFunction(this.#call, context.undefined, given)
    if (called.error) return this.faultOf(called.error)
    return readOutcome(context.getString(called.value))
  }

  /** Compiles a script and does not run it. */
  parse(script: string): ScriptOutcome {
    const parsed = this.context.evalCode(script, SCRIPT_FILE, { type: 'global', compileOnly: true })
    if (parsed.error) return this.faultOf(parsed.error)
    return { ok: true, json: 'null', warnings: [], console: [] }
  }

  /** The driver's description of an exception that reached the host. */
  faultOf(thrown: QuickJSHandle): ScriptFault {
    const { context } = this
    if (this.#isInterrupted) return timeExceeded()
    const described = context.callFunction(this.#describe, context.undefined, thrown)
    if (described.error) return scriptFault('memory_exceeded', 'the script has used up its memory or its stack')
    const outcome = readOutcome(context.getString(described.value))
    return outcome.ok ? scriptFault('script_exception', 'the script threw an exception') : outcome
  }

  /**
   * Asked after every few thousand instructions. A thread that had to wait for a processor gets its
   * time, within bounds.
   */
  #isOverdue(): boolean {
    const nowMs = this.#clock.elapsedMs()
    if (nowMs < this.#checkAtMs) return false
    const leftMs = this.#processorEndMs - this.#clock.processorMs()
    this.#checkAtMs = nowMs + Math.max(leftMs, 1)
    this.#isInterrupted ||= leftMs <= 0 || nowMs >= this.#elapsedEndMs
    return this.#isInterrupted
  }
}

function timeExceeded(): ScriptFault {
  return scriptFault('time_exceeded', `the script ran for more than ${SCRIPT_TIME_MS} ms`)
}

/** Reads the driver's answer without trusting it: the script could have changed it. */
function readOutcome(text: string): ScriptOutcome {
  if (text.length > 4 * MAXIMUM_OUTPUT_LENGTH + 2 * MAXIMUM_CONSOLE_LINES * MAXIMUM_CONSOLE_LINE_LENGTH) {
    return scriptFault('output_too_large', 'the result is too large')
  }
  if (isDeeper(text, MAXIMUM_OUTPUT_DEPTH + 1)) {
    return scriptFault('output_too_deep', `the result has more than ${MAXIMUM_OUTPUT_DEPTH} levels`)
  }
  let outcome: unknown
  try {
    outcome = JSON.parse(text)
  } catch {
    return scriptFault('result_invalid', 'the script gave nothing that JSON can express')
  }
  if (typeof outcome !== 'object' || outcome === null) return scriptFault('result_invalid', 'the script gave no result')
  const { ok, value, warnings, code, message, stack, console: lines } = outcome as Record<string, unknown>
  if (ok === true && value !== undefined) {
    return { ok: true, json: JSON.stringify(value), warnings: textsOf(warnings), console: textsOf(lines) }
  }
  const [, line, column] =
    (typeof stack === 'string' ? /\bscript\.js:(\d{1,6})(?::(\d{1,6}))?/.exec(stack) : null) ?? []
  return {
    ok: false,
    code: GUEST_CODES.find((one) => one === code) ?? 'script_exception',
    message: typeof message === 'string' ? message.slice(0, MAXIMUM_NOTES * MAXIMUM_TEXT_LENGTH) : 'the script failed',
    line: line === undefined ? undefined : Number(line),
    column: column === undefined ? undefined : Number(column),
    console: textsOf(lines),
  }
}

/** The codes that the driver may answer with. */
const GUEST_CODES: readonly ScriptFaultCode[] = [
  'script_exception',
  'script_errors',
  'promise_returned',
  'result_invalid',
  'output_too_large',
  'memory_exceeded',
  'stack_exceeded',
]

function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  return value.filter((one) => typeof one === 'string').slice(0, MAXIMUM_CONSOLE_LINES)
}

/** Counts levels in the text. Reading a deep value recursively would overflow the stack. */
function isDeeper(json: string, levels: number): boolean {
  let depth = 0
  let inText = false
  for (let index = 0; index < json.length; index += 1) {
    const character = json.charCodeAt(index)
    if (character === 0x22) inText = !inText
    else if (inText) index += character === 0x5c ? 1 : 0
    else if (character === 0x7b || character === 0x5b) {
      depth += 1
      if (depth > levels) return true
    } else if (character === 0x7d || character === 0x5d) depth -= 1
  }
  return false
}
