/** Writes the state that changed to its stream, and shortens the journal behind it. */
import type { Clock } from '../../clock.ts'
import type { NatsLink } from './nats-link.ts'
import type { NatsState } from './nats-state.ts'
import type { PartitionLog } from './partition-log.ts'
import type { RequestsUnderWay } from './requests-under-way.ts'

export interface StateSavingOptions {
  readonly link: NatsLink
  readonly state: NatsState
  readonly requests: RequestsUnderWay
  /** The partitions, and behind them the journal. */
  readonly logs: readonly PartitionLog[]
  /** The name of the journal's stream. */
  readonly journal: string
  /** Another process has the node's place: nothing of the state can be written any more. */
  readonly fenced: () => void
}

export class StateSaving {
  readonly #options: StateSavingOptions
  #saving: Promise<void> | undefined
  #isClosed = false

  constructor(options: StateSavingOptions) {
    this.#options = options
  }

  /** Begins to save, unless there is nothing to save, or it is under way. */
  begin(): void {
    if (!this.#isClosed && !this.#options.state.isSaved) void this.save()
  }

  /** Saves. Waits for servers that do not answer. */
  save(): Promise<void> {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined
    })
    return this.#saving
  }

  /** Saves everything, unless that takes longer than the time, ms. Then saves nothing more. */
  async close(clock: Clock, timeoutMs: number): Promise<void> {
    const cancel = clock.after(timeoutMs, () => this.stop())
    await this.#saving
    if (!this.#isClosed) await this.save()
    cancel()
    this.stop()
  }

  /** Saves nothing from here on. */
  stop(): void {
    this.#isClosed = true
    this.#options.state.close()
  }

  async #save(): Promise<void> {
    const { link, state, requests, logs, journal, fenced } = this.#options
    const sequences = logs.map(({ sequence }) => sequence)
    const marked = await state.save({ number: requests.nextNumber, sequences }, requests.lowestWithChanges)
    if (marked === undefined) {
      if (!this.#isClosed) fenced()
      return
    }
    const upTo = marked.at(-1) ?? 0
    // The envelope of the mark stays, so that the node's last sequence is known.
    if (upTo > 1) await link.manager.streams.purge(journal, { seq: upTo }).catch(() => undefined)
  }
}
