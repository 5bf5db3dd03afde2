/** The hook by which a program sees what the SDK does. */

/** One step of the SDK. `message` is `noun.verb`. Never a token, a password or a payload. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly [field: string]: unknown
}

/** Takes each entry of the log. It must not throw. */
export type Log = (entry: LogEntry) => void
