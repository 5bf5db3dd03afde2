/**
 * Keeps the last messages of a partition: their payloads in chunks of memory that are reused, their
 * texts and numbers in lists. A history of objects would be copied and traversed by the garbage
 * collector, which took a quarter of a message's CPU time. Nothing is encoded that nobody reads on
 * a disk: the texts are the ones that the broker has anyway.
 */
import { Message } from '../../broker/ports/message.ts'
import type { QoS } from '../../mqtt/packet.ts'
import type { DecodedMessages } from '../reading/decoded-messages.ts'
import { propertiesBound, readMessageProperties, writeMessageProperties } from '../segments/record.ts'
import type { MemoryStore } from './memory-store.ts'

/** The most free chunks that all partitions together keep for reuse. */
const MAXIMUM_SPARE_CHUNKS = 64
/** Bytes that a message takes in the lists of its chunk. */
const LISTED_BYTES = 40

/** The forms of a message, added to its QoS. */
const RETAIN = 4
const EXPIRES = 8
const HAS_PROPERTIES = 16

/** Chunks of memory of one size; a longer message gets memory of its own. */
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

/** The elements that a message has in `Chunk.texts`. */
const TEXTS = 2
/** The elements that a message has in `Chunk.numbers`. */
const NUMBERS = 3

/**
 * Successive messages. There are two lists and not five, because each list is a cache line of its
 * own that a message would wait for.
 */
interface Chunk {
  /** The payloads. The expiry and the properties of a message stand before its payload. */
  readonly bytes: Buffer
  /** The offset of the first message. */
  readonly first: number
  /** The Topic Name of each message, and the key of its publisher. */
  readonly texts: string[]
  /** The form of each message, the end of its bytes, and the time when it was owned. */
  readonly numbers: number[]
  used: number
  /** Bytes of the texts and the lists. */
  listedBytes: number
}

export class RecordedMessages implements MemoryStore {
  readonly #partition: number
  readonly #maximumMessages: number
  readonly #memory: ChunkMemory
  readonly #decoded: DecodedMessages
  /** The chunks, the oldest first. */
  readonly #chunks: Chunk[] = []
  /** The newest chunk. */
  #last: Chunk | undefined = undefined
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
    const { topicName, payloadBytes, publisherKey, properties, expiresAtMs } = message
    const extra = properties === undefined && expiresAtMs === Infinity ? 0 : extraBound(message)
    const chunk = this.#room(extra + payloadBytes)
    const form = message.qos + (message.retain ? RETAIN : 0) + (extra === 0 ? 0 : writeExtra(chunk, message))
    message.copyPayload(chunk.bytes, chunk.used)
    chunk.used += payloadBytes
    chunk.numbers.push(form, chunk.used, message.ownedAtMs)
    chunk.texts.push(topicName, publisherKey)
    const listed = LISTED_BYTES + topicName.length + publisherKey.length
    chunk.listedBytes += listed
    this.bytes += listed
    this.tail += 1
  }

  message(offset: number): Message {
    const known = this.#decoded.get(this.#partition, offset)
    if (known !== undefined) return known
    const message = readMessage(this.#chunkOf(offset), offset)
    message.partition = this.#partition
    message.offset = offset
    message.kept = true
    this.#decoded.add(message)
    return message
  }

  topicName(offset: number): string {
    const { texts, first } = this.#chunkOf(offset)
    return texts[TEXTS * (offset - first)] as string
  }

  ownedAtMs(offset: number): number {
    const { numbers, first } = this.#chunkOf(offset)
    return numbers[NUMBERS * (offset - first) + 2] as number
  }

  get isTrimmable(): boolean {
    const second = this.#chunks[1]
    return second !== undefined && second.first <= this.tail - this.#maximumMessages
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
    const last = this.#last
    if (last !== undefined && last.bytes.length - last.used >= bytes) return last
    const chunk: Chunk = {
      bytes: this.#memory.take(bytes),
      first: this.tail,
      texts: [],
      numbers: [],
      used: 0,
      listedBytes: 0,
    }
    this.#chunks.push(chunk)
    this.#last = chunk
    this.bytes += chunk.bytes.length
    return chunk
  }

  #dropOldest(): void {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) return
    if (chunk === this.#last) this.#last = undefined
    this.bytes -= chunk.bytes.length + chunk.listedBytes
    this.#memory.giveBack(chunk.bytes)
  }

  #chunkOf(offset: number): Chunk {
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#chunks[middle] as Chunk).first <= offset) low = middle
      else high = middle - 1
    }
    return this.#chunks[low] as Chunk
  }
}

/**
 * The most bytes that a message takes beside its payload. Throws RangeError for properties that
 * could not be read again.
 */
function extraBound({ properties, expiresAtMs }: Message): number {
  return (expiresAtMs === Infinity ? 0 : 8) + (properties === undefined ? 0 : propertiesBound(properties))
}

/** Writes what a message has beside its payload, and returns the form of the message. */
function writeExtra(chunk: Chunk, { properties, expiresAtMs }: Message): number {
  let form = 0
  let at = chunk.used
  if (expiresAtMs !== Infinity) {
    form |= EXPIRES
    at = chunk.bytes.writeDoubleLE(expiresAtMs, at)
  }
  if (properties !== undefined) {
    form |= HAS_PROPERTIES
    at = writeMessageProperties(chunk.bytes, at, properties)
  }
  chunk.used = at
  return form
}

/** The message holds a copy of its payload, and does not keep the chunk alive. */
function readMessage({ bytes, first, texts, numbers }: Chunk, offset: number): Message {
  const index = offset - first
  const [topicName, publisherKey] = texts.slice(TEXTS * index, TEXTS * (index + 1)) as [string, string]
  const [form, end, ownedAtMs] = numbers.slice(NUMBERS * index, NUMBERS * (index + 1)) as [number, number, number]
  let at = index === 0 ? 0 : (numbers[NUMBERS * index - 2] as number)
  let expiresAtMs = Infinity
  if ((form & EXPIRES) !== 0) {
    expiresAtMs = bytes.readDoubleLE(at)
    at += 8
  }
  let properties: Message['properties']
  if ((form & HAS_PROPERTIES) !== 0) {
    const from = at + 4
    at = from + bytes.readUInt32LE(at)
    properties = readMessageProperties(bytes, from, at)
  }
  const fields = {
    topicName,
    payload: Buffer.from(bytes.subarray(at, end)),
    qos: (form & 3) as QoS,
    retain: (form & RETAIN) !== 0,
    properties,
    publisherKey,
  }
  const message = new Message(fields, expiresAtMs)
  message.ownedAtMs = ownedAtMs
  return message
}
