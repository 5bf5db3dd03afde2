/**
 * Failures of commands and their exit codes: 1 for a refused or failed command, 2 for a wrong call
 * or wrong settings. A command that succeeds exits with 0.
 */

/** The exit code of a failure. */
export type FailureExitCode = 1 | 2

/** A command can't go on. The message is shown as it is, without a stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: FailureExitCode

  constructor(message: string, exitCode: FailureExitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
