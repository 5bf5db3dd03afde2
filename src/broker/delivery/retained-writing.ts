/**
 * Writes the snapshot of the retained messages, at the node that is the home of it. A node that
 * becomes its home compares the snapshot with its own memory. So the nodes tell each other nothing,
 * and it does not matter how the earlier writer ended.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Nodes } from '../../nodes.ts'
import { retainedChange } from '../durable/retained-store.ts'
import type { Engine } from '../ports/engine.ts'
import type { Message, Place } from '../ports/message.ts'
import type { RetainedContent, RetainedEntry, RetainedSnapshot } from '../ports/retained-snapshot.ts'
import type { RetainedMessages } from './retained-messages.ts'

/** The thing that has a home: see `Homes`. */
const HOME_KEY = 'retained'
const HOME_MS = 2_000
/** Seconds between two looks whether the snapshot has a home. */
const TICKS_PER_LOOK = 10
/** Topics that changed and are not written; beyond it the whole snapshot is compared again. */
const MAXIMUM_CHANGED = 100_000
const CLOSE_MS = 5_000

export interface RetainedWritingOptions {
  readonly snapshot: RetainedSnapshot
  readonly nodes: Pick<Nodes, 'bus' | 'homes' | 'onGone' | 'onInherited'>
  readonly retained: RetainedMessages
  readonly engine: Pick<Engine, 'partitions' | 'tail'>
  readonly clock: Clock
  readonly log: Logger
}

export class RetainedWriting {
  readonly #options: RetainedWritingOptions
  /** The topics that changed since the last write, with the places that did it. */
  #changed = new Map<string, Place>()
  /** By partition: everything before these offsets is in the snapshot. */
  #mark: readonly number[] = []
  #isWriter = false
  #isStarted = false
  #isAsked = true
  #ticks = 0
  #work: Promise<void> | undefined

  constructor(options: RetainedWritingOptions) {
    this.#options = options
    options.nodes.onGone(() => {
      this.#isAsked = true
    })
    options.nodes.onInherited(() => {
      this.#isAsked = true
      return Promise.resolve()
    })
  }

  /** A message has set or removed the retained message of its Topic Name. */
  changed(message: Message): void {
    // An earlier writer was further in the log, and has this or something later.
    if (message.offset >= (this.#mark[message.partition] ?? 0)) this.removed(message)
  }

  /** The retained message was removed, or changed, and the snapshot does not know it. */
  removed({ topicName, partition, offset }: Message): void {
    if (!this.#isWriter) return
    this.#changed.set(topicName, { partition, offset })
    if (this.#changed.size <= MAXIMUM_CHANGED) return
    this.#resign()
    this.#isAsked = true
  }

  /**
   * Writes the first snapshot of the deployment, if this node is its home. `restore` fills the
   * memory. False: there is a snapshot by now, or another node is its home.
   */
  async begin(restore: () => void): Promise<boolean> {
    try {
      if (!(await this.#isHome())) return false
      const content = await this.#options.snapshot.lock()
      if (content.mark !== undefined) return false
      restore()
      return await this.#takeOver(content)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'retained.snapshot_failed')
      return false
    }
  }

  /** The memory has all retained messages from here on. */
  start(): void {
    this.#isStarted = true
  }

  tick(): void {
    this.#ticks += 1
    if (this.#work !== undefined || !this.#isStarted) return
    if (!this.#isWriter) {
      if (this.#isAsked || this.#ticks % TICKS_PER_LOOK === 0) this.#begin(() => this.#become())
    } else if (this.#changed.size > 0 || this.#isBehind()) {
      this.#begin(() => this.#write())
    }
  }

  async close(): Promise<void> {
    const { clock } = this.#options
    const last = async (): Promise<void> => {
      await this.#work
      if (this.#isWriter) await this.#write()
    }
    await new Promise<void>((resolve) => {
      const cancel = clock.after(CLOSE_MS, resolve)
      void last()
        .catch(() => undefined)
        .finally(() => {
          cancel()
          resolve()
        })
    })
    this.#options.snapshot.close()
    this.#isStarted = false
    this.#resign()
  }

  #begin(run: () => Promise<unknown>): void {
    this.#work = run()
      .catch((error: unknown) => {
        this.#isAsked = true
        this.#options.log.warn({ err: error }, 'retained.snapshot_failed')
      })
      .then(() => {
        this.#work = undefined
      })
  }

  async #become(): Promise<void> {
    this.#isAsked = false
    if (await this.#isHome()) await this.#takeOver(await this.#options.snapshot.lock())
  }

  async #isHome(): Promise<boolean> {
    const { homes, bus } = this.#options.nodes
    const found = await homes.find(HOME_KEY, HOME_MS)
    if (found.node === undefined) return await homes.take(HOME_KEY, found)
    return found.node.incarnation === bus.self.incarnation
  }

  /** Goes on from what an earlier writer has left. */
  async #takeOver({ entries, mark }: RetainedContent): Promise<boolean> {
    this.#changed = this.#differences(entries)
    this.#mark = mark ?? []
    this.#isWriter = true
    return await this.#write()
  }

  /** The topics of which the memory knows something later than the entries. */
  #differences(entries: Iterable<RetainedEntry>): Map<string, Place> {
    const { retained, engine } = this.#options
    const changed = new Map<string, Place>()
    const same = new Set<string>()
    for (const { topicName, partition, offset, record } of entries) {
      const message = retained.find(topicName)
      if (message !== undefined) {
        if (message.offset <= offset) same.add(topicName)
      } else if (record !== undefined && (partition < 0 || offset < engine.tail(partition)))
        changed.set(topicName, { partition, offset })
    }
    for (const topicName of retained.topicNames('')) {
      const message = same.has(topicName) ? undefined : retained.find(topicName)
      if (message !== undefined) changed.set(topicName, message)
    }
    return changed
  }

  #tails(): number[] {
    const { engine } = this.#options
    return Array.from({ length: engine.partitions }, (_, partition) =>
      Math.max(engine.tail(partition), this.#mark[partition] ?? 0),
    )
  }

  #isBehind(): boolean {
    return this.#tails().some((tail, partition) => tail !== this.#mark[partition])
  }

  /** False: another process is the writer. */
  async #write(): Promise<boolean> {
    const mark = this.#tails()
    const entries = [...this.#changed].map(([topicName, place]) => this.#entryOf(topicName, place))
    this.#changed = new Map()
    const isWritten = await this.#options.snapshot.write(entries, mark)
    if (isWritten) this.#mark = mark
    else this.#resign()
    return isWritten
  }

  #entryOf(topicName: string, { partition, offset }: Place): RetainedEntry {
    const { retained } = this.#options
    const message = retained.find(topicName)
    if (message === undefined) return { topicName, partition, offset, record: undefined }
    const { value } = retainedChange(message, retained.tenantOf(message), message.ownedAtMs)
    return { topicName, partition: message.partition, offset: message.offset, record: value }
  }

  #resign(): void {
    this.#isWriter = false
    this.#changed = new Map()
  }
}
