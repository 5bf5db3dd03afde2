/** The outcomes of running a tenant's script. */

/** Stable codes of the faults of scripts; docs/errors.md has a paragraph for each. */
export type ScriptFaultCode =
  | 'script_missing'
  | 'script_too_long'
  | 'script_exception'
  | 'script_errors'
  | 'function_missing'
  | 'promise_returned'
  | 'result_invalid'
  | 'input_too_large'
  | 'output_too_large'
  | 'output_too_deep'
  | 'time_exceeded'
  | 'memory_exceeded'
  | 'stack_exceeded'
  | 'engine_failed'
  | 'script_quarantined'
  | 'codec_busy'
  | 'codec_time_used'
  | 'shutting_down'

export interface ScriptFault {
  readonly ok: false
  readonly code: ScriptFaultCode
  /** A sentence; for an exception its own text. */
  readonly message: string
  /** Line of the script, from 1; undefined where none is known. */
  readonly line: number | undefined
  /** Column of that line, from 1; undefined where none is known. */
  readonly column?: number | undefined
  readonly console: readonly string[]
}

export interface ScriptSuccess {
  readonly ok: true
  /** The result as JSON. */
  readonly json: string
  /** The result of the script's `normalizeUplink` as JSON, if it has this function. */
  readonly normalizedJson?: string
  readonly warnings: readonly string[]
  readonly console: readonly string[]
}

export type ScriptOutcome = ScriptSuccess | ScriptFault

/** A fault that the host found or made. The script has no part in its text. */
export function scriptFault(code: ScriptFaultCode, message: string): ScriptFault {
  return { ok: false, code, message, line: undefined, console: [] }
}
