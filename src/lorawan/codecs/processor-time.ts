/**
 * Shares the processor time of a thread out to its jobs. The kernel counts this time exactly, and
 * tells it late: at a tick of some ms, which is much longer than most jobs. So a job is charged for
 * the time that passed, as far as the thread has got so much time of a processor.
 */

/**
 * Time of a processor that no job was charged for, and that may still be charged. Longer than the
 * tick of a kernel.
 */
const MAXIMUM_UNCHARGED_MS = 20

/** The processor time of one thread. */
export class ProcessorTime {
  readonly #processorMs: () => number
  #chargedMs: number

  /** `processorMs` tells the time of a processor that the thread has got until now. */
  constructor(processorMs: () => number) {
    this.#processorMs = processorMs
    this.#chargedMs = processorMs()
  }

  /** The processor time of a job during which `elapsedMs` passed. To be called when it is over. */
  charge(elapsedMs: number): number {
    const nowMs = this.#processorMs()
    const uncharged = nowMs - this.#chargedMs
    const jobMs = Math.min(elapsedMs, Math.max(0, uncharged))
    this.#chargedMs = Math.max(this.#chargedMs + jobMs, nowMs - MAXIMUM_UNCHARGED_MS)
    return jobMs
  }
}
