/**
 * The engine over NATS JetStream: a message is owned when a majority of the servers has it, on disk
 * if the servers run with `sync_interval: always`. docs/decisions/0014 says how and why.
 */
import assert from 'node:assert'
import { randomBytes } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
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
  StateEntry,
  StateRequest,
} from '../../broker/ports/engine.ts'
import { systemClock } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import type { Logger } from '../../logger.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { unstorable } from '../writing/log-request.ts'
import type { Message } from '../../broker/ports/message.ts'
import { EnvelopeError, envelopedBound, firstOffset, readEnvelopeHead } from './envelope.ts'
import type { StoredEnvelope } from './nats-link.ts'
import { NatsLink } from './nats-link.ts'
import { NatsRequest, ToldOrder } from './nats-request.ts'
import { NatsState } from './nats-state.ts'
import { prepareStreams } from './nats-streams.ts'
import type { NodeStreams } from './nats-streams.ts'
import { openStream } from './open-stream.ts'
import type { OpenedStream } from './open-stream.ts'
import { StreamReader } from './stream-reader.ts'

export interface NatsEngineOptions {
  /** Opens the connection. The engine closes it. */
  readonly connect: () => Promise<NatsConnection>
  /** Begins the names of all streams. Default: `fieldgate`. */
  readonly prefix?: string
  /** The name of the node. A later engine with the same name takes its place. */
  readonly node: string
  /** True: `open` refuses streams that hold another node's state. Default: false. */
  readonly isAlone?: boolean
  /** Default: 2. */
  readonly partitions?: number
  /** Servers that have each message. Default: 3. */
  readonly replicas?: number
  readonly clock?: Clock
  readonly logger?: Logger
  /** How long messages are kept, ms. Default: 7 days. */
  readonly retentionMs?: number
  /** Bytes of messages; beyond them the oldest are removed. Default: 16 GiB. */
  readonly retentionBytes?: number
  /** Memory for the messages that arrived last. Default: 64 MiB. */
  readonly tailBytes?: number
  /** Memory for messages that were read from the servers. Default: 32 MiB. */
  readonly cacheBytes?: number
  /** Memory for requests on their way; beyond it they fail with 0x97. Default: 64 MiB. */
  readonly waitingBytes?: number
  /** Time from one envelope to the next while several publishers are at work, ms. Default: 5. */
  readonly gatherMs?: number
}

/** The servers can't be used at the start. `message` is a sentence for people. */
class NatsUnusableError extends Error {
  readonly code = 'nats_unusable'

  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`The engine over NATS can’t be opened. ${reason}`, { cause })
  }
}

const MIB = 1_048_576
const DAY_MS = 86_400_000
const TICK_MS = 1_000
/** Ticks between two looks at what the servers store. */
const TICKS_PER_LOOK = 10
/** If the servers take this long for an envelope, the engine can’t write. */
const STALLED_MS = 3_000
/** Requests that were not sent fail when the servers take this long, ms. */
const GIVEN_UP_MS = 30_000
const REQUEST_BYTES = 256

interface Opened {
  readonly link: NatsLink
  readonly names: NodeStreams
  /** The partitions, and behind them the journal. */
  readonly streams: readonly OpenedStream[]
  readonly reader: StreamReader
  readonly state: NatsState
}

/** The stored part of a partition, as the servers told it last, with the later arrivals. */
interface Stored {
  bytes: number
  messages: number
  oldestAtMs: number | undefined
}

export class NatsEngine implements Engine {
  readonly partitions: number
  readonly isDurable = true
  readonly #options: NatsEngineOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #incarnation = randomBytes(8).toString('hex')
  readonly #order = new ToldOrder((request) => this.#told(request))
  /** The numbers of the requests with changes that have not arrived, ascending. */
  readonly #changesOnTheirWay = new Set<number>()
  readonly #stored: Stored[]
  #arrivals: Arrivals = NOBODY_FOLLOWS
  #opened: Opened | undefined
  #nextNumber = 1
  #waitingBytes = 0
  #waiting = 0
  #isClosing = false
  #isFenced = false
  /** By stream: the sequence from which on nothing of this process is owned. */
  readonly #fencedAt = new Map<number, number>()
  #saving: Promise<void> = Promise.resolve()
  #isSaving = false
  #cancelTick: () => void = () => {}
  #ticks = 0
  #idle: (() => void) | undefined

  constructor(options: NatsEngineOptions) {
    this.partitions = options.partitions ?? 2
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#logger = options.logger ?? silentLogger
    this.#stored = Array.from({ length: this.partitions }, () => ({ bytes: 0, messages: 0, oldestAtMs: undefined }))
  }

  /**
   * Opens the streams, makes those that are missing, and takes the place of an earlier process with
   * the same name: the servers take nothing more of it. Retention goes by age and size alone.
   * Throws `NatsUnusableError`.
   */
  async open(_readers?: LogReaders, arrivals: Arrivals = NOBODY_FOLLOWS): Promise<void> {
    assert(this.#opened === undefined, 'an engine is opened once')
    this.#arrivals = arrivals
    let connection: NatsConnection | undefined
    try {
      connection = await this.#options.connect()
      await this.#openOver(await NatsLink.over(connection, this.#clock))
    } catch (error) {
      await connection?.close()
      throw new NatsUnusableError(error)
    }
  }

  async #openOver(link: NatsLink): Promise<void> {
    const { prefix = 'fieldgate', node, replicas = 3, retentionMs = 7 * DAY_MS } = this.#options
    const { retentionBytes = 16_384 * MIB, tailBytes = 64 * MIB, cacheBytes = 32 * MIB } = this.#options
    const clock = this.#clock
    const logger = this.#logger
    const wishes = { prefix, node, replicas, partitions: this.partitions, retentionMs, retentionBytes }
    const names = await prepareStreams(link.manager, wishes)
    if (this.#options.isAlone === true) await this.#refuseOthers(link, names)
    const streams: OpenedStream[] = []
    for (const [stream, name] of names.envelopes.entries()) {
      streams.push(
        await openStream({
          link,
          clock,
          name,
          incarnation: this.#incarnation,
          gatherMs: this.#options.gatherMs ?? 5,
          tailBytes: Math.ceil(tailBytes / names.envelopes.length),
          arrived: (envelope) => this.#arrived(stream, envelope),
          fenced: (sequence) => this.#fenced(stream, sequence),
        }),
      )
    }
    const state = new NatsState({ link, clock, stream: names.state, subject: names.stateSubject })
    const logs = streams.map(({ log }) => log)
    const reader = new StreamReader({
      link,
      clock,
      logger,
      logs,
      streams: names.envelopes.map(({ name }) => name),
      cacheBytes,
    })
    this.#opened = { link, names, streams, reader, state }
    await this.#recoverState(this.#opened)
    await this.#lookAtStored()
    for (const { follower, log } of streams) follower.begin(log.sequence)
    await this.#save()
    this.#tickLater()
  }

  tail(partition: number): number {
    return this.#stream(partition).log.tail
  }

  async offsetAt(partition: number, timeMs: number): Promise<number> {
    return await this.#open.reader.offsetAt(partition, timeMs)
  }

  append(partition: number, request: AppendRequest): void {
    assert(partition >= 0 && partition < this.partitions, 'the partition is one of the log’s')
    request.message.keep()
    this.#accept(partition, request, request.message.payload.length)
  }

  write(request: StateRequest): void {
    this.#accept(this.partitions, request, 0)
  }

  async *load(prefix: string): AsyncGenerator<StateEntry> {
    yield* this.#open.state.entries(prefix)
  }

  read(partition: number, from: number, maximumMessages: number): ReadResult | Promise<ReadResult> {
    return this.#open.reader.read(partition, from, maximumMessages)
  }

  async scan(query: ScanQuery): Promise<ScanResult> {
    return await this.#open.reader.scan(query)
  }

  health(): EngineHealth {
    if (this.#isFenced) {
      return { canWrite: false, reason: `Another process runs as the node “${this.#options.node}”.` }
    }
    for (const { writer } of this.#open.streams) {
      const stalledMs = writer.stalledMs()
      if (stalledMs < STALLED_MS) continue
      const reason = `The servers of NATS have taken nothing for ${Math.floor(stalledMs / 1000)} s. ${writer.refusal}`
      return { canWrite: false, reason: reason.trim() }
    }
    return { canWrite: true, reason: '' }
  }

  usage(): EngineUsage {
    let [messages, bytes] = [0, 0]
    let oldestAtMs: number | undefined
    for (const stored of this.#stored) {
      messages += stored.messages
      bytes += stored.bytes
      if (stored.messages > 0) oldestAtMs = Math.min(stored.oldestAtMs ?? Infinity, oldestAtMs ?? Infinity)
    }
    return { messages, bytes, oldestAtMs }
  }

  storedBytesOf(_tenant: string): number {
    return 0
  }

  tenants(): Iterable<string> {
    return []
  }

  /** Learns from the servers what retention has removed. */
  async maintain(): Promise<void> {
    await this.#lookAtStored()
  }

  /** Waits for 30 s at most for servers that do not answer. */
  async close(): Promise<void> {
    this.#isClosing = true
    const { link, streams, state } = this.#open
    if (this.#waiting > 0 && !this.#isFenced) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
        this.#clock.after(GIVEN_UP_MS, resolve)
      })
    }
    this.#cancelTick()
    const isWell = this.health().canWrite
    if (isWell) await this.#save()
    state.close()
    await this.#saving
    for (const { writer, follower } of streams) {
      writer.close()
      follower.close()
    }
    await link.connection.close()
  }

  get #open(): Opened {
    assert(this.#opened !== undefined, 'the engine is open')
    return this.#opened
  }

  #stream(number: number): OpenedStream {
    return this.#open.streams[number] as OpenedStream
  }

  #accept(stream: number, request: AppendRequest | StateRequest, payloadBytes: number): void {
    const { waitingBytes = 64 * MIB } = this.#options
    const isState = stream === this.partitions
    const message = 'message' in request ? request.message : undefined
    let bound: number
    try {
      bound = envelopedBound(message, request.changes)
    } catch (error) {
      const failure = unstorable(error)
      queueMicrotask(() => request.failed(failure))
      return
    }
    const failure = this.#whyNot(bound, isState ? waitingBytes * 1.25 : waitingBytes, payloadBytes)
    if (failure !== undefined) {
      queueMicrotask(() => request.failed(failure))
      return
    }
    const taken = new NatsRequest(this.#nextNumber, bound, request)
    this.#nextNumber += 1
    this.#waitingBytes += bound + REQUEST_BYTES
    this.#waiting += 1
    if (taken.changes !== undefined && taken.changes.length > 0) this.#changesOnTheirWay.add(taken.number)
    this.#order.add(taken)
    this.#stream(stream).writer.add(taken)
  }

  #whyNot(bound: number, maximumBytes: number, payloadBytes: number): EngineFailure | undefined {
    const { quotaExceeded, implementationSpecificError } = ReasonCodes
    if (this.#isClosing) return { reasonCode: quotaExceeded, reason: 'The log is closing.' }
    if (this.#isFenced) return { reasonCode: quotaExceeded, reason: this.health().reason }
    if (bound > this.#open.link.maximumEnvelopeBytes) {
      const reason = `The servers of NATS take no message of ${payloadBytes} bytes: see their max_payload.`
      return { reasonCode: implementationSpecificError, reason }
    }
    if (this.#waitingBytes + bound > maximumBytes) {
      return { reasonCode: quotaExceeded, reason: 'Too many messages wait for the servers of NATS.' }
    }
    return undefined
  }

  /** Takes the next envelope of a stream, of this process or another one. */
  #arrived(stream: number, envelope: StoredEnvelope): void {
    const { log, writer } = this.#stream(stream)
    const { sequence, ownedAtMs, bytes } = envelope
    if (sequence >= (this.#fencedAt.get(stream) ?? Infinity)) this.#fail(writer.takeAll(), this.health().reason)
    const requests = this.#requestsOf(writer, envelope)
    const messages =
      requests === undefined
        ? this.#open.reader.messagesOf(stream, envelope)
        : placed(requests, stream, sequence, ownedAtMs)
    log.add({ sequence, ownedAtMs, messages, bytes: bytes.length })
    const stored = this.#stored[stream]
    if (stored !== undefined) {
      stored.bytes += bytes.length
      stored.messages += messages.length
      if (messages.length > 0) stored.oldestAtMs ??= ownedAtMs
    }
    if (requests === undefined) {
      for (const message of messages) this.#arrive(stream, message)
      return
    }
    for (const request of requests) {
      const { message, changes, number } = request
      if (message !== undefined) this.#arrive(stream, message)
      if (changes !== undefined && changes.length > 0) {
        this.#open.state.apply({ number, changes }, stream, sequence)
        this.#changesOnTheirWay.delete(number)
      }
      this.#order.owned(request)
    }
  }

  #arrive(stream: number, message: Message): void {
    this.#stream(stream).log.advance(message.offset)
    this.#arrivals.arrived(message)
  }

  /** The requests of an envelope of this process. */
  #requestsOf(writer: OpenedStream['writer'], { bytes, sequence }: StoredEnvelope): readonly NatsRequest[] | undefined {
    try {
      const { incarnation, number } = readEnvelopeHead(bytes)
      return incarnation === this.#incarnation ? writer.take(number, sequence) : undefined
    } catch (error) {
      // The reader of its messages logs it.
      if (error instanceof EnvelopeError) return undefined
      throw error
    }
  }

  #told(request: NatsRequest): void {
    this.#waitingBytes -= request.bound + REQUEST_BYTES
    this.#waiting -= 1
    this.#changesOnTheirWay.delete(request.number)
    if (this.#waiting === 0) this.#idle?.()
  }

  #fail(requests: readonly NatsRequest[], reason: string): void {
    for (const request of requests) this.#order.failed(request, { reasonCode: ReasonCodes.quotaExceeded, reason })
  }

  /** Another process has this node's name: nothing of this one is owned from here on. */
  #fenced(stream: number, sequence: number): void {
    if (!this.#isFenced) this.#logger.error({ node: this.#options.node }, 'log.fenced')
    this.#isFenced = true
    this.#fencedAt.set(stream, sequence)
    this.#open.state.close()
    const { writer, log } = this.#stream(stream)
    this.#fail(log.sequence >= sequence ? writer.takeAll() : writer.takeBack(), this.health().reason)
  }

  /** Sessions of another node would be out of reach here, and its messages would come twice. */
  async #refuseOthers({ manager }: NatsLink, { state }: NodeStreams): Promise<void> {
    const { state: held } = await manager.streams.info(state, { subjects_filter: `${state}.*.mark` })
    const others = Object.keys(held.subjects ?? {}).map((subject) => subject.split('.')[1])
    const other = others.find((name) => name !== this.#options.node)
    if (other === undefined) return
    throw new Error(`The servers of NATS hold the messages and Sessions of the node “${other}”, and not of this one.`)
  }

  /** Reads the state, and the changes in the node's envelopes that it does not hold yet. */
  async #recoverState({ link, names, streams, state }: Opened): Promise<void> {
    const mark = await state.load()
    if (mark === undefined) return
    let highest = mark.number
    const replayed: { readonly envelope: StoredEnvelope; readonly stream: number }[] = []
    for (const [stream, { log }] of streams.entries()) {
      const { name, subject } = names.envelopes[stream] as NodeStreams['envelopes'][number]
      for (let from = (mark.sequences[stream] ?? 0) + 1; from <= log.sequence;) {
        const found = await link.read(name, from, 256)
        for (const envelope of found) if (envelope.subject === subject) replayed.push({ envelope, stream })
        from = (found.at(-1)?.sequence ?? from - 1) + 1
      }
    }
    for (const { envelope, stream } of replayed) highest = Math.max(highest, state.replay(envelope, stream))
    this.#nextNumber = highest + 1
  }

  /** Writes the state that changed to its stream. */
  async #save(): Promise<void> {
    const { link, streams, state, names } = this.#open
    const sequences = streams.map(({ log }) => log.sequence)
    const [lowest = Infinity] = this.#changesOnTheirWay
    const marked = await state.save({ number: this.#nextNumber, sequences }, lowest)
    const journal = names.envelopes[this.partitions]
    const upTo = marked[this.partitions]
    // The envelope of the mark stays, so that the node's last sequence is known.
    if (journal !== undefined && upTo !== undefined && upTo > 1) {
      await link.manager.streams.purge(journal.name, { seq: upTo }).catch(() => undefined)
    }
  }

  async #lookAtStored(): Promise<void> {
    const { link, names, streams } = this.#open
    for (const [partition, stored] of this.#stored.entries()) {
      const { log } = streams[partition] as OpenedStream
      const before = { bytes: stored.bytes, total: log.total }
      const { name } = names.envelopes[partition] as NodeStreams['envelopes'][number]
      const { state } = await link.manager.streams.info(name)
      log.forgetBefore(state.first_seq)
      const arrivedBytes = stored.bytes - before.bytes
      stored.bytes = state.bytes + arrivedBytes
      stored.messages = Math.min(log.total, await this.#open.reader.messagesFrom(partition, state.first_seq))
      stored.oldestAtMs =
        stored.messages === 0 ? undefined : Math.max(stored.oldestAtMs ?? 0, Date.parse(state.first_ts))
    }
  }

  #tickLater(): void {
    this.#cancelTick = this.#clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    this.#ticks += 1
    const { streams, state } = this.#open
    for (const { writer } of streams) {
      if (writer.stalledMs() >= GIVEN_UP_MS) this.#fail(writer.takeBack(), this.health().reason)
    }
    if (!this.#isSaving && !state.isSaved && !this.#isFenced) {
      this.#isSaving = true
      this.#saving = this.#save().finally(() => {
        this.#isSaving = false
      })
    }
    if (this.#ticks % TICKS_PER_LOOK === 0) this.#lookAtStored().catch(() => undefined)
    this.#tickLater()
  }
}

/** The messages of requests that are owned; they know their places from here on. */
function placed(requests: readonly NatsRequest[], partition: number, sequence: number, ownedAtMs: number): Message[] {
  const messages: Message[] = []
  for (const { message } of requests) {
    if (message === undefined) continue
    message.partition = partition
    message.offset = firstOffset(sequence) + messages.length
    message.ownedAtMs = ownedAtMs
    messages.push(message)
  }
  return messages
}
