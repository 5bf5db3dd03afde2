/**
 * Exit codes of the command line: 0 done, 1 refused or failed, 2 called in a wrong way or set up
 * wrongly.
 */
export type FailureExitCode = 1 | 2

/** A command can't go on. The message is shown to the person as it is, without a stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: FailureExitCode

  constructor(message: string, exitCode: FailureExitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
