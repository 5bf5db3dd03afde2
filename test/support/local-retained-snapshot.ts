/** A snapshot of retained messages in memory, which the nodes of a test share. */
import type { RetainedContent, RetainedEntry, RetainedSnapshot } from '../../src/broker/ports/retained-snapshot.ts'

export class LocalRetainedStore {
  readonly entries = new Map<string, RetainedEntry>()
  mark: readonly number[] | undefined = undefined
  /** The entries that were written, by write. */
  readonly writes: number[] = []
  /** The node that may write. */
  writer: LocalRetainedSnapshot | undefined = undefined

  join(): LocalRetainedSnapshot {
    return new LocalRetainedSnapshot(this)
  }

  /** The Topic Names with a retained message. */
  topicNames(): string[] {
    const kept = [...this.entries.values()].filter(({ record }) => record !== undefined)
    return kept.map(({ topicName }) => topicName).toSorted()
  }
}

export class LocalRetainedSnapshot implements RetainedSnapshot {
  readonly #store: LocalRetainedStore
  #isClosed = false

  constructor(store: LocalRetainedStore) {
    this.#store = store
  }

  load(): Promise<RetainedContent> {
    return Promise.resolve({ entries: [...this.#store.entries.values()], mark: this.#store.mark })
  }

  lock(): Promise<RetainedContent> {
    this.#store.writer = this
    return this.load()
  }

  async write(entries: readonly RetainedEntry[], mark: readonly number[]): Promise<boolean> {
    await Promise.resolve()
    if (this.#isClosed || this.#store.writer !== this) return false
    for (const entry of entries) this.#store.entries.set(entry.topicName, entry)
    this.#store.mark = mark
    this.#store.writes.push(entries.length)
    return true
  }

  close(): void {
    this.#isClosed = true
  }
}
