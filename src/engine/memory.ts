/**
 * The memory engine: a log that lives as long as the process, for tests, for the core alone and for deployments that accept
 * to lose what was in flight when the process ends. It keeps a message while a reader still has to read it, and, told so, a span of what was last.
 */
import type {
  AppendRequest,
  Engine,
  EngineHealth,
  EngineUsage,
  LogReaders,
  ReadResult,
  ScanQuery,
  ScanResult,
  StateChange,
  StateEntry,
  StateRequest,
} from '../broker/engine.ts'
import type { Message } from '../broker/message.ts'

export interface MemoryEngineOptions {
  readonly partitions?: number
  /** Bytes of messages kept for readers that are behind; the partition that holds most loses its oldest beyond. */
  readonly maximumBytes?: number
  /** Messages of each partition that are kept though all readers have read them, for history; within `maximumBytes`. Default: none. */
  readonly retainedMessages?: number
  readonly clock?: { now(): number }
}

interface WaitingMessage {
  readonly partition: number
  readonly request: AppendRequest
}

interface Partition {
  readonly messages: Message[]
  /** The offset of `messages[0]`. */
  first: number
  tail: number
  bytes: number
}

const EMPTY: ReadResult = { messages: [], offsets: [], next: 0, lost: 0 }

export class MemoryEngine implements Engine {
  readonly partitions: number
  readonly isDurable: boolean = false
  readonly #maximumBytes: number
  readonly #retainedMessages: number
  readonly #clock: { now(): number }
  readonly #partitions: Partition[]
  #readers: LogReaders = { lowestNeeded: () => Infinity }
  #waiting: (WaitingMessage | StateRequest)[] = []
  readonly #state = new Map<string, Buffer>()
  #bytes = 0

  constructor(options: MemoryEngineOptions = {}) {
    this.partitions = options.partitions ?? 64
    this.#maximumBytes = options.maximumBytes ?? 1_073_741_824
    this.#retainedMessages = options.retainedMessages ?? 0
    this.#clock = options.clock ?? Date
    this.#partitions = Array.from({ length: this.partitions }, () => ({ messages: [], first: 0, tail: 0, bytes: 0 }))
  }

  open(readers: LogReaders): Promise<void> {
    this.#readers = readers
    return Promise.resolve()
  }

  tail(partition: number): number {
    return this.#partition(partition).tail
  }

  append(partition: number, request: AppendRequest): void {
    this.#wait({ partition, request })
  }

  write(request: StateRequest): void {
    this.#wait(request)
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    for (const key of [...this.#state.keys()].toSorted()) {
      const value = this.#state.get(key)
      if (value !== undefined && key.startsWith(prefix)) yield { key, value: Buffer.from(value) }
    }
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult {
    const log = this.#partition(partition)
    const start = Math.max(from, log.first)
    if (start >= log.tail) return { ...EMPTY, next: log.tail, lost: Math.max(0, log.tail - from) }
    const messages = log.messages.slice(start - log.first, start - log.first + maximumMessages)
    const offsets = messages.map((_, index) => start + index)
    return { messages, offsets, next: start + messages.length, lost: start - from }
  }

  offsetAt(partition: number, timeMs: number): Promise<number> {
    const { messages, first } = this.#partition(partition)
    const older = messages.findLastIndex((message) => message.ownedAtMs < timeMs)
    return Promise.resolve(first + older + 1)
  }

  usage(): EngineUsage {
    let messages = 0
    let oldestAtMs: number | undefined
    for (const { messages: held } of this.#partitions) {
      messages += held.length
      const first = held[0]?.ownedAtMs
      if (first !== undefined && first < (oldestAtMs ?? Infinity)) oldestAtMs = first
    }
    return { messages, bytes: this.#bytes, oldestAtMs }
  }

  scan(query: ScanQuery): Promise<ScanResult> {
    const { topicPrefix, accepts, fromMs = 0, toMs = Infinity, afterOffset, direction, maximumMessages } = query
    const isForward = direction === 'oldest first'
    const { messages } = this.#partition(query.partition)
    const found = (isForward ? messages : messages.toReversed()).filter(
      ({ topicName, offset, ownedAtMs }) =>
        topicName.startsWith(topicPrefix) &&
        (accepts?.(topicName) ?? true) &&
        ownedAtMs >= fromMs &&
        ownedAtMs < toMs &&
        (afterOffset === undefined || (isForward ? offset > afterOffset : offset < afterOffset)),
    )
    const more = found.length > maximumMessages
    const page = found.slice(0, maximumMessages)
    return Promise.resolve({ messages: page, more, nextAfterOffset: more ? page.at(-1)?.offset : undefined })
  }

  health(): EngineHealth {
    return { canWrite: true, reason: '' }
  }

  /** What was asked of it before is committed by then: that takes one microtask, which is before this one's. */
  async close(): Promise<void> {
    await Promise.resolve()
  }

  #partition(partition: number): Partition {
    return this.#partitions[partition] as Partition
  }

  #commit(): void {
    const batch = this.#waiting
    this.#waiting = []
    const touched = new Set<number>()
    const now = this.#clock.now()
    for (const waiting of batch) {
      if (!('partition' in waiting)) {
        this.#change(waiting.changes)
        waiting.committed()
        continue
      }
      const { partition, request } = waiting
      const log = this.#partition(partition)
      const offset = log.tail
      log.messages.push(request.message)
      log.tail += 1
      log.bytes += request.message.sizeBytes
      this.#bytes += request.message.sizeBytes
      touched.add(partition)
      request.message.partition = partition
      request.message.offset = offset
      request.message.ownedAtMs = now
      if (request.changes !== undefined) this.#change(request.changes)
      request.committed(offset)
    }
    for (const partition of touched) this.#trim(partition)
    while (this.#bytes > this.#maximumBytes) this.#shed()
  }

  #wait(request: WaitingMessage | StateRequest): void {
    if (this.#waiting.length === 0) queueMicrotask(() => this.#commit())
    this.#waiting.push(request)
  }

  #change(changes: readonly StateChange[]): void {
    for (const { key, value } of changes) {
      if (value === undefined) this.#state.delete(key)
      else this.#state.set(key, value)
    }
  }

  /** Lets go of what every reader has read. */
  #trim(partition: number): void {
    const log = this.#partition(partition)
    const retained = Math.max(log.first, log.tail - this.#retainedMessages)
    const needed = Math.min(this.#readers.lowestNeeded(partition), retained)
    // What stays outlives the chunk that it was parsed from.
    for (let index = log.messages.length - 1; index >= 0 && index >= needed - log.first; index -= 1) {
      const message = log.messages[index] as Message
      if (message.kept) break
      message.keep()
    }
    const read = needed - log.first
    if (read === log.messages.length || read > 1024) this.#drop(log, read)
  }

  /** Lets the fullest partition lose the older half of what it holds. */
  #shed(): void {
    let fullest = this.#partition(0)
    for (const log of this.#partitions) if (log.bytes > fullest.bytes) fullest = log
    this.#drop(fullest, Math.ceil(fullest.messages.length / 2))
  }

  #drop(log: Partition, count: number): void {
    for (const message of log.messages.splice(0, count)) {
      log.bytes -= message.sizeBytes
      this.#bytes -= message.sizeBytes
    }
    log.first += count
  }
}
