/**
 * Caches decoded messages in runs of 64 offsets. Many Sessions that are a little behind on the same
 * partition share the messages, and with them the PUBLISH, which is encoded only once.
 */
import type { Message } from '../../broker/ports/message.ts'

const RUN = 64

interface Run {
  readonly messages: (Message | undefined)[]
  bytes: number
}

export class DecodedMessages {
  readonly #partitions: number
  readonly #maximumBytes: number
  /** The runs; the first is the one used longest ago. */
  readonly #runs = new Map<number, Run>()
  #bytes = 0
  #lastKey = -1
  #last: Run | undefined = undefined

  /**
   * `maximumBytes`: the approximate bound on the messages; beyond it, the runs used longest ago are
   * dropped.
   */
  constructor(partitions: number, maximumBytes: number) {
    this.#partitions = partitions
    this.#maximumBytes = maximumBytes
  }

  get(partition: number, offset: number): Message | undefined {
    return this.#run(partition, offset)?.messages[offset % RUN]
  }

  add(message: Message): void {
    const { partition, offset } = message
    let run = this.#run(partition, offset)
    if (run === undefined) {
      run = { messages: Array.from({ length: RUN }, () => undefined), bytes: 0 }
      this.#lastKey = this.#key(partition, offset)
      this.#last = run
      this.#runs.set(this.#lastKey, run)
    }
    run.messages[offset % RUN] = message
    const bytes = message.sizeBytes
    run.bytes += bytes
    this.#bytes += bytes
    if (this.#bytes <= this.#maximumBytes) return
    for (const [key, oldest] of this.#runs) {
      if (this.#bytes <= this.#maximumBytes || oldest === run) return
      this.#runs.delete(key)
      this.#bytes -= oldest.bytes
    }
  }

  #run(partition: number, offset: number): Run | undefined {
    const key = this.#key(partition, offset)
    if (key === this.#lastKey) return this.#last
    const run = this.#runs.get(key)
    if (run !== undefined) {
      this.#runs.delete(key)
      this.#runs.set(key, run)
      this.#lastKey = key
      this.#last = run
    }
    return run
  }

  #key(partition: number, offset: number): number {
    return Math.floor(offset / RUN) * this.#partitions + partition
  }
}
