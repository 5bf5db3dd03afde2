/**
 * The state of one node. Changes are owned with their envelopes. All values are in memory, and the
 * last ones are written to a stream of their own from time to time, one message for each key. So a
 * key that changes often, or is soon forgotten, costs little. A start reads that stream, and then
 * the changes in the node's envelopes behind the place up to which the stream stands for them.
 */
import type { StateChange, StateEntry } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import { completeRead } from './complete-read.ts'
import { readChanges } from './envelope.ts'
import type { NumberedChanges } from './envelope.ts'
import type { NatsLink } from './nats-link.ts'
import type { NodeStream } from './nats-streams.ts'
import type { StateMark, StateStream } from './state-stream.ts'

/** A key whose last value is not in its stream yet, with the place of the envelope that has it. */
interface Unsaved {
  readonly number: number
  readonly stream: number
  readonly sequence: number
}

/** The streams of a node's envelopes, each up to its envelope with this sequence. */
export interface EnvelopeSpans {
  readonly link: NatsLink
  readonly clock: Clock
  readonly streams: readonly NodeStream[]
  readonly upTo: readonly number[]
}

export class NatsState {
  readonly #stored: StateStream
  #values = new Map<string, Buffer>()
  readonly #unsaved = new Map<string, Unsaved>()

  /** `stored` is locked. */
  constructor(stored: StateStream) {
    this.#stored = stored
  }

  /**
   * Reads the stored state, and the changes in the node's envelopes that it does not hold yet.
   * Resolves with the number of the next request. Throws a sentence when the servers do not have
   * all of it within 60 s.
   */
  async recover({ link, clock, streams, upTo }: EnvelopeSpans): Promise<number> {
    const { values, mark } = await this.#stored.read()
    this.#values = values
    if (mark === undefined) return 1
    let highest = mark.number
    for (const [stream, { name, subject }] of streams.entries()) {
      const span = { stream: name, subject, from: (mark.sequences[stream] ?? 0) + 1, upTo: upTo[stream] ?? 0 }
      for await (const { sequence, bytes } of completeRead(link, clock, span)) {
        for (const request of readChanges(bytes)) {
          this.apply(request, stream, sequence)
          highest = Math.max(highest, request.number)
        }
      }
    }
    return highest + 1
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
   * sequences; undefined: another process has the node's place, or the state was closed.
   */
  async save({ number, sequences }: StateMark, lowestOnItsWay: number): Promise<readonly number[] | undefined> {
    const due: [key: string, unsaved: Unsaved][] = []
    const entries: StateChange[] = []
    const marked = [...sequences]
    for (const [key, unsaved] of this.#unsaved) {
      if (unsaved.number >= lowestOnItsWay) {
        marked[unsaved.stream] = Math.min(marked[unsaved.stream] ?? 0, unsaved.sequence - 1)
        continue
      }
      due.push([key, unsaved])
      entries.push({ key, value: this.#values.get(key) })
    }
    if (!(await this.#stored.write(entries, { number, sequences: marked }))) return undefined
    for (const [key, unsaved] of due) if (this.#unsaved.get(key) === unsaved) this.#unsaved.delete(key)
    return marked
  }

  /** Gives up what is on its way. */
  close(): void {
    this.#stored.close()
  }
}
