/**
 * Follows one stream: its leader publishes each envelope again as soon as a majority of the servers
 * has it. Envelopes that get lost on that way are read from the stream. So each envelope arrives
 * once and in order.
 */
import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Clock } from '../../clock.ts'
import { msOf } from './nats-link.ts'
import type { NatsLink, StoredEnvelope } from './nats-link.ts'

/** Time between two looks for envelopes that did not come, ms. */
const LOOK_MS = 250
/** How long an envelope may be missing before it is read, ms. */
const MISSING_MS = 50
const ENVELOPES_PER_READ = 256
/** Envelopes that wait for earlier ones; those beyond are read from the stream later. */
const MAXIMUM_EARLY = 1_024

/** The part of the link that a follower uses. */
export interface FollowedLink extends Pick<NatsLink, 'read'> {
  readonly connection: {
    subscribe(
      subject: string,
      options: { readonly callback: (error: Error | null, message: Msg) => void },
    ): Pick<Subscription, 'unsubscribe'>
  }
}

export interface StreamFollowerOptions {
  readonly link: FollowedLink
  readonly clock: Clock
  readonly stream: string
  /** The subject on which the stream publishes what it stores. */
  readonly tailSubject: string
  /** Called for each envelope, in the order of the stream. */
  readonly arrived: (envelope: StoredEnvelope) => void
}

export class StreamFollower {
  readonly #options: StreamFollowerOptions
  readonly #subscription: Pick<Subscription, 'unsubscribe'>
  /** Envelopes that came before earlier ones, by sequence. */
  readonly #early = new Map<number, StoredEnvelope>()
  /** The sequence that arrived last; undefined until `begin`. */
  #last: number | undefined
  #known = 0
  #isReading = false
  #isClosed = false
  #cancelLook: () => void = () => {}
  /** The moment of the next look. */
  #lookAtMs = Infinity
  #lastSeen = -1

  /** Envelopes that come before `begin` wait. */
  constructor(options: StreamFollowerOptions) {
    this.#options = options
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) this.#take(republished(message))
    }
    this.#subscription = options.link.connection.subscribe(options.tailSubject, { callback })
  }

  /** Everything up to this sequence is known already. */
  begin(sequence: number): void {
    this.#last = sequence
    for (const early of this.#early.keys()) if (early <= sequence) this.#early.delete(early)
    this.#drain()
    this.#lookLater(LOOK_MS)
  }

  /** The stream has an envelope with this sequence. */
  expect(sequence: number): void {
    this.#known = Math.max(this.#known, sequence)
    if (this.#isBehind()) this.#lookLater(MISSING_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#cancelLook()
    this.#subscription.unsubscribe()
  }

  #isBehind(): boolean {
    return this.#last !== undefined && (this.#early.size > 0 || this.#known > this.#last)
  }

  #take(envelope: StoredEnvelope): void {
    const { sequence } = envelope
    if (this.#isClosed || (this.#last !== undefined && sequence <= this.#last)) return
    this.#known = Math.max(this.#known, sequence)
    if (sequence - 1 === this.#last) {
      this.#arrive(envelope)
      this.#drain()
      return
    }
    if (this.#early.size < MAXIMUM_EARLY) this.#early.set(sequence, envelope)
    if (this.#last !== undefined) this.#lookLater(MISSING_MS)
  }

  #arrive(envelope: StoredEnvelope): void {
    this.#last = envelope.sequence
    this.#options.arrived(envelope)
  }

  #drain(): void {
    while (this.#early.size > 0 && this.#last !== undefined) {
      const next = this.#early.get(this.#last + 1)
      if (next === undefined) return
      this.#early.delete(next.sequence)
      this.#arrive(next)
    }
  }

  #lookLater(ms: number): void {
    if (this.#isReading || this.#isClosed) return
    const { clock } = this.#options
    const atMs = clock.steady() + ms
    // Envelopes that keep coming do not put the look off.
    if (this.#lookAtMs <= atMs) return
    this.#lookAtMs = atMs
    this.#cancelLook()
    this.#cancelLook = clock.after(ms, () => void this.#look())
  }

  /** Reads what is missing; asks for more when nothing has come for a while. */
  async #look(): Promise<void> {
    this.#lookAtMs = Infinity
    const last = this.#last as number
    if (this.#isBehind() || last === this.#lastSeen) {
      this.#isReading = true
      try {
        await this.#readOn(last)
      } catch {
        // No server answers; the next look tries again.
      } finally {
        this.#isReading = false
      }
    }
    this.#lastSeen = this.#last as number
    this.#lookLater(this.#isBehind() ? MISSING_MS : LOOK_MS)
  }

  async #readOn(last: number): Promise<void> {
    const { link, stream } = this.#options
    for (const envelope of await link.read(stream, last + 1, ENVELOPES_PER_READ)) {
      const { sequence } = envelope
      if (this.#isClosed || sequence <= (this.#last as number)) continue
      // Retention took what lies between.
      this.#early.delete(sequence)
      this.#arrive(envelope)
    }
    for (const early of this.#early.keys()) if (early <= (this.#last as number)) this.#early.delete(early)
    this.#drain()
  }
}

function republished(message: Msg): StoredEnvelope {
  const { headers, data } = message
  return {
    sequence: Number(headers?.get('Nats-Sequence')),
    subject: headers?.get('Nats-Subject') ?? '',
    ownedAtMs: msOf(headers?.get('Nats-Time-Stamp') ?? ''),
    bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  }
}
