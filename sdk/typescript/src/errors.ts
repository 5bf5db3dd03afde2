/**
 * The one class of errors of this package, and the rule that tells temporary faults from final
 * ones.
 */

/** Members of an error beside its code and its sentence. */
export interface FieldgateErrorDetails {
  /** True: the same action may succeed later. The SDK repeats these by itself. */
  readonly isTemporary?: boolean
  /** The status of the HTTP answer. */
  readonly status?: number
  /** The Reason Code of the MQTT packet. */
  readonly reasonCode?: number
  /** The time that the service asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
  /** The command that the error is about. */
  readonly commandId?: string
  readonly cause?: unknown
}

/**
 * Every failure that this package reports. `code` is stable: either a code of the service's page of
 * errors, such as `login_failed` or `command_out_of_range`, or one of the SDK's own, which
 * `docs/sdk-typescript.md` lists. `message` is a sentence for a person.
 */
export class FieldgateError extends Error {
  readonly code: string
  readonly isTemporary: boolean
  readonly status: number | undefined
  readonly reasonCode: number | undefined
  readonly retryAfterMs: number | undefined
  readonly commandId: string | undefined

  constructor(code: string, message: string, details: FieldgateErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'FieldgateError'
    this.code = code
    this.isTemporary = details.isTemporary ?? false
    this.status = details.status
    this.reasonCode = details.reasonCode
    this.retryAfterMs = details.retryAfterMs
    this.commandId = details.commandId
  }
}

/** An error of this package as it is; anything else as a temporary `connection_failed`. */
export function asFieldgateError(error: unknown): FieldgateError {
  if (error instanceof FieldgateError) return error
  const sentence = error instanceof Error ? error.message : String(error)
  return new FieldgateError('connection_failed', sentence, { isTemporary: true, cause: error })
}
