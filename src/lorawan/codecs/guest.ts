/**
 * The code that runs inside the engine beside a tenant's script. `guestDriver` is never called
 * here: its source text is evaluated in the engine, before the script, so it must not refer to
 * anything outside of itself. A script can break the driver for itself by tampering with built-in
 * objects, but it gains nothing: the engine has no function of the host.
 */

/** The limits that the driver is made with. */
export interface GuestLimits {
  readonly outputLength: number
  readonly textLength: number
  readonly notes: number
  readonly consoleLines: number
  readonly consoleLineLength: number
}

/**
 * The functions that a script may have. For each operation, the first function that the script has
 * is called.
 */
export const SCRIPT_FUNCTIONS = ['decodeUplink', 'Decode', 'encodeDownlink', 'Encode', 'decodeDownlink'] as const

export type ScriptFunction = (typeof SCRIPT_FUNCTIONS)[number]

/** The argument of a call, as it goes into the engine in JSON. */
export interface GuestInput {
  readonly fPort: number
  readonly bytes: readonly number[]
  readonly recvTimeMs: number
  readonly variables: Readonly<Record<string, string>>
  readonly object: unknown
}

type AnyFunction = (...given: unknown[]) => unknown

interface Guest {
  /** Calls the script's function, and returns the outcome as JSON. */
  readonly call: (run: AnyFunction, name: ScriptFunction, input: string) => string
  /** Returns the description of an exception of the script, as JSON. */
  readonly describe: (thrown: unknown) => string
}

/** Makes `console` for the script, and returns the functions that the host calls. */
// oxlint-disable-next-line max-lines-per-function -- the text of one function goes into the engine
export function guestDriver(limits: GuestLimits): Guest {
  const { parse, stringify } = JSON
  const { isArray, from } = Array
  const { isInteger } = Number
  const toText = String
  const DateOf = Date
  const lines: string[] = []

  // oxlint-disable-next-line unicorn/consistent-function-scoping -- part of the evaluated text
  const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text)

  const show = (value: unknown): string => {
    if (typeof value === 'string') return value
    try {
      // The result is undefined for a value that JSON does not have, though the declared type
      // denies it.
      const json = stringify(value) as string | undefined
      return json ?? toText(value)
    } catch {
      return 'a value that cannot be shown'
    }
  }

  const print = (...values: unknown[]): void => {
    if (lines.length >= limits.consoleLines) return
    let line = ''
    for (let index = 0; index < values.length && line.length <= limits.consoleLineLength; index += 1) {
      line += (index === 0 ? '' : ' ') + show(values[index])
    }
    lines[lines.length] = cut(line, limits.consoleLineLength)
  }

  const failed = (code: string, message: string, stack = ''): string =>
    stringify({ ok: false, code, message: cut(message, limits.textLength * limits.notes), stack, console: lines })

  const describe = (thrown: unknown): string => {
    let name = ''
    let message = 'the script threw something that cannot be shown'
    let stack = ''
    try {
      const { name: ownName, message: ownMessage, stack: ownStack } = Object(thrown) as Record<string, unknown>
      if (typeof ownName === 'string') name = ownName
      message = typeof ownMessage === 'string' ? ownMessage : show(thrown)
      if (typeof ownStack === 'string') stack = ownStack.slice(0, 2000)
    } catch {
      // A getter threw: the message from above stays.
    }
    let code = 'script_exception'
    if (name === 'InternalError' && message === 'out of memory') code = 'memory_exceeded'
    if (name === 'RangeError' && message === 'Maximum call stack size exceeded') code = 'stack_exceeded'
    if (thrown === null) {
      // The engine throws null when there is no memory even for an exception.
      code = 'memory_exceeded'
      message = 'the script has used up its memory'
    }
    return failed(code, cut(name === '' ? message : `${name}: ${message}`, limits.textLength), stack)
  }

  const notesOf = (notes: unknown): string[] => {
    if (notes === undefined || notes === null) return []
    const list = isArray(notes) ? (notes as unknown[]) : [notes]
    const texts: string[] = []
    for (let index = 0; index < list.length && index < limits.notes; index += 1) {
      texts[index] = cut(show(list[index]), limits.textLength)
    }
    return texts
  }

  /** The value as JSON, or the failure. */
  const finish = (value: unknown, warnings: string[]): string => {
    const json = stringify(value) as string | undefined
    if (json === undefined) return failed('result_invalid', 'the script gave nothing that JSON can express')
    if (json.length > limits.outputLength) {
      return failed('output_too_large', `the result has ${json.length} characters, more than ${limits.outputLength}`)
    }
    return `{"ok":true,"warnings":${stringify(warnings)},"console":${stringify(lines)},"value":${json}}`
  }

  const finishBytes = (bytes: unknown, fPort: unknown, warnings: string[]): string => {
    const isBytes = isArray(bytes) || bytes instanceof Uint8Array
    if (!isBytes) return failed('result_invalid', 'the script must give an array of bytes')
    for (let index = 0; index < bytes.length; index += 1) {
      const byte: unknown = bytes[index]
      if (typeof byte !== 'number' || !isInteger(byte) || byte < 0 || byte > 255) {
        return failed('result_invalid', `byte ${index}: ${cut(show(byte), 40)} is not an integer from 0 to 255`)
      }
    }
    return finish(fPort === undefined ? { bytes: from(bytes) } : { bytes: from(bytes), fPort }, warnings)
  }

  /** For the signatures that return `{data | bytes, errors, warnings}`. */
  const finishAnswer = (name: string, result: unknown): string => {
    if (typeof result !== 'object' || result === null) return failed('result_invalid', `${name} must give an object`)
    const { data, bytes, fPort, errors, warnings } = result as Record<string, unknown>
    const faults = notesOf(errors)
    if (faults.length > 0) return failed('script_errors', faults.join('; '))
    if (name === 'encodeDownlink') return finishBytes(bytes, fPort, notesOf(warnings))
    if (data === undefined) return failed('result_invalid', `${name} gave neither data nor errors`)
    return finish(data, notesOf(warnings))
  }

  const call = (run: AnyFunction, name: ScriptFunction, input: string): string => {
    const { fPort, bytes, recvTimeMs, variables, object } = parse(input) as GuestInput
    try {
      const isOlder = name === 'Decode' || name === 'Encode'
      const result = isOlder
        ? run(fPort, name === 'Decode' ? bytes : object, variables)
        : name === 'encodeDownlink'
          ? run({ data: object, variables })
          : run({ bytes, fPort, recvTime: new DateOf(recvTimeMs), variables })
      if (result instanceof Promise) {
        return failed('promise_returned', `${name} gave a promise; a codec has to answer at once, without async`)
      }
      if (name === 'Decode') return finish(result, [])
      if (name === 'Encode') return finishBytes(result, undefined, [])
      return finishAnswer(name, result)
    } catch (thrown) {
      return describe(thrown)
    }
  }

  const log = { log: print, info: print, warn: print, error: print, debug: print, trace: print }
  Object.defineProperty(globalThis, 'console', { value: log, writable: true, configurable: true })
  return { call, describe }
}
