/**
 * Writes one stream: gathers requests into envelopes, and has one envelope under way at a time. An
 * envelope is sent again, with the same id, until a majority of the servers has it.
 *
 * All envelopes of a node have one subject, and each names the sequence of the one before it. So
 * the servers take no envelope twice, and none out of order, however often it is sent. And whoever
 * writes to that subject fences the node: the servers take nothing more of it.
 */
import assert from 'node:assert'
import type { Clock } from '../../clock.ts'
import { GatheringTime } from '../writing/gathering-time.ts'
import { writeEnvelope } from './envelope.ts'
import type { EnvelopeHead } from './envelope.ts'
import type { Acknowledged, NatsLink } from './nats-link.ts'
import type { NatsRequest } from './nats-request.ts'

/** Without an answer in this time the envelope is sent again, ms. */
const ANSWER_MS = 1_000
/** Time between two attempts when the servers refuse, ms. */
const AGAIN_MS = 100
const MAXIMUM_REQUESTS = 512
/**
 * Envelopes don't wait where so many times the requests come without a wait. Publishers that wait
 * for their acknowledgements send several times as many. An envelope costs three servers two syncs
 * each, so chance must not decide: a count has only a dozen envelopes that waited.
 */
const GROWTH_WITHOUT_WAIT = 1.5
/** Envelopes that are acknowledged and have not arrived; beyond it nothing is sent. */
const MAXIMUM_SENT = 64
/** The API's code for “wrong last sequence”. */
const WRONG_LAST_SEQUENCE = 10_071

interface UnderWay {
  readonly number: number
  readonly bytes: Buffer
  readonly sinceMs: number
}

export interface StreamWriterOptions {
  readonly clock: Clock
  readonly link: Pick<NatsLink, 'lastOf' | 'maximumEnvelopeBytes' | 'publish'>
  readonly stream: string
  readonly subject: string
  readonly incarnation: string
  /** The sequence of the node's last envelope on the subject. */
  readonly lastSequence: number
  /** The number of the next envelope. */
  readonly nextNumber: number
  /**
   * Time from one envelope to the next while several publishers are at work, ms; publishers that
   * wait for their acknowledgements may get none.
   */
  readonly gatherMs: number
  /** Messages and tail of the stream, as far as they arrived. */
  readonly arrived: () => Pick<EnvelopeHead, 'messagesBefore' | 'tail'>
  /** The servers have the envelope with this sequence. */
  readonly acknowledged: (sequence: number) => void
  /**
   * Another process writes in the name of this node, with this sequence: an envelope that has not
   * arrived before it is not owned.
   */
  readonly fenced: (sequence: number) => void
  /**
   * False: another process has fenced this one, though this stream does not tell it. Rejects when
   * the servers do not answer.
   */
  readonly isInPlace: () => Promise<boolean>
}

export class StreamWriter {
  readonly #options: StreamWriterOptions
  readonly #gathering: GatheringTime
  #waiting: NatsRequest[] = []
  /** By number: the requests of the envelopes that have not arrived. */
  readonly #sent = new Map<number, readonly NatsRequest[]>()
  #underWay: UnderWay | undefined
  #lastSequence: number
  #nextNumber: number
  #startedAtMs = -Infinity
  #lastCount = 0
  #isScheduled = false
  #isFenced = false
  #isClosed = false
  /** Why the servers refused last; empty while they take what they get. */
  #refusal = ''

  constructor(options: StreamWriterOptions) {
    this.#options = options
    this.#gathering = new GatheringTime(options.clock, {
      usualMs: options.gatherMs,
      growthWithoutWait: GROWTH_WITHOUT_WAIT,
    })
    this.#lastSequence = options.lastSequence
    this.#nextNumber = options.nextNumber
  }

  add(request: NatsRequest): void {
    this.#waiting.push(request)
    this.#schedule()
  }

  /**
   * The requests of an envelope of this process that has arrived; undefined when it is none, or has
   * arrived already.
   */
  take(number: number, sequence: number): readonly NatsRequest[] | undefined {
    const requests = this.#sent.get(number)
    this.#sent.delete(number)
    if (this.#underWay?.number === number) this.#done(sequence)
    else this.#schedule()
    return requests
  }

  /** How long the servers have not answered for the envelope that is under way, ms. */
  stalledMs(): number {
    return this.#underWay === undefined ? 0 : this.#options.clock.steady() - this.#underWay.sinceMs
  }

  get refusal(): string {
    return this.#refusal
  }

  /** Takes back the requests that were never sent. */
  takeBack(): NatsRequest[] {
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
  }

  /** Takes back everything, when the stream will never own it. */
  takeAll(): NatsRequest[] {
    const all = [...[...this.#sent.values()].flat(), ...this.#waiting]
    this.#sent.clear()
    this.#waiting = []
    return all
  }

  /** Sends nothing from here on. */
  close(): void {
    this.#isClosed = true
  }

  #schedule(): void {
    if (this.#isScheduled || this.#underWay !== undefined || this.#waiting.length === 0) return
    if (this.#isFenced || this.#isClosed || this.#sent.size >= MAXIMUM_SENT) return
    this.#isScheduled = true
    const { clock } = this.#options
    const waitsMs = this.#lastCount > 1 ? this.#startedAtMs + this.#gathering.ms - clock.steady() : 0
    const run = (): void => {
      this.#isScheduled = false
      this.#sendNext()
    }
    if (waitsMs > 0) clock.after(waitsMs, run)
    else clock.afterTurn(run)
  }

  #sendNext(): void {
    if (this.#underWay !== undefined || this.#waiting.length === 0 || this.#isClosed || this.#isFenced) return
    const { clock, incarnation, arrived, link } = this.#options
    let bound = 0
    let count = 0
    for (const request of this.#waiting) {
      if (count === MAXIMUM_REQUESTS || (count > 0 && bound + request.bound > link.maximumEnvelopeBytes)) break
      bound += request.bound
      count += 1
    }
    const requests = this.#waiting.splice(0, count)
    const number = this.#nextNumber
    this.#nextNumber += 1
    const bytes = writeEnvelope({ incarnation, number, ...arrived() }, requests, bound)
    this.#sent.set(number, requests)
    const underWay = { number, bytes, sinceMs: clock.steady() }
    this.#underWay = underWay
    this.#startedAtMs = underWay.sinceMs
    this.#lastCount = count
    this.#gathering.took(count)
    void this.#sendUntilOwned(underWay)
  }

  async #sendUntilOwned(underWay: UnderWay): Promise<void> {
    const { link, subject, incarnation, acknowledged } = this.#options
    const id = `${subject} ${incarnation} ${underWay.number}`
    while (this.#underWay === underWay && !this.#isClosed && !this.#isFenced) {
      const answer = await link.publish(subject, underWay.bytes, { id, lastSequence: this.#lastSequence }, ANSWER_MS)
      // It arrived meanwhile.
      if (this.#underWay !== underWay) return
      const sequence = 'sequence' in answer ? answer.sequence : await this.#resolve(underWay, answer)
      if (this.#underWay !== underWay) return
      if (sequence !== undefined) {
        this.#done(sequence)
        acknowledged(sequence)
        return
      }
    }
  }

  /** Looks into a refusal: the sequence of a stored envelope; undefined: it is to be sent again. */
  async #resolve(underWay: UnderWay, answer: Exclude<Acknowledged, { sequence: number }>): Promise<number | undefined> {
    const { link, clock, stream, subject, incarnation, fenced, isInPlace } = this.#options
    this.#refusal = answer.reason
    if (answer.code !== WRONG_LAST_SEQUENCE) {
      // A timeout has waited long enough.
      if (answer.code !== undefined) await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
      return undefined
    }
    const last = await link.lastOf(stream, subject).catch(() => 'unknown' as const)
    if (last === 'unknown') return undefined
    if (last === undefined) {
      // Retention took all earlier envelopes of the node, and a fence among them.
      const isOurs = await isInPlace().catch(() => 'unknown' as const)
      if (isOurs === true) this.#lastSequence = 0
      else if (isOurs === false) {
        this.#isFenced = true
        fenced(0)
      }
      return undefined
    }
    if (last.head.incarnation !== incarnation) {
      this.#isFenced = true
      fenced(last.sequence)
      return undefined
    }
    if (last.head.number === underWay.number) return last.sequence
    assert(last.head.number < underWay.number, 'envelopes are stored in their order')
    this.#lastSequence = last.sequence
    return undefined
  }

  #done(sequence: number): void {
    this.#underWay = undefined
    this.#refusal = ''
    this.#lastSequence = sequence
    this.#schedule()
  }
}
