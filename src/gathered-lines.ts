/**
 * Lines that are written together: each write to standard error by another thread costs 50 µs, and
 * pino's destination copies all that waits there for each line that comes.
 */
import type { Clock } from './clock.ts'

/** Lines gather for this long, ms. */
const GATHER_MS = 50
/** Lines are written earlier than after `GATHER_MS` when there are this many characters. */
const GATHER_CHARACTERS = 16_000

export class GatheredLines {
  readonly #clock: Pick<Clock, 'after'>
  readonly #write: (lines: string) => void
  #lines = ''
  #isGathering = false

  /** `write` takes whole lines, newlines included. */
  constructor(clock: Pick<Clock, 'after'>, write: (lines: string) => void) {
    this.#clock = clock
    this.#write = write
  }

  /** Adds a line, newline included. */
  add(line: string): void {
    this.#lines += line
    if (this.#lines.length >= GATHER_CHARACTERS) this.#flush()
    else if (!this.#isGathering) {
      this.#isGathering = true
      this.#clock.after(GATHER_MS, () => {
        this.#isGathering = false
        this.#flush()
      })
    }
  }

  /** The lines that have gathered. The caller writes them. */
  take(): string {
    const lines = this.#lines
    this.#lines = ''
    return lines
  }

  #flush(): void {
    const lines = this.take()
    if (lines !== '') this.#write(lines)
  }
}
