/**
 * One tenant's script, loaded into the engine of a process. Each call begins with exactly the
 * memory that the engine had when the script was loaded: changes that an earlier call made to
 * globals or built-in objects are undone.
 */
import type { QuickJSHandle } from 'quickjs-emscripten-core'
import type { ScriptFunction } from './guest.ts'
import type { ScriptImage } from './memory-image.ts'
import type { ScriptEngine } from './script-engine.ts'
import { MAXIMUM_KEPT_BYTES } from './script-limits.ts'
import { scriptFault } from './script-outcome.ts'
import type { ScriptFault, ScriptOutcome } from './script-outcome.ts'

/** The operation of a script. The script may have either function of the operation. */
export type ScriptOperation = 'decodeUplink' | 'encodeDownlink' | 'decodeDownlink'

/** One call of a script. */
export interface ScriptCall {
  /** `parse` calls no function: it asks whether another script is JavaScript. */
  readonly operation: ScriptOperation | 'parse'
  /** A `GuestInput` as JSON; for `parse` the text of the script. */
  readonly input: string
}

/** The functions of each operation. The first one that the script has is called. */
const FUNCTIONS_OF: Readonly<Record<ScriptOperation, readonly ScriptFunction[]>> = {
  decodeUplink: ['decodeUplink', 'Decode', 'Decoder'],
  encodeDownlink: ['encodeDownlink', 'Encode', 'Encoder'],
  decodeDownlink: ['decodeDownlink'],
}

/** A loaded script. Its engine has any number of them. */
export class Sandbox {
  readonly #engine: ScriptEngine
  readonly #functions: ReadonlyMap<ScriptFunction, QuickJSHandle>
  readonly #image: ScriptImage

  private constructor(engine: ScriptEngine, functions: ReadonlyMap<ScriptFunction, QuickJSHandle>, image: ScriptImage) {
    this.#engine = engine
    this.#functions = functions
    this.#image = image
  }

  /**
   * Loads a script, within the bounds of a call. Returns the fault when the script can't be loaded.
   */
  static load(engine: ScriptEngine, script: string): { readonly ok: true; readonly sandbox: Sandbox } | ScriptFault {
    engine.restoreBase()
    const loaded = engine.guarded(() => engine.evaluate(script))
    if ('ok' in loaded) return loaded
    const image = engine.takeImage()
    if (image.bytesInUse > MAXIMUM_KEPT_BYTES) {
      image.release()
      return scriptFault('memory_exceeded', `the script keeps more than ${MAXIMUM_KEPT_BYTES} bytes once it is loaded`)
    }
    return { ok: true, sandbox: new Sandbox(engine, loaded, image) }
  }

  /** Bytes that the loaded script costs the process. */
  get size(): number {
    return this.#image.size
  }

  /** Gives the memory of the loaded script back. It can't be called any more. */
  release(): void {
    this.#image.release()
  }

  /** Calls the script. Never throws. */
  call({ operation, input }: ScriptCall): ScriptOutcome {
    const engine = this.#engine
    if (operation === 'parse') {
      this.restore()
      return engine.guarded(() => engine.parse(input))
    }
    const name = FUNCTIONS_OF[operation].find((one) => this.#functions.has(one))
    const run = name === undefined ? undefined : this.#functions.get(name)
    if (name === undefined || run === undefined) {
      return scriptFault('function_missing', `the script has no function ${FUNCTIONS_OF[operation].join(' or ')}`)
    }
    this.restore()
    const normalize = operation === 'decodeUplink' ? this.#functions.get('normalizeUplink') : undefined
    return engine.guarded(() => engine.call(run, name, input, normalize))
  }

  /** Puts the engine's memory back to what it was when the script was loaded. */
  restore(): void {
    this.#engine.restore(this.#image)
  }
}
