import type { Readable } from 'node:stream'

/** What a command talks with: the process's streams and environment, or a test's. */
export interface Terminal {
  /** Results: what a person pastes and a program reads. */
  out(text: string): void
  /** Notices and faults. */
  error(text: string): void
  readonly input: Readable
  /**
   * Whether a person sits at standard input and standard error, so that a question or a progress
   * line makes sense.
   */
  readonly isInteractive: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The process's own. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
  input: process.stdin,
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  environment: process.env,
}
