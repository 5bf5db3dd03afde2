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
  EngineHealth,
  EngineUsage,
  LogReaders,
  ReadResult,
  ScanQuery,
  ScanResult,
  StateEntry,
  StateRequest,
} from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import { systemClock } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import type { Logger } from '../../logger.ts'
import { EnvelopeError, firstOffset, readEnvelopeHead } from './envelope.ts'
import { FencedNodes } from './fenced-nodes.ts'
import type { NatsEngineOptions } from './nats-engine-options.ts'
import type { StoredEnvelope } from './nats-link.ts'
import { NatsLink } from './nats-link.ts'
import type { NatsRequest } from './nats-request.ts'
import { NatsState } from './nats-state.ts'
import { prepareStreams } from './nats-streams.ts'
import type { NodeStream, NodeStreams } from './nats-streams.ts'
import { openStream } from './open-stream.ts'
import type { OpenedStream } from './open-stream.ts'
import { RequestsUnderWay } from './requests-under-way.ts'
import { StateSaving } from './state-saving.ts'
import { StateStream } from './state-stream.ts'
import { LogClock } from './log-clock.ts'
import { StoredPart } from './stored-part.ts'
import { StreamReader } from './stream-reader.ts'

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

interface Opened {
  readonly link: NatsLink
  /** The partitions, and behind them the journal. */
  readonly streams: readonly OpenedStream[]
  readonly reader: StreamReader
  readonly state: NatsState
  readonly requests: RequestsUnderWay
  readonly saving: StateSaving
  readonly stored: StoredPart
  readonly others: FencedNodes
}

export class NatsEngine implements Engine {
  readonly partitions: number
  readonly isDurable = true
  readonly #options: NatsEngineOptions
  readonly #clock: Clock
  readonly #logClock: LogClock
  readonly #logger: Logger
  readonly #incarnation: string
  #arrivals: Arrivals = NOBODY_FOLLOWS
  #opened: Opened | undefined
  #beginsEmpty = false
  #isFenced = false
  /** By stream: the sequence from which on nothing of this process is owned. */
  readonly #fencedAt = new Map<number, number>()
  #cancelTick: () => void = () => {}
  #ticks = 0

  constructor(options: NatsEngineOptions) {
    this.partitions = options.partitions ?? 2
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#logClock = new LogClock(this.#clock)
    this.#logger = options.logger ?? silentLogger
    this.#incarnation = options.incarnation ?? randomBytes(8).toString('hex')
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
    const names = await prepareStreams(link, wishes)
    const journal = names.envelopes[this.partitions] as NodeStream
    const isInPlace = async (): Promise<boolean> => {
      const last = await link.lastOf(journal.name, journal.subject)
      return last?.head.incarnation === this.#incarnation
    }
    const streams: OpenedStream[] = []
    // The journal comes first, for retention never takes what fences an earlier process there.
    for (const [stream, name] of [...names.envelopes.entries()].toReversed()) {
      const opened = await openStream({
        link,
        clock,
        name,
        incarnation: this.#incarnation,
        gatherMs: this.#options.gatherMs ?? 15,
        tailBytes: Math.ceil(tailBytes / names.envelopes.length),
        arrived: (envelope) => this.#arrived(stream, envelope),
        fenced: (sequence) => this.#fenced(stream, sequence),
        isInPlace,
      })
      streams.unshift(opened)
    }
    const { state, nextNumber } = await this.#recoverState(link, names, streams)
    const envelopeBytes = link.maximumEnvelopeBytes
    const requests = new RequestsUnderWay(
      { waitingBytes: this.#options.waitingBytes ?? 64 * MIB, envelopeBytes },
      nextNumber,
    )
    const logs = streams.map(({ log }) => log)
    const ofLogs = {
      logs: logs.slice(0, this.partitions),
      streams: names.envelopes.slice(0, this.partitions).map(({ name }) => name),
    }
    const reader = new StreamReader({ link, clock, logger, ...ofLogs, cacheBytes })
    const stored = new StoredPart({ link, reader, ...ofLogs, logClock: this.#logClock })
    const fenced = (): void => this.#tellFenced()
    const saving = new StateSaving({ link, state, requests, logs, journal: journal.name, fenced })
    const others = new FencedNodes({ link, clock, prefix, logs: ofLogs.logs })
    this.#opened = { link, streams, reader, state, requests, saving, stored, others }
    await stored.look()
    for (const { follower, log } of streams) follower.begin(log.sequence)
    await saving.save()
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
    this.#accept(partition, request)
  }

  write(request: StateRequest): void {
    this.#accept(this.partitions, request)
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
      return { canWrite: false, reason: `Another process has taken the place of the node “${this.#options.node}”.` }
    }
    for (const { writer } of this.#open.streams) {
      const stalledMs = writer.stalledMs()
      if (stalledMs < STALLED_MS) continue
      const reason = `The servers of NATS have taken nothing for ${Math.floor(stalledMs / 1000)} s. ${writer.refusal}`
      return { canWrite: false, reason: reason.trim(), isStalled: true }
    }
    return { canWrite: true, reason: '' }
  }

  usage(): EngineUsage {
    return this.#open.stored.usage()
  }

  storedBytesOf(_tenant: string): number {
    return 0
  }

  tenants(): Iterable<string> {
    return []
  }

  /** The time of day by the servers, which stamp the messages; ms since 1970. */
  timeOfLog(): number {
    return this.#logClock.now()
  }

  /** Learns from the servers what retention has removed. */
  async maintain(): Promise<void> {
    await this.#open.stored.look()
  }

  /**
   * Takes the right to write from another node, for good: the servers store nothing more of the
   * process that has the node's name now. That process learns of it, if it lives. Rejects when the
   * servers do not take it within 30 s; then it may have happened.
   */
  async fence(node: string): Promise<void> {
    assert(node !== this.#options.node, 'a node fences others')
    await this.#open.others.fence(node)
  }

  /**
   * The whole state of another node up to its fence, in the order of the keys. The node was fenced
   * by this engine, and its state was not forgotten. Rejects when the servers do not have all of it
   * within 60 s.
   */
  async stateOf(node: string): Promise<readonly StateEntry[]> {
    return await this.#open.others.stateOf(node)
  }

  /**
   * Removes the state of another node that this engine has fenced, up to the fence. Entries of a
   * later process of the node stay. Rejects when the servers do not answer; then call it again.
   *
   * For this node itself: before `open`. The engine then begins without the state that an earlier
   * process of the node left.
   */
  async forgetStateOf(node: string): Promise<void> {
    if (node !== this.#options.node) {
      await this.#open.others.forgetStateOf(node)
      return
    }
    assert(this.#opened === undefined, 'the engine is not open yet')
    this.#beginsEmpty = true
  }

  /** Waits for 60 s at most for servers that do not answer. */
  async close(): Promise<void> {
    const { link, streams, requests, saving } = this.#open
    requests.refuse('The log is closing.')
    if (!this.#isFenced) await requests.whenIdle(this.#clock, GIVEN_UP_MS)
    this.#cancelTick()
    if (this.health().canWrite) await saving.close(this.#clock, GIVEN_UP_MS)
    saving.stop()
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

  #accept(stream: number, request: AppendRequest | StateRequest): void {
    const taken = this.#open.requests.take(request)
    if (taken !== undefined) this.#stream(stream).writer.add(taken)
  }

  /** Takes the next envelope of a stream, of this process or another one. */
  #arrived(stream: number, envelope: StoredEnvelope): void {
    const { log, writer } = this.#stream(stream)
    const { reader, requests, state, stored } = this.#open
    const { sequence, ownedAtMs, bytes } = envelope
    const own = this.#requestsOf(stream, envelope)
    if (sequence >= (this.#fencedAt.get(stream) ?? Infinity)) requests.fail(writer.takeAll(), this.health().reason)
    const messages = own === undefined ? reader.messagesOf(stream, envelope) : placed(own, stream, sequence, ownedAtMs)
    const read = { sequence, ownedAtMs, messages, bytes: bytes.length }
    log.add(read)
    stored.add(stream, read)
    this.#logClock.arrived(ownedAtMs)
    if (own === undefined) {
      for (const message of messages) this.#arrive(stream, message)
      return
    }
    for (const request of own) {
      const { message, changes, number } = request
      if (message !== undefined) this.#arrive(stream, message)
      if (changes !== undefined && changes.length > 0) {
        state.apply({ number, changes }, stream, sequence)
        requests.applied(request)
      }
      requests.owned(request)
    }
  }

  #arrive(stream: number, message: Message): void {
    this.#stream(stream).log.advance(message.offset)
    this.#arrivals.arrived(message)
  }

  /** The requests of an envelope of this process. Another one in this node's name fences it. */
  #requestsOf(stream: number, { bytes, sequence, subject }: StoredEnvelope): readonly NatsRequest[] | undefined {
    const { writer, subject: own } = this.#stream(stream)
    try {
      const { incarnation, number } = readEnvelopeHead(bytes)
      if (incarnation === this.#incarnation) return writer.take(number, sequence)
      if (subject === own) this.#fenced(stream, sequence)
    } catch (error) {
      // The reader of its messages logs it.
      if (!(error instanceof EnvelopeError)) throw error
    }
    return undefined
  }

  /** Another process writes in this node's name: nothing of this one is owned from there on. */
  #fenced(stream: number, sequence: number): void {
    this.#tellFenced()
    this.#fencedAt.set(stream, sequence)
    const { writer, log } = this.#stream(stream)
    const lost = log.sequence >= sequence ? writer.takeAll() : writer.takeBack()
    this.#open.requests.fail(lost, this.health().reason)
  }

  #tellFenced(): void {
    if (this.#isFenced) return
    this.#isFenced = true
    this.#logger.error({ node: this.#options.node }, 'log.fenced')
    const { requests, saving } = this.#open
    requests.refuse(this.health().reason)
    saving.stop()
    this.#options.fenced?.()
  }

  /** Reads what an earlier process of the node left, now that it can write no more. */
  async #recoverState(
    link: NatsLink,
    { envelopes, state: stream, stateSubject: subject }: NodeStreams,
    streams: readonly OpenedStream[],
  ): Promise<{ readonly state: NatsState; readonly nextNumber: number }> {
    const clock = this.#clock
    const stored = new StateStream({ link, clock, stream, subject, incarnation: this.#incarnation })
    await stored.lock()
    if (this.#beginsEmpty) await stored.removeAll()
    const state = new NatsState(stored)
    const upTo = streams.map(({ log }) => log.sequence)
    return { state, nextNumber: await state.recover({ link, clock, streams: envelopes, upTo }) }
  }

  #tickLater(): void {
    this.#cancelTick = this.#clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    this.#ticks += 1
    const { streams, requests, saving, stored } = this.#open
    for (const { writer } of streams) {
      if (writer.stalledMs() >= GIVEN_UP_MS) requests.fail(writer.takeBack(), this.health().reason)
    }
    saving.begin()
    if (this.#ticks % TICKS_PER_LOOK === 0) stored.look().catch(() => undefined)
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
