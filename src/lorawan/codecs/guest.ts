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
 * The functions that a script may have. `Decoder` and `Encoder` are of older scripts for The Things
 * Stack, `Decode` and `Encode` of ChirpStack v3, and the others of TS013.
 */
export const SCRIPT_FUNCTIONS = [
  'decodeUplink',
  'Decode',
  'Decoder',
  'normalizeUplink',
  'encodeDownlink',
  'Encode',
  'Encoder',
  'decodeDownlink',
] as const

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

/** A value that may be found in the globals of a script, or among its exports. */
type Functions = Readonly<Record<string, unknown>>

interface Guest {
  /**
   * Calls the script's function, and returns the outcome as JSON. With `normalize` the member
   * `normalized` is added to the outcome of an uplink.
   */
  readonly call: (run: AnyFunction, name: ScriptFunction, input: string, normalize?: AnyFunction) => string
  /** Makes `exports` and `module` for a script that names them. */
  readonly provideExports: () => void
  /**
   * The functions of a script, bound to the object that has them. `globals` are the functions that
   * the script declares, `places` are objects that may have more of them. The first place counts.
   */
  readonly functionsOf: (globals: Functions, ...places: unknown[]) => Record<string, AnyFunction>
  /** Returns the description of an exception of the script, as JSON. */
  readonly describe: (thrown: unknown) => string
}

/** Makes `console` for the script, and returns the functions that the host calls. */
// oxlint-disable-next-line max-lines-per-function -- the text of one function goes into the engine
export function guestDriver(limits: GuestLimits, names: readonly ScriptFunction[]): Guest {
  const { parse, stringify } = JSON
  const { isArray, from } = Array
  const { isInteger } = Number
  const toText = String
  const DateOf = Date
  const lines: string[] = []
  const plainStart = '{"ok":true,"warnings":[],"console":[],"value":'

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

  /**
   * The normalized object as a member of the outcome. The decoded object reaches the events
   * whatever becomes of this, so a failure is a warning.
   */
  const normalizedBy = (normalize: AnyFunction, json: string, fPort: number, warnings: string[]): string => {
    let fault: string
    try {
      const result = (normalize({ data: parse(json), fPort }) ?? {}) as Record<string, unknown>
      const faults = notesOf(result.errors)
      const notes = notesOf(result.warnings)
      for (let index = 0; index < notes.length && warnings.length < limits.notes; index += 1) {
        warnings[warnings.length] = notes[index] as string
      }
      const normalized = stringify(result.data) as string | undefined
      if (faults.length === 0 && normalized !== undefined && normalized.length <= limits.outputLength) {
        return `,"normalized":${normalized}`
      }
      fault = faults.length > 0 ? faults.join('; ') : 'it gave no data, or too much'
    } catch (thrown) {
      fault = (parse(describe(thrown)) as { readonly message: string }).message
    }
    if (warnings.length < limits.notes) warnings[warnings.length] = cut(`normalizeUplink: ${fault}`, limits.textLength)
    return ''
  }

  /** The value as JSON, or the failure. */
  const finish = (value: unknown, warnings: string[], normalize?: AnyFunction, fPort = 0): string => {
    const json = stringify(value) as string | undefined
    if (json === undefined) return failed('result_invalid', 'the script gave nothing that JSON can express')
    if (json.length > limits.outputLength) {
      return failed('output_too_large', `the result has ${json.length} characters, more than ${limits.outputLength}`)
    }
    const normalized = normalize === undefined ? '' : normalizedBy(normalize, json, fPort, warnings)
    // Most calls have neither, and the engine takes some time for empty lists.
    if (warnings.length === 0 && lines.length === 0 && normalized === '') return plainStart + json + '}'
    return `{"ok":true,"warnings":${stringify(warnings)},"console":${stringify(lines)}${normalized},"value":${json}}`
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
  const finishAnswer = (name: string, result: unknown, normalize: AnyFunction | undefined, given: number): string => {
    if (typeof result !== 'object' || result === null) return failed('result_invalid', `${name} must give an object`)
    const { data, bytes, fPort, errors, warnings } = result as Record<string, unknown>
    const faults = notesOf(errors)
    if (faults.length > 0) return failed('script_errors', faults.join('; '))
    if (name === 'encodeDownlink') return finishBytes(bytes, fPort, notesOf(warnings))
    if (data === undefined) return failed('result_invalid', `${name} gave neither data nor errors`)
    return finish(data, notesOf(warnings), normalize, given)
  }

  const answerOf = (run: AnyFunction, name: ScriptFunction, input: GuestInput): unknown => {
    const { fPort, bytes, recvTimeMs, variables, object } = input
    if (name === 'Decode') return run(fPort, bytes, variables)
    if (name === 'Encode') return run(fPort, object, variables)
    if (name === 'Decoder') return run(bytes, fPort)
    if (name === 'Encoder') return run(object, fPort)
    if (name === 'encodeDownlink')
      return run(fPort === 0 ? { data: object, variables } : { data: object, fPort, variables })
    return run({ bytes, fPort, recvTime: new DateOf(recvTimeMs), variables })
  }

  const call = (run: AnyFunction, name: ScriptFunction, input: string, normalize?: AnyFunction): string => {
    try {
      const given = parse(input) as GuestInput
      const result = answerOf(run, name, given)
      if (result instanceof Promise) {
        return failed('promise_returned', `${name} gave a promise; a codec has to answer at once, without async`)
      }
      if (name === 'Decode' || name === 'Decoder') return finish(result, [], normalize, given.fPort)
      if (name === 'Encode' || name === 'Encoder') return finishBytes(result, undefined, [])
      return finishAnswer(name, result, normalize, given.fPort)
    } catch (thrown) {
      return describe(thrown)
    }
  }

  // oxlint-disable-next-line unicorn/consistent-function-scoping -- part of the evaluated text
  const provideExports = (): void => {
    const module = { exports: {} }
    Object.defineProperty(globalThis, 'module', { value: module, writable: true, configurable: true })
    Object.defineProperty(globalThis, 'exports', { value: module.exports, writable: true, configurable: true })
  }

  const functionsOf = (globals: Functions, ...places: unknown[]): Record<string, AnyFunction> => {
    const found: Record<string, AnyFunction> = {}
    const look = (place: unknown): void => {
      if (place === null || (typeof place !== 'object' && typeof place !== 'function')) return
      for (const name of names) {
        const one = (place as Functions)[name]
        if (found[name] === undefined && typeof one === 'function') found[name] = one.bind(place) as AnyFunction
      }
    }
    look(globals)
    for (const place of places) {
      if (place === null || typeof place !== 'object') continue
      look((place as Functions).driver)
      look(place)
      look((place as Functions).default)
    }
    return found
  }

  const log = { log: print, info: print, warn: print, error: print, debug: print, trace: print }
  Object.defineProperty(globalThis, 'console', { value: log, writable: true, configurable: true })
  return { call, provideExports, functionsOf, describe }
}
