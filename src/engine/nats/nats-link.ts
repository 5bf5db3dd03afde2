/**
 * The connection to the servers of NATS, as far as the engine needs it: publishing with an
 * acknowledgement, reading envelopes by sequence, and streams. One inbox takes all
 * acknowledgements, for a subscription for each would cost ten times as much.
 */
import { createInbox, headers } from '@nats-io/transport-node'
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { BatchCallback, DirectBatchOptions, JetStreamManager, StoredMsg, StreamConfig } from '@nats-io/jetstream'
import { readEnvelopeHead } from './envelope.ts'
import type { EnvelopeHead } from './envelope.ts'
import { later } from '../../clock.ts'
import type { Clock } from '../../clock.ts'

/** Room for the headers of an envelope within the servers' bound on a message. */
const HEADER_BYTES = 1_024
/** The most bytes of an envelope. */
const MAXIMUM_ENVELOPE_BYTES = 1_048_576
const NO_RESPONDERS = 503
/** A batch that is not complete by then ends with the envelopes that came, ms. */
const BATCH_MS = 2_000

/**
 * The API's code of a refusal: the leader of the servers sees too few of them for the replicas.
 * This passes where the leader was just chosen, or a server has just come back.
 */
const NO_SUITABLE_PEERS = 10_005
/** The servers see each other again within this time after a fault, ms. */
const PEERS_MS = 10_000
const AGAIN_MS = 100

/** The servers have it, or a refusal. No code: they did not answer in time. */
export type Acknowledged =
  | { readonly sequence: number }
  | { readonly code: number | undefined; readonly reason: string }

/** The conditions of a publish. */
export interface Expectation {
  /** The same for all attempts to store the same. */
  readonly id?: string | undefined
  /** The sequence of the last message on the same subject; 0: there is none. */
  readonly lastSequence?: number | undefined
  /** The servers remove the message after this time, s. */
  readonly ttlSeconds?: number | undefined
}

/** A message of a batch; the last one may have an expectation of its subject. */
export interface BatchMessage extends Omit<Expectation, 'id'> {
  readonly subject: string
  readonly bytes: Buffer
}

/** An envelope with its place in the stream. */
export interface StoredEnvelope {
  readonly sequence: number
  readonly subject: string
  /** When the leader of the stream took it, ms since 1970. */
  readonly ownedAtMs: number
  readonly bytes: Buffer
}

export class NatsLink {
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
  readonly maximumEnvelopeBytes: number
  readonly #clock: Clock
  readonly #inbox = createInbox()
  readonly #answers = new Map<string, (answer: Acknowledged) => void>()
  #lastToken = 0

  constructor(connection: NatsConnection, manager: JetStreamManager, clock: Clock) {
    this.connection = connection
    this.manager = manager
    this.#clock = clock
    const maximumBytes = connection.info?.max_payload ?? MAXIMUM_ENVELOPE_BYTES
    this.maximumEnvelopeBytes = Math.min(maximumBytes, MAXIMUM_ENVELOPE_BYTES) - HEADER_BYTES
    connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#answer(message)
      },
    })
  }

  /** Wraps an open connection. */
  static async over(connection: NatsConnection, clock: Clock): Promise<NatsLink> {
    return new NatsLink(connection, await jetstreamManager(connection, { timeout: 5_000 }), clock)
  }

  /**
   * Makes a stream. Waits for servers that do not see each other yet, for ten seconds at most.
   * Throws the servers' refusal.
   */
  async addStream(config: Partial<StreamConfig> & { readonly name: string }): Promise<void> {
    const deadline = later(this.#clock.steady(), PEERS_MS)
    for (;;) {
      try {
        await this.manager.streams.add(config)
        return
      } catch (error) {
        const passes = error instanceof JetStreamApiError && error.code === NO_SUITABLE_PEERS
        if (!passes || this.#clock.steady() >= deadline) throw error
        await new Promise<void>((resolve) => void this.#clock.after(AGAIN_MS, resolve))
      }
    }
  }

  /** Publishes to a stream. Never rejects. */
  publish(subject: string, bytes: Uint8Array, expectation: Expectation, timeoutMs: number): Promise<Acknowledged> {
    return this.#acknowledged(subject, bytes, headersOf(expectation), timeoutMs)
  }

  /**
   * Publishes 1,000 messages of one stream at most, which the servers store as a whole or not at
   * all. The id is of this attempt alone. Resolves with the sequence of the last message. Never
   * rejects.
   */
  publishBatch(id: string, messages: readonly BatchMessage[], timeoutMs: number): Promise<Acknowledged> {
    for (const [place, message] of messages.entries()) {
      const head = headersOf(message)
      head.set('Nats-Batch-Id', id)
      head.set('Nats-Batch-Sequence', `${place + 1}`)
      if (place === messages.length - 1) {
        head.set('Nats-Batch-Commit', '1')
        return this.#acknowledged(message.subject, message.bytes, head, timeoutMs)
      }
      try {
        this.connection.publish(message.subject, message.bytes, { headers: head })
      } catch (error) {
        return Promise.resolve({ code: 0, reason: closed(error) })
      }
    }
    throw new RangeError('a batch has a message')
  }

  #acknowledged(subject: string, bytes: Uint8Array, head: MsgHdrs, timeoutMs: number): Promise<Acknowledged> {
    this.#lastToken += 1
    const token = `${this.#inbox}.${this.#lastToken}`
    return new Promise((resolve) => {
      const cancel = this.#clock.after(timeoutMs, () => {
        this.#answers.delete(token)
        resolve({ code: undefined, reason: 'The servers of NATS do not answer.' })
      })
      this.#answers.set(token, (answer) => {
        cancel()
        resolve(answer)
      })
      try {
        this.connection.publish(subject, bytes, { reply: token, headers: head })
      } catch (error) {
        this.#answers.get(token)?.({ code: 0, reason: closed(error) })
        this.#answers.delete(token)
      }
    })
  }

  /**
   * Reads envelopes from a sequence on, ascending: at least one if any is there. A server that is
   * behind may know fewer than the leader. Only envelopes on the subject, which may have wildcards.
   * Rejects when no server answers.
   */
  async read(stream: string, fromSequence: number, count: number, subject?: string): Promise<StoredEnvelope[]> {
    const query = { seq: Math.max(1, fromSequence), batch: count, max_bytes: 4 * 1_048_576 }
    return await this.#batch(stream, subject === undefined ? query : { ...query, next_by_subj: subject })
  }

  /** Reads the first envelopes that the stream took at or after a time, ms since 1970. */
  async readSince(stream: string, timeMs: number, count: number): Promise<StoredEnvelope[]> {
    return await this.#batch(stream, { start_time: new Date(Math.max(0, timeMs)), batch: count })
  }

  /** The leader's last envelope on a subject. Rejects when the leader does not answer. */
  async lastOf(
    stream: string,
    subject: string,
  ): Promise<{ readonly sequence: number; readonly head: EnvelopeHead & { readonly messages: number } } | undefined> {
    const last = await this.manager.streams.getMessage(stream, { last_by_subj: subject })
    if (last === null) return undefined
    return { sequence: last.seq, head: readEnvelopeHead(Buffer.from(last.data)) }
  }

  async #batch(stream: string, query: DirectBatchOptions): Promise<StoredEnvelope[]> {
    const found: StoredMsg[] = []
    const { promise: ended, resolve: end } = Promise.withResolvers<Error | undefined>()
    // Without a callback the client keeps the subscription of the batch for five seconds.
    const callback: BatchCallback<StoredMsg> = (done, message) => {
      if (done === null) found.push(message)
      else end(done.err)
    }
    const reading = await this.manager.direct.getBatch(stream, { ...query, callback })
    // A server that ends within a batch leaves it without an end.
    const cancel = this.#clock.after(BATCH_MS, () => reading.stop(new Error('the servers of NATS do not answer')))
    const error = await ended
    cancel()
    if (error !== undefined && found.length === 0 && !isNotFound(error)) throw error
    return found.map(stored)
  }

  #answer(message: Msg): void {
    const answer = this.#answers.get(message.subject)
    if (answer === undefined) return
    this.#answers.delete(message.subject)
    if (message.headers?.code === NO_RESPONDERS) {
      answer({ code: NO_RESPONDERS, reason: 'No server of NATS takes the stream’s messages at the moment.' })
      return
    }
    const body = message.json<{ seq?: number; error?: { err_code: number; description: string } }>()
    if (body.error === undefined) answer({ sequence: body.seq as number })
    else answer({ code: body.error.err_code, reason: `NATS refuses: ${body.error.description}.` })
  }
}

function headersOf({ id, lastSequence, ttlSeconds }: Expectation): MsgHdrs {
  const head = headers()
  if (id !== undefined) head.set('Nats-Msg-Id', id)
  if (lastSequence !== undefined) head.set('Nats-Expected-Last-Subject-Sequence', `${lastSequence}`)
  if (ttlSeconds !== undefined) head.set('Nats-TTL', `${ttlSeconds}s`)
  return head
}

function closed(error: unknown): string {
  return `The connection to NATS is closed (${String(error)}).`
}

/** Whole ms of an RFC 3339 time with nanoseconds. */
export function msOf(timestamp: string): number {
  return Date.parse(timestamp)
}

function stored(message: StoredMsg): StoredEnvelope {
  const { seq, subject, timestamp, data } = message
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return { sequence: seq, subject, ownedAtMs: msOf(timestamp), bytes }
}

function isNotFound(error: Error): boolean {
  return /not found|no results|404/i.test(error.message)
}
