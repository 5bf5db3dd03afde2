import type { Terminal } from './terminal.ts'

/** For people, who watch; */
const INTERACTIVE_MS = 200
/** and for the log of a program that runs it. */
const LINE_MS = 10_000

/**
 * Tells on standard error how far long work is: in place where a person sits there, else a line now
 * and then. Short work says nothing.
 */
export class Progress {
  readonly #terminal: Terminal
  readonly #verb: string
  readonly #now: () => number
  #toldAtMs: number
  #bytes = 0
  #hasTold = false

  /** `verb`: what is done with the bytes, `written`. */
  constructor(terminal: Terminal, verb: string, now: () => number) {
    this.#terminal = terminal
    this.#verb = verb
    this.#now = now
    this.#toldAtMs = now()
  }

  /** So many more. */
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

  /** Ends the line. */
  end(): void {
    if (this.#hasTold && this.#terminal.isInteractive) this.#terminal.error('\n')
  }
}

/** Bytes for people: `12.4 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
