/**
 * The turns of webhooks that read the log. A webhook that was away for hours reads a lot: few read
 * at the same time, and the organizations take turns, so that the broker's own clients and the
 * other organizations do not wait.
 */

/** Reads at the same time, of all organizations. */
const MAXIMUM_READS = 2

export class ReadTurns {
  /** By organization: the reads that wait. Each webhook has one read at most, which bounds this. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #running = 0

  /** Runs the read when it is the organization's turn. Rejects as the read does. */
  async run<Value>(organizationId: string, read: () => Promise<Value>): Promise<Value> {
    if (this.#running >= MAXIMUM_READS) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const queue = this.#waiting.get(organizationId) ?? []
      queue.push(resolve)
      this.#waiting.set(organizationId, queue)
      await promise
    } else this.#running += 1
    try {
      return await read()
    } finally {
      this.#next()
    }
  }

  /** Hands the turn to the organization that has waited longest since its last turn. */
  #next(): void {
    for (const [organizationId, queue] of this.#waiting) {
      const start = queue.shift()
      this.#waiting.delete(organizationId)
      if (queue.length > 0) this.#waiting.set(organizationId, queue)
      if (start === undefined) continue
      start()
      return
    }
    this.#running -= 1
  }
}
