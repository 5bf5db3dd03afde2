/**
 * Records in a stream of NATS: one message for each subject. The leader of the stream is read, and
 * a record changes by compare-and-set. So all nodes see one history of each record.
 */
import { DiscardPolicy, JetStreamApiError, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import type { Clock, SteadyMs } from '../clock.ts'
import type { Acknowledged, NatsLink } from '../engine/nats/nats-link.ts'
import { later } from '../clock.ts'

const ANSWER_MS = 2_000
const READ_MS = 1_000
const AGAIN_MS = 100
/** How long an attempt that got no answer can be sent again under its id, ms. */
const DUPLICATES_MS = 120_000
const NANOSECONDS = 1_000_000
/** The API's code for “wrong last sequence”, with and without the sequence. */
const WRONG_LAST_SEQUENCE: ReadonlySet<number | undefined> = new Set([10_071, 10_164])
const NO_MESSAGE_FOUND = 10_037
/** The stream is there, with another configuration. */
const STREAM_DIFFERS = 10_058

/** The servers did not answer in time. A change may have happened. */
class RecordsUnreachableError extends Error {
  override readonly name = 'RecordsUnreachableError'

  constructor(stream: string, reason: string) {
    super(`the servers of NATS do not answer for the stream ${stream}: ${reason}`)
  }
}

/** A record with its place in the stream. Sequence 0: there is none. */
export interface StoredRecord {
  readonly sequence: number
  readonly bytes: Buffer | undefined
}

export interface RecordStreamOptions {
  readonly link: NatsLink
  readonly clock: Clock
  /** The name of the stream, and the beginning of its subjects. */
  readonly stream: string
  readonly replicas: number
  /** Drawn for this process; begins the ids of its changes. */
  readonly incarnation: string
}

interface FoundMessage {
  readonly message?: { readonly seq: number; readonly data?: string }
  readonly error?: { readonly err_code?: number; readonly description?: string }
}

export class RecordStream {
  readonly name: string
  readonly #options: RecordStreamOptions
  #lastChange = 0

  constructor(options: RecordStreamOptions) {
    this.#options = options
    this.name = options.stream
  }

  /** Makes the stream, or gives it the present configuration. Throws the servers' refusal. */
  async prepare(): Promise<void> {
    const { link, stream, replicas } = this.#options
    const config = {
      name: stream,
      subjects: [`${stream}.>`],
      storage: StorageType.File,
      num_replicas: replicas,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 1,
      allow_direct: true,
      allow_msg_ttl: true,
      duplicate_window: DUPLICATES_MS * NANOSECONDS,
    }
    try {
      await link.addStream(config)
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== STREAM_DIFFERS) throw error
      await link.manager.streams.update(stream, config)
    }
  }

  /**
   * Asks the leader. Rejects with RecordsUnreachableError. A leader that was just elected may
   * answer with an earlier record; a change by that record’s sequence fails.
   */
  async read(subject: string, timeoutMs: number): Promise<StoredRecord> {
    const { link, clock, stream } = this.#options
    const deadline = later(clock.steady(), timeoutMs)
    const query = JSON.stringify({ last_by_subj: `${stream}.${subject}` })
    for (;;) {
      let reason: string
      try {
        const timeout = Math.max(1, Math.min(READ_MS, deadline - clock.steady()))
        const answer = await link.connection.request(`$JS.API.STREAM.MSG.GET.${stream}`, query, { timeout })
        const { message, error } = answer.json<FoundMessage>()
        if (message !== undefined) {
          return { sequence: message.seq, bytes: Buffer.from(message.data ?? '', 'base64') }
        }
        if (error?.err_code === NO_MESSAGE_FOUND) return { sequence: 0, bytes: undefined }
        reason = error?.description ?? 'no record and no error'
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error)
      }
      await this.#again(deadline, reason)
    }
  }

  /**
   * Changes a record that still has this sequence. Resolves with its new sequence; undefined:
   * somebody else has changed it. Rejects with RecordsUnreachableError; then it may have happened.
   */
  async change(
    subject: string,
    bytes: Buffer,
    lastSequence: number,
    options: { readonly timeoutMs: number; readonly ttlSeconds?: number },
  ): Promise<number | undefined> {
    const { link, clock, stream, incarnation } = this.#options
    const { timeoutMs, ttlSeconds } = options
    const deadline = later(clock.steady(), timeoutMs)
    this.#lastChange += 1
    const id = `${incarnation} ${this.#lastChange}`
    for (let isFirst = true; ; isFirst = false) {
      const waitMs = Math.max(1, Math.min(ANSWER_MS, deadline - clock.steady()))
      const answer = await link.publish(`${stream}.${subject}`, bytes, { id, lastSequence, ttlSeconds }, waitMs)
      if ('sequence' in answer) return answer.sequence
      if (WRONG_LAST_SEQUENCE.has(answer.code)) {
        return isFirst ? undefined : await this.#ownChange(subject, bytes, lastSequence, deadline)
      }
      await this.#again(deadline, answer.reason)
    }
  }

  /** Writes whatever is there. Resolves with the sequence. Rejects with RecordsUnreachableError. */
  async put(subject: string, bytes: Buffer, timeoutMs: number, ttlSeconds: number): Promise<number> {
    const { link, clock, stream } = this.#options
    const deadline = later(clock.steady(), timeoutMs)
    for (;;) {
      const waitMs = Math.max(1, Math.min(ANSWER_MS, deadline - clock.steady()))
      const answer: Acknowledged = await link.publish(`${stream}.${subject}`, bytes, { ttlSeconds }, waitMs)
      if ('sequence' in answer) return answer.sequence
      await this.#again(deadline, answer.reason)
    }
  }

  /**
   * The sequence of the record, if an earlier attempt has stored exactly this. A leader that was
   * just elected may not know the newer record yet, which there is.
   */
  async #ownChange(
    subject: string,
    bytes: Buffer,
    lastSequence: number,
    deadline: SteadyMs,
  ): Promise<number | undefined> {
    for (;;) {
      const stored = await this.read(subject, Math.max(READ_MS, deadline - this.#options.clock.steady()))
      if (stored.sequence > lastSequence) return stored.bytes?.equals(bytes) === true ? stored.sequence : undefined
      await this.#again(deadline, 'the leader does not know the newer record')
    }
  }

  /** Waits before the next attempt. Throws when the time is over. */
  async #again(deadline: SteadyMs, reason: string): Promise<void> {
    const { clock, stream } = this.#options
    if (clock.steady() + AGAIN_MS >= deadline) throw new RecordsUnreachableError(stream, reason)
    await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
  }
}
