/**
 * One QuickJS engine in WebAssembly for all scripts of a process. It has 16 MiB of memory that
 * never grow, and no function of the host but the question whether to go on. An image puts the
 * memory back before each call, so that a script finds nothing that an earlier call left, its own
 * or another's.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import quickJs from '@jitl/quickjs-ng-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, newVariant } from 'quickjs-emscripten-core'
import type { QuickJSContext, QuickJSHandle, QuickJSSyncVariant } from 'quickjs-emscripten-core'
import { guestBuffer } from './guest-buffer.ts'
import { guestDates } from './guest-dates.ts'
import { guestDriver, SCRIPT_FUNCTIONS } from './guest.ts'
import type { GuestLimits, ScriptFunction } from './guest.ts'
import { BaseImage, unusedStack } from './memory-image.ts'
import type { ScriptImage } from './memory-image.ts'
import {
  ENGINE_MEMORY_PAGES,
  LONG_RUN_MS,
  MAXIMUM_CONSOLE_LINE_LENGTH,
  MAXIMUM_CONSOLE_LINES,
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
import { StackPointer } from './stack-pointer.ts'

/**
 * The time of this process, in milliseconds with fractions, from any beginning. `Clock` has whole
 * milliseconds, and most scripts need less than one. Their durations, by which time is shared
 * fairly, would all be 0.
 */
export interface EngineClock {
  /** Time that passed. */
  readonly elapsedMs: () => number
  /** Time that the thread of the scripts spent on a processor. */
  readonly processorMs: () => number
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

const ENGINE_FILE = fileURLToPath(import.meta.resolve('@jitl/quickjs-ng-wasmfile-release-sync/wasm'))

/** The engine's code, for any number of engines. */
export async function compileEngine(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(ENGINE_FILE))
}

const GUEST_SOURCE = `(${guestDriver.toString()})(${JSON.stringify(GUEST_LIMITS)},${JSON.stringify(SCRIPT_FUNCTIONS)})`

/** Scripts that do not name it do without: it takes time and memory. */
const BUFFER_SOURCE = `(${guestBuffer.toString()})()`
const NAMES_BUFFER = /\bBuffer\b/
const NAMES_EXPORTS = /\b(?:exports|module)\b/
const HAS_EXPORT = /(?:^|[;}])\s*export\b/m

/**
 * Only `typeof` can name a function that may not exist, lexical declarations included. A place that
 * is no object is left out by `functionsOf`.
 */
const GLOBALS_SOURCE = `({${SCRIPT_FUNCTIONS.map((name) => `${name}:typeof ${name}==='function'?${name}:undefined`).join(',')}})`
const DRIVER_SOURCE = `({driver:typeof driver==='undefined'?undefined:driver})`
const EXPORTS_SOURCE = `typeof exports==='undefined'?undefined:exports`
const MODULE_SOURCE = `typeof module==='object'&&module!==null?module.exports:undefined`

/**
 * An instance of QuickJS with the driver of `guest.ts` in it. Not to be used again once `isBroken`.
 */
export class ScriptEngine {
  readonly context: QuickJSContext
  readonly #base: BaseImage
  readonly #stackPointer: StackPointer
  readonly #clock: EngineClock
  readonly #call: QuickJSHandle
  readonly #provideExports: QuickJSHandle
  readonly #functionsOf: QuickJSHandle
  readonly #describe: QuickJSHandle
  readonly #names: ReadonlyMap<ScriptFunction, QuickJSHandle>
  /** The script whose bytes are in the memory. */
  #resident: ScriptImage | undefined = undefined
  readonly #onLongRun: () => void
  #checkAtMs = Infinity
  #longAtMs = Infinity
  #processorEndMs = 0
  #elapsedEndMs = 0
  #isInterrupted = false
  #isBroken = false

  private constructor(
    context: QuickJSContext,
    memory: WebAssembly.Memory,
    stackPointer: StackPointer,
    clock: EngineClock,
    onLongRun: () => void,
  ) {
    this.context = context
    this.#onLongRun = onLongRun
    this.#stackPointer = stackPointer
    this.#clock = clock
    context.runtime.setInterruptHandler(() => this.#isOverdue())
    context.unwrapResult(context.evalCode(`(${guestDates.toString()})()`, 'dates.js', { type: 'global' }))
    const guest = context.unwrapResult(context.evalCode(GUEST_SOURCE, 'guest.js', { type: 'global' }))
    this.#call = context.getProp(guest, 'call')
    this.#provideExports = context.getProp(guest, 'provideExports')
    this.#functionsOf = context.getProp(guest, 'functionsOf')
    this.#describe = context.getProp(guest, 'describe')
    this.#names = new Map(SCRIPT_FUNCTIONS.map((name) => [name, context.newString(name)]))
    this.#base = new BaseImage(memory, unusedStack(memory))
  }

  /**
   * Makes an engine that has no script yet. `wasm` is the engine's code. `onLongRun` is called once
   * in a run that takes more than some ms, while the run goes on.
   */
  static async open(
    wasm: WebAssembly.Module,
    clock: EngineClock,
    onLongRun: () => void = () => {},
  ): Promise<ScriptEngine> {
    const memory = new WebAssembly.Memory({ initial: ENGINE_MEMORY_PAGES, maximum: ENGINE_MEMORY_PAGES })
    const { promise: instantiated, resolve } = Promise.withResolvers<WebAssembly.Instance>()
    const emscriptenModule: object = {
      print: () => {},
      printErr: () => {},
      instantiateWasm: (imports: object, ready: (instance: WebAssembly.Instance) => void) => {
        const instance = new WebAssembly.Instance(wasm, imports)
        ready(instance)
        resolve(instance)
        return instance.exports
      },
    }
    const module = await newQuickJSWASMModuleFromVariant(newVariant(VARIANT, { wasmMemory: memory, emscriptenModule }))
    const stackPointer = new StackPointer(await instantiated, memory)
    const runtime = module.newRuntime({ memoryLimitBytes: SCRIPT_MEMORY_BYTES, maxStackSizeBytes: SCRIPT_STACK_BYTES })
    return new ScriptEngine(runtime.newContext(), memory, stackPointer, clock, onLongRun)
  }

  /**
   * True after the engine itself failed, and putting its memory back does not repair it. The
   * scripts that were loaded into it are lost.
   */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Puts the memory back to what it was before any script was loaded. */
  restoreBase(): void {
    this.#base.restoreAll()
    this.#resident = undefined
  }

  /** Puts the memory back to what it was when the image was taken. */
  restore(image: ScriptImage): void {
    image.restore(this.#resident !== image)
    this.#resident = image
  }

  /** The memory as it is, for `restore`. */
  takeImage(): ScriptImage {
    const image = this.#base.takeScriptImage()
    this.#resident = image
    return image
  }

  /**
   * Runs a function in the engine within the bounds of one call. An error that breaks the engine
   * becomes a fault.
   */
  guarded<T>(run: () => T | ScriptFault): T | ScriptFault {
    this.#isInterrupted = false
    const nowMs = this.#clock.elapsedMs()
    this.#longAtMs = nowMs + LONG_RUN_MS
    this.#checkAtMs = this.#longAtMs
    this.#elapsedEndMs = nowMs + SCRIPT_ELAPSED_MS
    this.#processorEndMs = this.#clock.processorMs() + SCRIPT_TIME_MS
    const stackPointer = this.#stackPointer.save()
    try {
      const outcome = run()
      return this.#isInterrupted ? timeExceeded() : outcome
    } catch (error) {
      // Deep recursion in the engine's own functions, parsers above all, uses up the stack of the
      // process first. The engine is whole again once its memory and its stack pointer are put
      // back.
      const isStackExceeded = error instanceof RangeError
      this.#isBroken = !isStackExceeded || !this.#stackPointer.restore(stackPointer)
      // Nothing of the unfinished call may be taken for the memory of a script.
      this.#resident = undefined
      if (this.#isInterrupted) return timeExceeded()
      if (isStackExceeded) return scriptFault('stack_exceeded', 'the script made too many calls within calls')
      return scriptFault('engine_failed', 'the script made its engine fail')
    }
  }

  /** `normalize` is the script's own function for the normalized object, if it has one. */
  call(run: QuickJSHandle, name: ScriptFunction, input: string, normalize: QuickJSHandle | undefined): ScriptOutcome {
    const { context } = this
    const given = [
      run,
      this.#names.get(name) ?? context.newString(name),
      context.newString(input),
      normalize ?? context.undefined,
    ]
    const called = context.callFunction(this.#call, context.undefined, given)
    if (called.error) return this.faultOf(called.error)
    return readOutcome(context.getString(called.value))
  }

  /**
   * Compiles and runs a script, and returns its functions by their names. A script with `export` is
   * a module, where it is nothing else.
   */
  evaluate(script: string): ReadonlyMap<ScriptFunction, QuickJSHandle> | ScriptFault {
    const { context } = this
    if (NAMES_BUFFER.test(script))
      context.unwrapResult(context.evalCode(BUFFER_SOURCE, 'buffer.js', { type: 'global' }))
    if (NAMES_EXPORTS.test(script)) context.unwrapResult(context.callFunction(this.#provideExports, context.undefined))
    const isModule = this.#isModule(script)
    const evaluated = context.evalCode(script, SCRIPT_FILE, { type: isModule ? 'module' : 'global' })
    if (evaluated.error) return this.faultOf(evaluated.error)
    return this.#functionsOfScript(isModule ? [evaluated.value] : [])
  }

  /** Compiles a script and does not run it. */
  parse(script: string): ScriptOutcome {
    const type = this.#isModule(script) ? 'module' : 'global'
    const parsed = this.context.evalCode(script, SCRIPT_FILE, { type, compileOnly: true })
    if (parsed.error) return this.faultOf(parsed.error)
    return { ok: true, json: 'null', warnings: [], console: [] }
  }

  /** Most texts with the word `export` have it in a comment, or in a name. */
  #isModule(script: string): boolean {
    if (!HAS_EXPORT.test(script)) return false
    return this.context.evalCode(script, SCRIPT_FILE, { type: 'global', compileOnly: true }).error !== undefined
  }

  #functionsOfScript(namespaces: readonly QuickJSHandle[]): ReadonlyMap<ScriptFunction, QuickJSHandle> | ScriptFault {
    const { context } = this
    const given: QuickJSHandle[] = []
    for (const source of [GLOBALS_SOURCE, DRIVER_SOURCE, EXPORTS_SOURCE, MODULE_SOURCE]) {
      const found = context.evalCode(source, 'functions.js', { type: 'global' })
      if (found.error) return this.faultOf(found.error)
      given.push(found.value)
    }
    const found = context.callFunction(this.#functionsOf, context.undefined, [...given, ...namespaces])
    if (found.error) return this.faultOf(found.error)
    const functions = SCRIPT_FUNCTIONS.map((name) => [name, context.getProp(found.value, name)] as const)
    return new Map(functions.filter(([, handle]) => context.typeof(handle) === 'function'))
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
   * Asked after every few thousand instructions. A process that had to wait for a processor gets
   * its time, within bounds.
   */
  #isOverdue(): boolean {
    const nowMs = this.#clock.elapsedMs()
    if (nowMs < this.#checkAtMs) return false
    if (nowMs >= this.#longAtMs) {
      this.#longAtMs = Infinity
      this.#onLongRun()
    }
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
  if (text.length > 5 * MAXIMUM_OUTPUT_LENGTH + 2 * MAXIMUM_CONSOLE_LINES * MAXIMUM_CONSOLE_LINE_LENGTH) {
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
  const { ok, value, normalized, warnings, code, message, stack, console: lines } = outcome as Record<string, unknown>
  if (ok === true && value !== undefined) {
    const told = {
      ok: true as const,
      json: JSON.stringify(value),
      warnings: textsOf(warnings),
      console: textsOf(lines),
    }
    return normalized === undefined ? told : { ...told, normalizedJson: JSON.stringify(normalized) }
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
