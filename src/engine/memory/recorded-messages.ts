/**
 * Keeps the last messages of a partition as records, in chunks of memory that are reused. A history
 * of objects would be copied and traversed by the garbage collector, which took a quarter of a
 * message's CPU time.
 */
import type { Message } from '../../broker/ports/message.ts'
import type { DecodedMessages } from '../reading/decoded-messages.ts'
import type { MemoryStore } from './memory-store.ts'
import {
  messageRecordBound,
  placeOfRecord,
  readMessageRecord,
  topicNameOfRecord,
  writeMessageRecord,
} from '../segments/record.ts'

/** The most free chunks that all partitions together keep for reuse. */
const MAXIMUM_SPARE_CHUNKS = 64

/** Chunks of memory of one size; a longer record gets memory of its own. */
export class ChunkMemory {
  readonly chunkBytes: number
  readonly #spare: Buffer[] = []

  constructor(chunkBytes: number) {
    this.chunkBytes = chunkBytes
  }

  take(bytes: number): Buffer {
    if (bytes > this.chunkBytes) return Buffer.allocUnsafeSlow(bytes)
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.chunkBytes)
  }

  giveBack(memory: Buffer): void {
    if (memory.length === this.chunkBytes && this.#spare.length < MAXIMUM_SPARE_CHUNKS) this.#spare.push(memory)
  }
}

interface Chunk {
  readonly bytes: Buffer
  /** The offset of its first message. */
  readonly first: number
  /** The positions of its records, in the order of their offsets. */
  readonly starts: number[]
  used: number
}

export class RecordedMessages implements MemoryStore {
  readonly #partition: number
  readonly #maximumMessages: number
  readonly #memory: ChunkMemory
  readonly #decoded: DecodedMessages
  /** The chunks, the oldest first. */
  readonly #chunks: Chunk[] = []
  tail = 0
  bytes = 0

  /** Keeps at least `maximumMessages`, more if readers need them, and up to a chunk beyond. */
  constructor(partition: number, maximumMessages: number, memory: ChunkMemory, decoded: DecodedMessages) {
    this.#partition = partition
    this.#maximumMessages = maximumMessages
    this.#memory = memory
    this.#decoded = decoded
  }

  get first(): number {
    return this.#chunks[0]?.first ?? this.tail
  }

  append(message: Message): void {
    const bound = messageRecordBound(message, undefined)
    const chunk = this.#room(bound)
    chunk.starts.push(chunk.used)
    chunk.used = writeMessageRecord(chunk.bytes, chunk.used, message, message, undefined, 0)
    this.tail += 1
  }

  message(offset: number): Message {
    const known = this.#decoded.get(this.#partition, offset)
    if (known !== undefined) return known
    const { bytes, start } = this.#find(offset)
    const message = readMessageRecord(bytes, start)
    message.kept = true
    this.#decoded.add(message)
    return message
  }

  topicName(offset: number): string {
    const { bytes, start } = this.#find(offset)
    return topicNameOfRecord(bytes, start)
  }

  ownedAtMs(offset: number): number {
    const { bytes, start } = this.#find(offset)
    return placeOfRecord(bytes, start).ownedAtMs
  }

  trim(needed: number): void {
    const kept = Math.min(needed, this.tail - this.#maximumMessages)
    for (let second = this.#chunks[1]; second !== undefined && second.first <= kept; second = this.#chunks[1]) {
      this.#dropOldest()
    }
  }

  shed(): void {
    for (let left = Math.ceil(this.#chunks.length / 2); left > 0; left -= 1) this.#dropOldest()
  }

  #room(bytes: number): Chunk {
    const last = this.#chunks.at(-1)
    if (last !== undefined && last.bytes.length - last.used >= bytes) return last
    const chunk: Chunk = { bytes: this.#memory.take(bytes), first: this.tail, starts: [], used: 0 }
    this.#chunks.push(chunk)
    this.bytes += chunk.bytes.length
    return chunk
  }

  #dropOldest(): void {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) return
    this.bytes -= chunk.bytes.length
    this.#memory.giveBack(chunk.bytes)
  }

  #find(offset: number): { readonly bytes: Buffer; readonly start: number } {
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#chunks[middle] as Chunk).first <= offset) low = middle
      else high = middle - 1
    }
    const { bytes, first, starts } = this.#chunks[low] as Chunk
    return { bytes, start: starts[offset - first] as number }
  }
}
