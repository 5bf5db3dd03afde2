/**
 * The memory engine: a log that lives as long as the process. It serves tests, the core alone, and
 * deployments that accept the loss of messages in flight when the process ends. It keeps a message
 * while a reader still has to read it and, with `retainedMessages`, the last messages as history.
 */
import { NOBODY_FOLLOWS } from '../../broker/ports/engine.ts'
import type {
  AppendRequest,
  Arrivals,
  Engine,
  EngineFailure,
  EngineHealth,
  EngineUsage,
  LogReaders,
  ReadResult,
  ScanQuery,
  ScanResult,
  StateChange,
  StateEntry,
  StateRequest,
} from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import { DecodedMessages } from '../reading/decoded-messages.ts'
import { HeldMessages } from './held-messages.ts'
import { unstorable } from '../writing/log-request.ts'
import type { MemoryStore } from './memory-store.ts'
import { ChunkMemory, RecordedMessages } from './recorded-messages.ts'

export interface MemoryEngineOptions {
  readonly partitions?: number
  /**
   * Bytes of messages kept for readers that are behind; beyond, the partition with the most bytes
   * loses its oldest messages.
   */
  readonly maximumBytes?: number
  /**
   * The number of messages that each partition keeps at least for history, even after all readers
   * have read them; within `maximumBytes`. Default: none.
   */
  readonly retainedMessages?: number
  readonly clock?: { now(): number }
}

/** Stands in the place of a partition for a change of state. */
const NO_PARTITION = -1

const GREATEST_CHUNK_BYTES = 65_536
const SMALLEST_CHUNK_BYTES = 4_096
/** Memory for decoded messages, for readers that are behind on messages stored as records. */
const DECODED_BYTES = 16 * 1_048_576

export class MemoryEngine implements Engine {
  readonly partitions: number
  readonly isDurable: boolean = false
  readonly #maximumBytes: number
  readonly #clock: { now(): number }
  readonly #stores: readonly MemoryStore[]
  #readers: LogReaders = { lowestNeeded: () => Infinity }
  #arrivals: Arrivals = NOBODY_FOLLOWS
  #waiting: (AppendRequest | StateRequest)[] = []
  /** The partition of each request that waits. */
  #waitingPartitions: number[] = []
  readonly #state = new Map<string, Buffer>()
  #bytes = 0

  constructor(options: MemoryEngineOptions = {}) {
    this.partitions = options.partitions ?? 64
    this.#maximumBytes = options.maximumBytes ?? 1_073_741_824
    this.#clock = options.clock ?? Date
    const { retainedMessages = 0 } = options
    const chunkBytes = Math.max(SMALLEST_CHUNK_BYTES, Math.min(GREATEST_CHUNK_BYTES, this.#maximumBytes / 16))
    const memory = new ChunkMemory(chunkBytes)
    const decoded = new DecodedMessages(this.partitions, DECODED_BYTES)
    this.#stores = Array.from({ length: this.partitions }, (_, partition) =>
      retainedMessages === 0 ? new HeldMessages() : new RecordedMessages(partition, retainedMessages, memory, decoded),
    )
  }

  open(readers: LogReaders, arrivals: Arrivals = NOBODY_FOLLOWS): Promise<void> {
    this.#readers = readers
    this.#arrivals = arrivals
    return Promise.resolve()
  }

  tail(partition: number): number {
    return this.#store(partition).tail
  }

  append(partition: number, request: AppendRequest): void {
    this.#wait(request, partition)
  }

  write(request: StateRequest): void {
    this.#wait(request, NO_PARTITION)
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    for (const key of [...this.#state.keys()].toSorted()) {
      const value = this.#state.get(key)
      if (value !== undefined && key.startsWith(prefix)) yield { key, value: Buffer.from(value) }
    }
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult {
    const store = this.#store(partition)
    const { first, tail } = store
    const start = Math.min(Math.max(from, first), tail)
    const messages: Message[] = []
    const offsets: number[] = []
    for (let offset = start; offset < tail && messages.length < maximumMessages; offset += 1) {
      messages.push(store.message(offset))
      offsets.push(offset)
    }
    return { messages, offsets, next: start + messages.length, lost: Math.max(0, start - from) }
  }

  offsetAt(partition: number, timeMs: number): Promise<number> {
    const store = this.#store(partition)
    let offset = store.tail
    while (offset > store.first && store.ownedAtMs(offset - 1) >= timeMs) offset -= 1
    return Promise.resolve(offset)
  }

  storedBytesOf(_tenant: string): number {
    return 0
  }

  tenants(): Iterable<string> {
    return []
  }

  usage(): EngineUsage {
    let messages = 0
    let oldestAtMs: number | undefined
    for (const store of this.#stores) {
      const { first, tail } = store
      if (first === tail) continue
      messages += tail - first
      oldestAtMs = Math.min(store.ownedAtMs(first), oldestAtMs ?? Infinity)
    }
    return { messages, bytes: this.#bytes, oldestAtMs }
  }

  scan(query: ScanQuery): Promise<ScanResult> {
    const { topicPrefix, accepts, fromMs = 0, toMs = Infinity, afterOffset, direction, maximumMessages } = query
    const store = this.#store(query.partition)
    const { first, tail } = store
    const isForward = direction === 'oldest first'
    const step = isForward ? 1 : -1
    const begin = afterOffset === undefined ? (isForward ? first : tail - 1) : afterOffset + step
    const page: Message[] = []
    for (let offset = isForward ? Math.max(begin, first) : Math.min(begin, tail - 1); ; offset += step) {
      if (offset < first || offset >= tail)
        return Promise.resolve({ messages: page, more: false, nextAfterOffset: undefined })
      const topicName = store.topicName(offset)
      if (!topicName.startsWith(topicPrefix) || accepts?.(topicName) === false) continue
      const ownedAtMs = store.ownedAtMs(offset)
      if (ownedAtMs < fromMs || ownedAtMs >= toMs) continue
      if (page.length === maximumMessages)
        return Promise.resolve({ messages: page, more: true, nextAfterOffset: page.at(-1)?.offset })
      page.push(store.message(offset))
    }
  }

  health(): EngineHealth {
    return { canWrite: true, reason: '' }
  }

  /**
   * Earlier requests are committed when this resolves: a commit takes one microtask, and theirs
   * come first.
   */
  async close(): Promise<void> {
    await Promise.resolve()
  }

  readonly #commitNow = (): void => this.#commit()

  #store(partition: number): MemoryStore {
    return this.#stores[partition] as MemoryStore
  }

  #commit(): void {
    const batch = this.#waiting
    const partitions = this.#waitingPartitions
    this.#waiting = []
    this.#waitingPartitions = []
    const touched: number[] = []
    const now = this.#clock.now()
    for (let index = 0; index < batch.length; index += 1) {
      const request = batch[index] as AppendRequest | StateRequest
      if (!('message' in request)) {
        this.#change(request.changes)
        request.committed()
        continue
      }
      const partition = partitions[index] as number
      const failure = this.#take(this.#store(partition), partition, request.message, now)
      if (failure !== undefined) {
        request.failed(failure)
        continue
      }
      if (!touched.includes(partition)) touched.push(partition)
      if (request.changes !== undefined) this.#change(request.changes)
      this.#arrivals.arrived(request.message)
      request.committed(request.message.offset)
    }
    for (const partition of touched) this.#trim(partition)
    while (this.#bytes > this.#maximumBytes) this.#shed()
  }

  #take(store: MemoryStore, partition: number, message: Message, now: number): EngineFailure | undefined {
    const before = store.bytes
    message.partition = partition
    message.offset = store.tail
    message.ownedAtMs = now
    try {
      store.append(message)
    } catch (error) {
      message.partition = -1
      message.offset = -1
      message.ownedAtMs = 0
      return unstorable(error)
    }
    this.#bytes += store.bytes - before
    return undefined
  }

  #wait(request: AppendRequest | StateRequest, partition: number): void {
    if (this.#waiting.length === 0) queueMicrotask(this.#commitNow)
    this.#waiting.push(request)
    this.#waitingPartitions.push(partition)
  }

  #change(changes: readonly StateChange[]): void {
    for (const { key, value } of changes) {
      if (value === undefined) this.#state.delete(key)
      else this.#state.set(key, value)
    }
  }

  #trim(partition: number): void {
    const store = this.#store(partition)
    if (!store.isTrimmable) return
    const before = store.bytes
    store.trim(this.#readers.lowestNeeded(partition))
    this.#bytes += store.bytes - before
  }

  /** Makes the fullest partition drop the older half of its messages. */
  #shed(): void {
    let fullest = this.#store(0)
    for (const store of this.#stores) if (store.bytes > fullest.bytes) fullest = store
    const before = fullest.bytes
    fullest.shed()
    this.#bytes += fullest.bytes - before
  }
}
