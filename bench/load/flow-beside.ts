/**
 * A flow in a thread of its own, so that its latency is not the latency of the load in the
 * generator's main thread. The main thread says when the window ends.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FlowJob, FlowResult, Target } from './job.ts'

/** The thread's work. */
export interface Work {
  readonly target: Target
  readonly job: FlowJob
}

/** The thread's first message: the window has begun. The flow's result follows. */
export const BEGUN = 'begun'
/** The message to the thread: the window ends. */
const END = 'end'

export class FlowBeside {
  readonly #worker: Worker
  /** Settled when the thread has ended. */
  readonly #result: Promise<FlowResult>

  private constructor(work: Work) {
    this.#worker = new Worker(new URL('./flow-thread.ts', import.meta.url), { workerData: work })
    const { promise, resolve, reject } = Promise.withResolvers<FlowResult>()
    this.#result = promise
    // A fault counts when the result is asked for.
    promise.catch(() => {})
    this.#worker.on('message', (said: typeof BEGUN | FlowResult) => {
      if (said !== BEGUN) resolve(said)
    })
    this.#worker.once('error', reject)
    this.#worker.once('exit', () => reject(new Error('the flow beside ended without a result')))
  }

  /** Resolves when the warm-up is over and the measured window begins. */
  static async start(target: Target, job: FlowJob): Promise<FlowBeside> {
    const flow = new FlowBeside({ target, job })
    await Promise.race([once(flow.#worker, 'message'), flow.#result])
    return flow
  }

  /** Ends the window. Throws the fault of the flow. */
  end(): Promise<FlowResult> {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(END)
    return this.#result
  }
}
