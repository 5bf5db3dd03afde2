/**
 * One stream as the process knows it: the envelopes that arrived last, and the number of messages
 * before each of its places.
 */
import assert from 'node:assert'
import type { Message } from '../../broker/ports/message.ts'
import { OFFSETS_PER_ENVELOPE, firstOffset } from './envelope.ts'

/** An envelope with its messages, in their order. */
export interface ReadEnvelope {
  readonly sequence: number
  readonly ownedAtMs: number
  readonly messages: readonly Message[]
  readonly bytes: number
}

/** Bytes that an envelope takes in memory beside its messages. */
const ENVELOPE_BYTES = 256
/** Places that are known exactly; beyond, every second of the older half is given up. */
const MAXIMUM_COUNTS = 131_072

export class PartitionLog {
  /** The offset behind the last message that arrived. */
  tail: number
  /** The messages of the stream up to the tail, since it was made. */
  total: number
  /** The sequence of the last envelope that arrived. */
  sequence: number
  readonly #maximumBytes: number
  #envelopes: ReadEnvelope[] = []
  #bytes = 0
  /** All envelopes from this sequence on are in memory. */
  #completeFrom: number
  /** Sequences of envelopes, ascending, and the messages of the stream before each. */
  #countedAt: number[] = []
  #counts: number[] = []

  constructor(
    place: { readonly tail: number; readonly total: number; readonly sequence: number },
    maximumBytes: number,
  ) {
    this.tail = place.tail
    this.total = place.total
    this.sequence = place.sequence
    this.#maximumBytes = maximumBytes
    this.#completeFrom = place.sequence + 1
  }

  /** Takes the next envelope. The tail stays before its messages: move it with `advance`. */
  add(envelope: ReadEnvelope): void {
    const { sequence, messages } = envelope
    assert(sequence > this.sequence)
    this.sequence = sequence
    if (messages.length === 0) return
    this.#envelopes.push(envelope)
    this.#bytes += envelope.bytes + ENVELOPE_BYTES
    while (this.#bytes > this.#maximumBytes && this.#envelopes.length > 0) this.#dropFirst()
    this.#countedAt.push(sequence)
    this.#counts.push(this.total)
    if (this.#counts.length > MAXIMUM_COUNTS) this.#thinOut()
  }

  /** One more message has arrived. */
  advance(offset: number): void {
    this.tail = offset + 1
    this.total += 1
  }

  /** Retention has removed the envelopes before this sequence. */
  forgetBefore(sequence: number): void {
    while (this.#envelopes[0] !== undefined && this.#envelopes[0].sequence < sequence) this.#dropFirst()
  }

  /** At most as many envelopes from the sequence on; undefined where not all are in memory. */
  envelopesFrom(sequence: number, maximum: number): readonly ReadEnvelope[] | undefined {
    if (sequence < this.#completeFrom) return undefined
    const start = firstFrom(this.#envelopes, sequence)
    return this.#envelopes.slice(start, start + maximum)
  }

  /** The first envelope owned at or after the time, if memory has one from before that time. */
  since(timeMs: number): ReadEnvelope | undefined {
    const [first] = this.#envelopes
    if (first === undefined || first.ownedAtMs >= timeMs) return undefined
    return this.#envelopes.find(({ ownedAtMs }) => ownedAtMs >= timeMs)
  }

  /**
   * The messages between two offsets. Exact for the places that the process knows, and from the
   * beginning of the stream. From a place that it did not see, those since the process began, and
   * one.
   */
  messagesBetween(from: number, to: number): number {
    return Math.max(0, this.#countUpTo(to) - this.#countUpTo(from))
  }

  #countUpTo(offset: number): number {
    const sequence = Math.floor(offset / OFFSETS_PER_ENVELOPE)
    const at = placeOf(this.#countedAt, sequence)
    const known = this.#countedAt[at]
    if (known === undefined) return this.total
    const count = this.#counts[at] as number
    if (known === sequence) return count + Math.min(offset - firstOffset(sequence), this.#messagesOf(at))
    if (at > 0 || count === 0) return count
    return sequence === 0 ? 0 : count - 1
  }

  /** The messages of a known envelope, at most. */
  #messagesOf(at: number): number {
    return (this.#counts[at + 1] ?? this.total) - (this.#counts[at] as number)
  }

  #dropFirst(): void {
    const dropped = this.#envelopes.shift()
    if (dropped === undefined) return
    this.#bytes -= dropped.bytes + ENVELOPE_BYTES
    this.#completeFrom = dropped.sequence + 1
  }

  #thinOut(): void {
    const half = MAXIMUM_COUNTS / 2
    const isKept = (_value: number, at: number): boolean => at >= half || at % 2 === 0
    this.#countedAt = this.#countedAt.filter(isKept)
    this.#counts = this.#counts.filter(isKept)
  }
}

/** The index of the first number that is not less. */
function placeOf(ascending: readonly number[], value: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ascending[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}

function firstFrom(envelopes: readonly ReadEnvelope[], sequence: number): number {
  let [low, high] = [0, envelopes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((envelopes[middle] as ReadEnvelope).sequence < sequence) low = middle + 1
    else high = middle
  }
  return low
}
