/** The progress of long work, in bytes. */
import type { Terminal } from './terminal.ts'

/** How often the line is rewritten on a terminal. */
const INTERACTIVE_MS = 200
/** How often a new line is written when there is no terminal. */
const LINE_MS = 10_000

/**
 * Shows the progress of long work on standard error. On a terminal it rewrites one line; otherwise
 * it writes a new line now and then. Short work shows no progress.
 */
export class Progress {
  readonly #terminal: Terminal
  readonly #verb: string
  readonly #now: () => number
  #toldAtMs: number
  #bytes = 0
  #hasTold = false

  /** `verb` is the participle after the number of bytes: `written`. */
  constructor(terminal: Terminal, verb: string, now: () => number) {
    this.#terminal = terminal
    this.#verb = verb
    this.#now = now
    this.#toldAtMs = now()
  }

  /** Counts more bytes. */
  add(bytes: number): void {
    this.#bytes += bytes
    const { isInteractive } = this.#terminal
    const nowMs = this.#now()
    if (nowMs - this.#toldAtMs < (isInteractive ? INTERACTIVE_MS : LINE_MS)) return
    this.#toldAtMs = nowMs
    this.#hasTold = true
    const text = `${formatBytes(this.#bytes)} ${this.#verb}`
    this.#terminal.error(isInteractive ? `\r${text}` : `${text}\n`)
  }

  /** Ends the line on a terminal. */
  end(): void {
    if (this.#hasTold && this.#terminal.isInteractive) this.#terminal.error('\n')
  }
}

/** A number of bytes for people: `12.4 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
