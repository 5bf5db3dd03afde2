/** The streams and the environment of a command. */
import type { Readable } from 'node:stream'

/** The streams and the environment of the process, or of a test. */
export interface Terminal {
  /** Writes results, which people paste and programs read, to standard output. */
  out(text: string): void
  /** Writes notices and faults to standard error. */
  error(text: string): void
  readonly input: Readable
  /**
   * Whether standard input and standard error are a terminal. Only then questions and progress
   * lines make sense.
   */
  readonly isInteractive: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The streams and the environment of this process. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
  input: process.stdin,
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  environment: process.env,
}
