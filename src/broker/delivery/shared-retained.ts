/**
 * The retained messages in a deployment of several nodes. All nodes set and remove them as the log
 * tells it, so all agree. A node that starts loads what it missed from a snapshot.
 */
import type { Clock } from '../../clock.ts'
import { later } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Nodes } from '../../nodes.ts'
import { retainedMessage } from '../durable/retained-store.ts'
import type { Engine, StateEntry } from '../ports/engine.ts'
import { hasExpired } from '../ports/message.ts'
import type { Message } from '../ports/message.ts'
import type { RetainedContent, RetainedEntry, RetainedSnapshot } from '../ports/retained-snapshot.ts'
import type { RetainedMessages } from './retained-messages.ts'
import { RetainedWriting } from './retained-writing.ts'

const REMOVED = 'retained.removed'
/** Bytes of a list of removed messages for the other nodes; the bus takes 900,000. */
const LIST_BYTES = 500_000
const MESSAGES_PER_READ = 1_000
/** How long a start waits for the first snapshot of a deployment, ms. */
const FIRST_MS = 60_000
const AGAIN_MS = 200

export interface SharedRetainedOptions {
  readonly snapshot: RetainedSnapshot
  readonly nodes: Nodes
  readonly retained: RetainedMessages
  readonly engine: Pick<Engine, 'partitions' | 'read' | 'tail'>
  readonly clock: Clock
  readonly log: Logger
}

/** A retained message that is over, as the nodes tell each other. */
interface RemovedMessage {
  readonly topicName: string
  readonly offset: number
}

export class SharedRetained {
  readonly #options: SharedRetainedOptions
  readonly #writing: RetainedWriting
  /**
   * While the snapshot is loaded: the offsets of the messages that removed a retained one. It has
   * an entry for each Topic Name at most. Undefined afterwards.
   */
  #removedAt: Map<string, number> | undefined = new Map()

  constructor(options: SharedRetainedOptions) {
    this.#options = options
    this.#writing = new RetainedWriting(options)
    options.nodes.bus.hear(REMOVED, (body) => this.#hear(body))
  }

  /** Takes a message with RETAIN as it arrives in the log. */
  set(message: Message): void {
    this.#options.retained.set(message)
    if (message.payloadBytes === 0) this.#removedAt?.set(message.topicName, message.offset)
    this.#writing.changed(message)
  }

  /** Removes retained messages here and at the other nodes, whose topics are over. */
  remove(topicNames: readonly string[]): void {
    let list: RemovedMessage[] = []
    let bytes = 0
    for (const topicName of topicNames) {
      const message = this.#options.retained.find(topicName)
      if (message === undefined) continue
      this.#remove(message)
      list.push({ topicName, offset: message.offset })
      bytes += 32 + 2 * Buffer.byteLength(topicName)
      if (bytes < LIST_BYTES) continue
      this.#tell(list)
      list = []
      bytes = 0
    }
    if (list.length > 0) this.#tell(list)
  }

  /**
   * Loads the snapshot and what the log has behind it. Call once at the start, when the engine is
   * open. Where nobody has written a snapshot yet, this node writes the first one, with the
   * messages of its own state: then true. Rejects when the servers do not answer, or the first
   * snapshot does not come within 60 s.
   */
  async load(own: readonly StateEntry[]): Promise<boolean> {
    const { snapshot, clock } = this.#options
    const deadline = later(clock.steady(), FIRST_MS)
    for (;;) {
      const content = await snapshot.load()
      const isFirst = content.mark === undefined && (await this.#writing.begin(() => this.#restoreOwn(own)))
      if (isFirst || content.mark !== undefined) {
        if (!isFirst) await this.#take(content)
        this.#removedAt = undefined
        this.#writing.start()
        return isFirst
      }
      if (clock.steady() >= deadline) throw new Error('No node has written the retained messages of the deployment.')
      await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
    }
  }

  /** A second has passed. */
  tick(): void {
    this.#writing.tick()
  }

  /** Writes what is still to be written, if the servers take it in time. */
  async close(): Promise<void> {
    await this.#writing.close()
  }

  async #take({ entries, mark }: RetainedContent): Promise<void> {
    const { engine, log } = this.#options
    for (const entry of entries) this.#restore(entry)
    for (let partition = 0; partition < engine.partitions; partition += 1) {
      const tail = engine.tail(partition)
      for (let from = mark?.[partition] ?? tail; from < tail;) {
        const { messages, next, lost } = await engine.read(partition, from, MESSAGES_PER_READ)
        // Retained messages may be among them: nobody wrote a snapshot for as long as retention.
        if (lost > 0) log.error({ partition, lost }, 'retained.messages_lost')
        for (const message of messages) if (message.retain) this.#replay(message)
        from = next
      }
    }
  }

  /** True when something later is known of the Topic Name than a message with this offset. */
  #isKnown(topicName: string, offset: number): boolean {
    const known = this.#options.retained.find(topicName)?.offset ?? -Infinity
    return Math.max(known, this.#removedAt?.get(topicName) ?? -Infinity) >= offset
  }

  #restore({ topicName, partition, offset, record }: RetainedEntry): void {
    const { retained, clock } = this.#options
    if (this.#isKnown(topicName, offset)) return
    if (record === undefined) {
      this.#removedAt?.set(topicName, offset)
      return
    }
    const { message, tenant } = retainedMessage({ key: '', value: record })
    message.partition = partition
    message.offset = offset
    if (!hasExpired(message, clock.steady())) retained.restore(message, tenant)
  }

  #replay(message: Message): void {
    const { topicName, offset, payload } = message
    if (this.#isKnown(topicName, offset)) return
    this.#options.retained.set(message)
    if (payload.length === 0) this.#removedAt?.set(topicName, offset)
  }

  /** Takes the retained messages of a time when this node was the only one. */
  #restoreOwn(own: readonly StateEntry[]): void {
    const { retained, clock } = this.#options
    for (const entry of own) {
      const { message, tenant } = retainedMessage(entry)
      const isKnown = this.#isKnown(message.topicName, message.offset)
      if (!isKnown && !hasExpired(message, clock.steady())) retained.restore(message, tenant)
    }
  }

  #remove(message: Message): void {
    this.#options.retained.remove(message.topicName)
    this.#writing.removed(message)
  }

  #tell(list: readonly RemovedMessage[]): void {
    this.#options.nodes.bus.cast(REMOVED, Buffer.from(JSON.stringify(list)))
  }

  #hear(body: Buffer): void {
    for (const { topicName, offset } of JSON.parse(body.toString()) as readonly RemovedMessage[]) {
      const message = this.#options.retained.find(topicName)
      // A later message belongs to a topic that began anew.
      if (message !== undefined && message.offset <= offset) this.#remove(message)
    }
  }
}
