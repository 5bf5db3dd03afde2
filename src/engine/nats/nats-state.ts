/**
 * The state of one node. Changes are owned with their envelopes. All values are in memory, and the
 * last ones are written to a stream of their own from time to time, one message for each key. So a
 * key that changes often, or is soon forgotten, costs little. A start reads that stream, and then
 * the changes in the node's envelopes behind the place up to which the stream stands for them.
 */
import { createHash } from 'node:crypto'
import type { StateChange, StateEntry } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import { readChanges } from './envelope.ts'
import type { NumberedChanges } from './envelope.ts'
import type { NatsLink, StoredEnvelope } from './nats-link.ts'

/** Values on their way to the servers at the same time. */
const MAXIMUM_UNDER_WAY = 128
const ANSWER_MS = 2_000
const AGAIN_MS = 100
/** How long the servers keep the note that a key is forgotten, s. */
const FORGOTTEN_SECONDS = 3_600
const ENTRIES_PER_READ = 1_024

/** A key whose last value is not in its stream yet, with the place of the envelope that has it. */
interface Unsaved {
  readonly number: number
  readonly stream: number
  readonly sequence: number
}

/** Up to where the stream of the state stands for the envelopes. */
export interface StateMark {
  /** Higher than the number of every request so far. */
  readonly number: number
  /** By stream: the sequence of the last envelope. */
  readonly sequences: readonly number[]
}

export interface NatsStateOptions {
  readonly link: NatsLink
  readonly clock: Clock
  readonly stream: string
  /** The beginning of the subjects of the node's entries. */
  readonly subject: string
}

export class NatsState {
  readonly #options: NatsStateOptions
  readonly #values = new Map<string, Buffer>()
  readonly #unsaved = new Map<string, Unsaved>()
  #isClosed = false

  constructor(options: NatsStateOptions) {
    this.#options = options
  }

  /** Reads the stream. Resolves with its mark; undefined: the node has none yet. */
  async load(): Promise<StateMark | undefined> {
    const { link, stream, subject } = this.#options
    // A server that has this entry has all earlier ones.
    const last = await this.#put(`${subject}.opened`, Buffer.alloc(0), undefined)
    let mark: StateMark | undefined
    for (let from = 1; from <= last;) {
      const found = await link.read(stream, from, ENTRIES_PER_READ)
      const end = found.at(-1)?.sequence
      if (end === undefined) await this.#wait(AGAIN_MS)
      else from = end + 1
      for (const { subject: of, bytes } of found) {
        if (of === `${subject}.mark`) mark = JSON.parse(bytes.toString()) as StateMark
        else if (of.startsWith(`${subject}.key.`)) this.#restore(bytes)
      }
    }
    return mark
  }

  /** Takes changes from an envelope. Changes of a request with a higher number count for more. */
  apply({ number, changes }: NumberedChanges, stream: number, sequence: number): void {
    for (const { key, value } of changes) {
      const known = this.#unsaved.get(key)
      if (known !== undefined && known.number > number) continue
      if (value === undefined) this.#values.delete(key)
      else this.#values.set(key, value)
      this.#unsaved.set(key, { number, stream, sequence })
    }
  }

  /** Takes the changes of a stored envelope of the node. */
  replay(envelope: StoredEnvelope, stream: number): number {
    let highest = 0
    for (const request of readChanges(envelope.bytes)) {
      this.apply(request, stream, envelope.sequence)
      highest = Math.max(highest, request.number)
    }
    return highest
  }

  *entries(prefix: string): Generator<StateEntry> {
    const keys = [...this.#values.keys()].filter((key) => key.startsWith(prefix)).toSorted()
    for (const key of keys) {
      const value = this.#values.get(key)
      if (value !== undefined) yield { key, value: Buffer.from(value) }
    }
  }

  get isSaved(): boolean {
    return this.#unsaved.size === 0
  }

  /**
   * Writes the values that changed, and then the mark. Values of requests from `lowestOnItsWay` on
   * wait, since an earlier request for the same key may still arrive. Resolves with the mark's
   * sequences.
   */
  async save({ number, sequences }: StateMark, lowestOnItsWay: number): Promise<readonly number[]> {
    const due: [key: string, unsaved: Unsaved][] = []
    const marked = [...sequences]
    for (const [key, unsaved] of this.#unsaved) {
      if (unsaved.number < lowestOnItsWay) due.push([key, unsaved])
      else marked[unsaved.stream] = Math.min(marked[unsaved.stream] ?? 0, unsaved.sequence - 1)
    }
    const workers = Array.from({ length: Math.min(due.length, MAXIMUM_UNDER_WAY) }, async () => {
      for (let next = due.pop(); next !== undefined && !this.#isClosed; next = due.pop()) await this.#saveKey(...next)
    })
    await Promise.all(workers)
    if (this.#isClosed) return []
    const { subject } = this.#options
    await this.#put(`${subject}.mark`, Buffer.from(JSON.stringify({ number, sequences: marked })), undefined)
    return marked
  }

  /** Gives up what is on its way. */
  close(): void {
    this.#isClosed = true
  }

  async #saveKey(key: string, unsaved: Unsaved): Promise<void> {
    if (this.#unsaved.get(key) !== unsaved) return
    const value = this.#values.get(key)
    const entry: StateChange = { key, value }
    const digest = createHash('sha256').update(key).digest('hex').slice(0, 32)
    const ttlSeconds = value === undefined ? FORGOTTEN_SECONDS : undefined
    await this.#put(`${this.#options.subject}.key.${digest}`, entryBytes(entry), ttlSeconds)
    if (this.#unsaved.get(key) === unsaved && !this.#isClosed) this.#unsaved.delete(key)
  }

  /** Resolves with the sequence when a majority of the servers has it; 0 after `close`. */
  async #put(subject: string, bytes: Buffer, ttlSeconds: number | undefined): Promise<number> {
    while (!this.#isClosed) {
      const answer = await this.#options.link.publish(subject, bytes, { ttlSeconds }, ANSWER_MS)
      if ('sequence' in answer) return answer.sequence
      await this.#wait(AGAIN_MS)
    }
    return 0
  }

  #restore(bytes: Buffer): void {
    const keyEnd = 5 + bytes.readUInt32LE(1)
    const key = bytes.toString('utf8', 5, keyEnd)
    if (bytes[0] === 0) this.#values.delete(key)
    else this.#values.set(key, Buffer.from(bytes.subarray(keyEnd)))
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve))
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
