/**
 * The stored state of one node: one message for each key, a mark, and a lock. Each write is a batch
 * that the servers store as a whole or not at all. It ends with the lock, and names the sequence of
 * the lock before it. So whoever writes the lock fences the node: the servers store nothing more of
 * its state. The lock is an envelope without requests.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { StateChange } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import { completeRead } from './complete-read.ts'
import { writeEnvelope } from './envelope.ts'
import type { Acknowledged, BatchMessage, NatsLink } from './nats-link.ts'
import { publishSurely } from './publish-surely.ts'

const ANSWER_MS = 2_000
const AGAIN_MS = 100
/** How long the servers keep the note that a key is forgotten, s. */
const FORGOTTEN_SECONDS = 3_600
/** The servers take 1,000 messages in a batch. */
const ENTRIES_PER_BATCH = 256
const BYTES_PER_BATCH = 2_097_152
/** Spans of a read while another process writes; each one is as long as the one before it took. */
const MAXIMUM_SPANS = 100

/** Up to where the stored state stands for the envelopes. */
export interface StateMark {
  /** Higher than the number of every request so far. */
  readonly number: number
  /** By stream: the sequence of the last envelope. */
  readonly sequences: readonly number[]
}

/** An entry on its way into the stored state. */
export interface SavedEntry extends StateChange {
  /** The servers remove the entry after this time, s. Default: never, but for a forgotten key. */
  readonly ttlSeconds?: number
}

/** The state of a node as it is stored. */
export interface StoredState {
  readonly values: Map<string, Buffer>
  /** Undefined: nothing is stored yet. */
  mark: StateMark | undefined
}

export interface StateStreamOptions {
  readonly link: NatsLink
  readonly clock: Clock
  readonly stream: string
  /** The beginning of the subjects of the node's entries. */
  readonly subject: string
  /** Names the writer; see the envelope. */
  readonly incarnation: string
}

export class StateStream {
  readonly #options: StateStreamOptions
  readonly #lockSubject: string
  #lockedAt = 0
  #nextNumber = 1
  #isClosed = false

  constructor(options: StateStreamOptions) {
    this.#options = options
    this.#lockSubject = `${options.subject}.lock`
  }

  /**
   * Takes the lock from whoever has it. Resolves with its sequence. Throws a sentence when the
   * servers do not take it within 30 s.
   */
  async lock(): Promise<number> {
    const { link, clock, incarnation } = this.#options
    const id = `${this.#lockSubject} ${incarnation} 0`
    this.#lockedAt = await publishSurely({ link, clock, subject: this.#lockSubject, bytes: this.#lockOf(0), id })
    return this.#lockedAt
  }

  /** Reads everything before the lock. Throws a sentence when no server has it within 60 s. */
  async read(): Promise<StoredState> {
    const found: StoredState = { values: new Map(), mark: undefined }
    await this.#readInto(found, 1, this.#lockedAt)
    return found
  }

  /**
   * Reads everything without the lock, while another process may write. Rejects when the servers do
   * not answer, or the writer is faster than this reader.
   */
  async readUnlocked(): Promise<StoredState> {
    const { link, stream } = this.#options
    const found: StoredState = { values: new Map(), mark: undefined }
    let at = 0
    for (let span = 0; span < MAXIMUM_SPANS; span += 1) {
      const last = await link.lastOf(stream, this.#lockSubject)
      // An entry that is written again moves behind the end of its span: then the lock moves, too.
      if (last === undefined || last.sequence <= at) return found
      await this.#readInto(found, at + 1, last.sequence)
      at = last.sequence
    }
    throw new Error(`The stream ${stream} changes faster than it can be read.`)
  }

  async #readInto(found: StoredState, from: number, upTo: number): Promise<void> {
    const { link, clock, stream, subject } = this.#options
    const span = { stream, subject: `${subject}.>`, from, upTo }
    for await (const { subject: of, bytes } of completeRead(link, clock, span)) {
      if (of === `${subject}.mark`) found.mark = JSON.parse(bytes.toString()) as StateMark
      else if (of.startsWith(`${subject}.key.`)) restore(found.values, bytes)
    }
  }

  /**
   * Stores the entries, and then the mark. Waits for servers that do not answer. False: another
   * process has the lock, or the stream was closed; the mark is not stored.
   */
  async write(entries: readonly SavedEntry[], mark: StateMark): Promise<boolean> {
    const { subject } = this.#options
    let batch: BatchMessage[] = []
    let bytes = 0
    for (const entry of entries) {
      const message = this.#messageOf(entry)
      if (batch.length === ENTRIES_PER_BATCH || (batch.length > 0 && bytes + message.bytes.length > BYTES_PER_BATCH)) {
        if (!(await this.#store(batch))) return false
        batch = []
        bytes = 0
      }
      batch.push(message)
      bytes += message.bytes.length
    }
    return await this.#store([...batch, { subject: `${subject}.mark`, bytes: Buffer.from(JSON.stringify(mark)) }])
  }

  /** Removes everything before the lock. Rejects when the servers do not answer. */
  async removeAll(): Promise<void> {
    const { link, stream, subject } = this.#options
    for (const filter of [`${subject}.key.>`, `${subject}.mark`]) {
      await link.manager.streams.purge(stream, { filter, seq: this.#lockedAt })
    }
  }

  /** Gives up what is on its way. */
  close(): void {
    this.#isClosed = true
  }

  async #store(entries: readonly BatchMessage[]): Promise<boolean> {
    const number = this.#nextNumber
    this.#nextNumber += 1
    while (!this.#isClosed) {
      const lock = { subject: this.#lockSubject, bytes: this.#lockOf(number), lastSequence: this.#lockedAt }
      const answer = await this.#options.link.publishBatch(randomUUID(), [...entries, lock], ANSWER_MS)
      const sequence = 'sequence' in answer ? answer.sequence : await this.#resolve(number, answer)
      if (sequence === 'fenced') return false
      if (sequence === undefined) continue
      this.#lockedAt = sequence
      return true
    }
    return false
  }

  /** Looks into a refusal: the lock's sequence if the batch is stored; undefined: send it again. */
  async #resolve(
    number: number,
    { code }: Exclude<Acknowledged, { sequence: number }>,
  ): Promise<number | 'fenced' | undefined> {
    const { link, clock, stream, incarnation } = this.#options
    // A timeout has waited long enough.
    if (code !== undefined) await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
    const last = await link.lastOf(stream, this.#lockSubject).catch(() => 'unknown' as const)
    if (last === 'unknown') return undefined
    if (last?.head.incarnation !== incarnation) return 'fenced'
    return last.head.number === number ? last.sequence : undefined
  }

  #lockOf(number: number): Buffer {
    return writeEnvelope({ incarnation: this.#options.incarnation, number, messagesBefore: 0, tail: 0 }, [], 0)
  }

  #messageOf({
    key,
    value,
    ttlSeconds = value === undefined ? FORGOTTEN_SECONDS : undefined,
  }: SavedEntry): BatchMessage {
    const digest = createHash('sha256').update(key).digest('hex').slice(0, 32)
    const subject = `${this.#options.subject}.key.${digest}`
    return { subject, bytes: entryBytes({ key, value }), ttlSeconds }
  }
}

/** uint8 1 with a value or 0 forgotten, uint32 bytes of the key, key, value. */
function entryBytes({ key, value }: StateChange): Buffer {
  const keyBytes = Buffer.from(key)
  const head = Buffer.allocUnsafe(5)
  head[0] = value === undefined ? 0 : 1
  head.writeUInt32LE(keyBytes.length, 1)
  return Buffer.concat([head, keyBytes, value ?? Buffer.alloc(0)])
}

function restore(values: Map<string, Buffer>, bytes: Buffer): void {
  const keyEnd = 5 + bytes.readUInt32LE(1)
  const key = bytes.toString('utf8', 5, keyEnd)
  if (bytes[0] === 0) values.delete(key)
  else values.set(key, Buffer.from(bytes.subarray(keyEnd)))
}
