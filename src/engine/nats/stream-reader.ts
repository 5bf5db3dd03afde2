/** Reads the messages of the streams: from memory where they are, else from the servers. */
import type { ReadResult, ScanQuery, ScanResult } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Message } from '../../broker/ports/message.ts'
import { EnvelopeError, OFFSETS_PER_ENVELOPE, readEnvelopeHead, readMessages } from './envelope.ts'
import type { NatsLink, StoredEnvelope } from './nats-link.ts'
import type { PartitionLog, ReadEnvelope } from './partition-log.ts'

const ENVELOPES_PER_READ = 64
/** Reads of one scan; a scan that needs more goes on in its next page. */
const READS_PER_SCAN = 16
/** A server that is behind is asked again after this time, ms, as many times. */
const BEHIND_MS = 50
const MAXIMUM_ATTEMPTS = 40

export interface StreamReaderOptions {
  readonly link: NatsLink
  readonly clock: Clock
  readonly logger: Logger
  /** By partition. */
  readonly logs: readonly PartitionLog[]
  readonly streams: readonly string[]
  /** Memory for envelopes that were read. */
  readonly cacheBytes: number
}

export class StreamReader {
  readonly #options: StreamReaderOptions
  /** The envelopes read last, by partition and sequence. */
  readonly #cache = new Map<string, ReadEnvelope>()
  #cachedBytes = 0

  constructor(options: StreamReaderOptions) {
    this.#options = options
  }

  /** Reads as `Engine.read`. Rejects when no server answers. */
  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult> {
    const log = this.#log(partition)
    if (from >= log.tail) return { messages: [], offsets: [], next: from, lost: 0 }
    const found = new Page(from, log.tail, maximumMessages)
    let sequence = sequenceOf(from)
    for (;;) {
      const envelopes = log.envelopesFrom(sequence, ENVELOPES_PER_READ)
      if (envelopes === undefined) return this.#readAway(partition, from, maximumMessages)
      if (!found.take(envelopes) || envelopes.length < ENVELOPES_PER_READ) return found.result(0)
      sequence = (envelopes.at(-1) as ReadEnvelope).sequence + 1
    }
  }

  /** Finds the offset as `Engine.offsetAt`. */
  async offsetAt(partition: number, timeMs: number): Promise<number> {
    const log = this.#log(partition)
    const { tail, sequence: last } = log
    const near = log.since(timeMs)?.messages[0]
    if (near !== undefined) return near.offset
    const { link, streams } = this.#options
    let found = await link.readSince(streams[partition] as string, timeMs, ENVELOPES_PER_READ)
    while (found.length > 0) {
      for (const stored of found) {
        if (stored.sequence > last) return tail
        const [message] = this.#decoded(partition, stored).messages
        if (message !== undefined) return Math.min(message.offset, tail)
      }
      found = await link.read(
        streams[partition] as string,
        (found.at(-1) as StoredEnvelope).sequence + 1,
        ENVELOPES_PER_READ,
      )
    }
    return tail
  }

  /** Scans as `Engine.scan`. */
  async scan(query: ScanQuery): Promise<ScanResult> {
    const { partition, direction, afterOffset, fromMs = 0, toMs = Infinity } = query
    const log = this.#log(partition)
    const matches = new Matches(query, log.tail)
    const isForward = direction === 'oldest first'
    let sequence = isForward ? 1 : log.sequence
    if (afterOffset !== undefined) sequence = sequenceOf(afterOffset)
    else if (isForward && fromMs > 0) sequence = sequenceOf(await this.offsetAt(partition, fromMs))
    else if (!isForward && toMs !== Infinity) sequence = sequenceOf(await this.offsetAt(partition, toMs))
    for (let reads = 0; ; reads += 1) {
      if (sequence < 1 || sequence > log.sequence) return matches.end()
      if (reads === READS_PER_SCAN) return matches.goOn(isForward, sequence)
      const start = isForward ? sequence : Math.max(1, sequence - ENVELOPES_PER_READ + 1)
      const envelopes = isForward
        ? await this.#envelopes(partition, start)
        : (await this.#between(partition, start, sequence)).toReversed()
      if (envelopes.length === 0) return matches.end()
      for (const envelope of envelopes) {
        if (!matches.take(isForward ? envelope.messages : envelope.messages.toReversed())) return matches.goOnBehind()
      }
      const edge = envelopes.at(-1) as ReadEnvelope
      if (isForward ? edge.ownedAtMs >= toMs : edge.ownedAtMs < fromMs) return matches.end()
      sequence = isForward ? edge.sequence + 1 : Math.min(start, edge.sequence) - 1
    }
  }

  /** Decodes the messages of an envelope, without the cache. */
  messagesOf(partition: number, { sequence, ownedAtMs, bytes }: StoredEnvelope): readonly Message[] {
    return this.#messages(partition, sequence, ownedAtMs, bytes)
  }

  /** The messages from a stream sequence on, by what the envelopes say. */
  async messagesFrom(partition: number, sequence: number): Promise<number> {
    const log = this.#log(partition)
    if (sequence > log.sequence) return 0
    const { link, streams } = this.#options
    const [first] = await link.read(streams[partition] as string, sequence, 1)
    if (first === undefined) return 0
    return Math.max(0, log.total - readEnvelopeHead(first.bytes).messagesBefore)
  }

  async #readAway(partition: number, from: number, maximumMessages: number): Promise<ReadResult> {
    const log = this.#log(partition)
    const found = new Page(from, log.tail, maximumMessages)
    const begin = Math.max(1, sequenceOf(from))
    let isGap = false
    for (let sequence = begin; sequence <= log.sequence;) {
      const isNear = log.envelopesFrom(sequence, 1) !== undefined
      const envelopes = await this.#envelopes(partition, sequence)
      if (sequence === begin && !isNear) isGap = envelopes[0] === undefined || envelopes[0].sequence > begin
      const last = envelopes.at(-1)
      // One read at most beyond the first message: the caller comes again.
      if (last === undefined || !found.take(envelopes) || found.first !== undefined) break
      sequence = last.sequence + 1
    }
    return found.result(isGap ? log.messagesBetween(from, found.first ?? log.tail) : 0)
  }

  /** Envelopes from the sequence on, at least one if there is any up to the last that arrived. */
  async #envelopes(partition: number, sequence: number): Promise<readonly ReadEnvelope[]> {
    const { link, streams, clock } = this.#options
    const log = this.#log(partition)
    for (let attempt = 0; attempt < MAXIMUM_ATTEMPTS; attempt += 1) {
      const near = log.envelopesFrom(sequence, ENVELOPES_PER_READ) ?? this.#cached(partition, sequence)
      if (near.length > 0 || sequence > log.sequence) return near
      const read = await link.read(streams[partition] as string, sequence, ENVELOPES_PER_READ).catch(() => [])
      const arrived = read.filter((one) => one.sequence <= log.sequence)
      if (arrived.length > 0) return arrived.map((one) => this.#decoded(partition, one))
      if (log.envelopesFrom(sequence, 1) !== undefined) return []
      await new Promise<void>((resolve) => void clock.after(BEHIND_MS, resolve))
    }
    throw new Error('no server of NATS has the messages that arrived')
  }

  /** All envelopes between two sequences, both included. */
  async #between(partition: number, first: number, last: number): Promise<ReadEnvelope[]> {
    const found: ReadEnvelope[] = []
    for (let sequence = first; sequence <= last;) {
      const read = await this.#envelopes(partition, sequence)
      found.push(...read.filter((one) => one.sequence <= last))
      sequence = (read.at(-1)?.sequence ?? last) + 1
    }
    return found
  }

  /** The envelopes in the cache from the sequence on, without a gap. */
  #cached(partition: number, sequence: number): ReadEnvelope[] {
    const found: ReadEnvelope[] = []
    for (let at = sequence; found.length < ENVELOPES_PER_READ; at += 1) {
      const key = `${partition}-${at}`
      const envelope = this.#cache.get(key)
      if (envelope === undefined) break
      this.#cache.delete(key)
      this.#cache.set(key, envelope)
      found.push(envelope)
    }
    return found
  }

  #decoded(partition: number, { sequence, ownedAtMs, bytes }: StoredEnvelope): ReadEnvelope {
    const key = `${partition}-${sequence}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const messages = this.#messages(partition, sequence, ownedAtMs, bytes)
    const envelope = { sequence, ownedAtMs, messages, bytes: bytes.length }
    this.#cache.set(key, envelope)
    this.#cachedBytes += bytes.length
    for (const [old, { bytes: size }] of this.#cache) {
      if (this.#cachedBytes <= this.#options.cacheBytes || old === key) break
      this.#cache.delete(old)
      this.#cachedBytes -= size
    }
    return envelope
  }

  #messages(partition: number, sequence: number, ownedAtMs: number, bytes: Buffer): readonly Message[] {
    try {
      readEnvelopeHead(bytes)
      return readMessages(bytes, partition, sequence, ownedAtMs)
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error
      this.#options.logger.error({ partition, sequence, code: error.code }, 'log.envelope_unreadable')
      return []
    }
  }

  #log(partition: number): PartitionLog {
    return this.#options.logs[partition] as PartitionLog
  }
}

/** The messages of one read. */
class Page {
  readonly #from: number
  readonly #tail: number
  readonly #maximum: number
  readonly #messages: Message[] = []
  readonly #offsets: number[] = []

  constructor(from: number, tail: number, maximum: number) {
    this.#from = from
    this.#tail = tail
    this.#maximum = maximum
  }

  /** The offset of the first message. */
  get first(): number | undefined {
    return this.#offsets[0]
  }

  /** False when the page is full, or at the tail. */
  take(envelopes: readonly ReadEnvelope[]): boolean {
    for (const { messages } of envelopes) {
      for (const message of messages) {
        const { offset } = message
        if (offset < this.#from) continue
        if (offset >= this.#tail || this.#messages.length === this.#maximum) return false
        this.#messages.push(message)
        this.#offsets.push(offset)
      }
    }
    return true
  }

  result(lost: number): ReadResult {
    const last = this.#offsets.at(-1)
    return {
      messages: this.#messages,
      offsets: this.#offsets,
      next: last === undefined ? this.#tail : last + 1,
      lost,
    }
  }
}

/** The messages of one scan. */
class Matches {
  readonly #query: ScanQuery
  readonly #tail: number
  readonly #page: Message[] = []

  constructor(query: ScanQuery, tail: number) {
    this.#query = query
    this.#tail = tail
  }

  /** False when the page is full, and there is one more message. */
  take(messages: readonly Message[]): boolean {
    const { topicPrefix, accepts, fromMs = 0, toMs = Infinity, afterOffset, direction, maximumMessages } = this.#query
    for (const message of messages) {
      const { offset, topicName, ownedAtMs } = message
      if (offset >= this.#tail || ownedAtMs < fromMs || ownedAtMs >= toMs) continue
      if (afterOffset !== undefined && (direction === 'oldest first' ? offset <= afterOffset : offset >= afterOffset)) {
        continue
      }
      if (!topicName.startsWith(topicPrefix) || accepts?.(topicName) === false) continue
      if (this.#page.length === maximumMessages) return false
      this.#page.push(message)
    }
    return true
  }

  end(): ScanResult {
    return { messages: this.#page, more: false, nextAfterOffset: undefined }
  }

  goOnBehind(): ScanResult {
    return { messages: this.#page, more: true, nextAfterOffset: this.#page.at(-1)?.offset }
  }

  /** The next page begins at this envelope. */
  goOn(isForward: boolean, sequence: number): ScanResult {
    const nextAfterOffset = isForward ? sequence * OFFSETS_PER_ENVELOPE - 1 : (sequence + 1) * OFFSETS_PER_ENVELOPE
    return { messages: this.#page, more: true, nextAfterOffset }
  }
}

function sequenceOf(offset: number): number {
  return Math.floor(offset / OFFSETS_PER_ENVELOPE)
}
