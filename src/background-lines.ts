/**
 * Lines that another thread writes, so that a slow reader never stalls the service. At the end of
 * the process nothing of this thread's turns comes any more, so the last lines are written at once,
 * behind the lines that are under way.
 */
import type { Clock } from './clock.ts'
import { GatheredLines } from './gathered-lines.ts'

/** Writes texts by another thread, in order. */
export interface BackgroundStream {
  /** Throws when the place of the lines is gone. */
  write(text: string): void
  /** Writes the texts that wait, at once. A text that is under way is left to the other thread. */
  flushSync(): void
  /** The listener is called when no text is under way any more: all are written, or one failed. */
  onIdle(listener: () => void): void
}

/**
 * The other thread gets this time for a text that is under way at the end, ms. On an idle machine
 * it takes less than one.
 */
const UNDER_WAY_MS = 100

export class BackgroundLines {
  readonly #stream: BackgroundStream
  readonly #clock: Pick<Clock, 'after' | 'rest'>
  readonly #writeLast: (text: string) => void
  readonly #lines: GatheredLines
  #isUnderWay = false

  /** `writeLast` writes before it returns. */
  constructor(stream: BackgroundStream, clock: Pick<Clock, 'after' | 'rest'>, writeLast: (text: string) => void) {
    this.#stream = stream
    this.#clock = clock
    this.#writeLast = writeLast
    this.#lines = new GatheredLines(clock, (text) => this.#write(text))
    stream.onIdle(() => {
      this.#isUnderWay = false
    })
  }

  /** Takes a line, newline included. */
  write(line: string): void {
    this.#lines.add(line)
  }

  /**
   * Writes all lines before it returns. A text that the other thread has not begun after 100 ms can
   * come late, or not at all where the process ends.
   */
  flushSync(): void {
    try {
      // The process must not end before the other thread has written, and no line may overtake.
      if (this.#isUnderWay) this.#clock.rest(UNDER_WAY_MS)
      this.#isUnderWay = false
      this.#stream.flushSync()
      this.#writeLast(this.#lines.take())
    } catch {
      // The place of the lines is gone (a closed terminal, a dead pipe). Nobody is left to tell.
    }
  }

  #write(text: string): void {
    try {
      this.#stream.write(text)
      this.#isUnderWay = true
    } catch {
      // As above.
    }
  }
}
