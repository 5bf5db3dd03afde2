/** The requests of the engine that have not been told what became of them, within a bound. */
import type { AppendRequest, EngineFailure, StateRequest } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { unstorable } from '../writing/log-request.ts'
import { envelopedBound } from './envelope.ts'
import { NatsRequest } from './nats-request.ts'
import { ToldOrder } from './told-order.ts'

/** Bytes that a request takes in memory beside its content, approximately. */
const REQUEST_BYTES = 256
/** Changes of state alone may take as much more of the memory than messages. */
const STATE_SHARE = 1.25

export interface RequestBounds {
  /** Memory for all requests; beyond it they fail with 0x97. */
  readonly waitingBytes: number
  readonly envelopeBytes: number
}

export class RequestsUnderWay {
  readonly #bounds: RequestBounds
  readonly #order = new ToldOrder((request) => this.#told(request))
  /** The numbers of the requests with changes that have not arrived, ascending. */
  readonly #withChanges = new Set<number>()
  #nextNumber: number
  #bytes = 0
  #count = 0
  #refusal: string | undefined
  #idle: (() => void) | undefined

  constructor(bounds: RequestBounds, nextNumber: number) {
    this.#bounds = bounds
    this.#nextNumber = nextNumber
  }

  /** Higher than the number of every request so far. */
  get nextNumber(): number {
    return this.#nextNumber
  }

  /** The first request with changes that have not arrived; Infinity: there is none. */
  get lowestWithChanges(): number {
    const [lowest = Infinity] = this.#withChanges
    return lowest
  }

  /** Takes a request. One that can't be taken fails after the caller's turn: then undefined. */
  take(request: AppendRequest | StateRequest): NatsRequest | undefined {
    const message = 'message' in request ? request.message : undefined
    let failure: EngineFailure | undefined
    let bound = 0
    try {
      bound = envelopedBound(message, request.changes)
      failure = this.#whyNot(bound, message?.payload.length)
    } catch (error) {
      failure = unstorable(error)
    }
    if (failure !== undefined) {
      const told = failure
      queueMicrotask(() => request.failed(told))
      return undefined
    }
    const taken = new NatsRequest(this.#nextNumber, bound, request)
    this.#nextNumber += 1
    this.#bytes += bound + REQUEST_BYTES
    this.#count += 1
    if (taken.changes !== undefined && taken.changes.length > 0) this.#withChanges.add(taken.number)
    this.#order.add(taken)
    return taken
  }

  /** The request's changes are part of the state. */
  applied({ number }: NatsRequest): void {
    this.#withChanges.delete(number)
  }

  /** A stream owns the request. */
  owned(request: NatsRequest): void {
    this.#order.owned(request)
  }

  /** No stream will own the requests. */
  fail(requests: readonly NatsRequest[], reason: string): void {
    for (const request of requests) this.#order.failed(request, { reasonCode: ReasonCodes.quotaExceeded, reason })
  }

  /** Takes no more requests. The first reason counts. */
  refuse(reason: string): void {
    this.#refusal ??= reason
  }

  /** Resolves when all requests have been told, or after the time, ms. Called once. */
  async whenIdle(clock: Clock, timeoutMs: number): Promise<void> {
    if (this.#count === 0) return
    await new Promise<void>((resolve) => {
      const cancel = clock.after(timeoutMs, resolve)
      this.#idle = () => {
        cancel()
        resolve()
      }
    })
  }

  /** `payloadBytes` undefined: changes of state alone. */
  #whyNot(bound: number, payloadBytes: number | undefined): EngineFailure | undefined {
    const { quotaExceeded, implementationSpecificError } = ReasonCodes
    const { waitingBytes, envelopeBytes } = this.#bounds
    if (this.#refusal !== undefined) return { reasonCode: quotaExceeded, reason: this.#refusal }
    if (bound > envelopeBytes) {
      const reason = `The servers of NATS take no message of ${payloadBytes ?? 0} bytes: see their max_payload.`
      return { reasonCode: implementationSpecificError, reason }
    }
    const maximumBytes = payloadBytes === undefined ? waitingBytes * STATE_SHARE : waitingBytes
    if (this.#bytes + bound > maximumBytes) {
      return { reasonCode: quotaExceeded, reason: 'Too many messages wait for the servers of NATS.' }
    }
    return undefined
  }

  #told(request: NatsRequest): void {
    this.#bytes -= request.bound + REQUEST_BYTES
    this.#count -= 1
    this.#withChanges.delete(request.number)
    if (this.#count === 0) this.#idle?.()
  }
}
