/** Requests of the engine's port on their way into a stream, and the order of telling them. */
import type { AppendRequest, EngineFailure, StateChange, StateRequest } from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import type { Enveloped } from './envelope.ts'

/** A request, until its caller is told what became of it. */
export class NatsRequest implements Enveloped {
  /** Its place among all requests of the process. */
  readonly number: number
  /** Bytes that it takes in an envelope, at most. */
  readonly bound: number
  readonly message: Message | undefined
  readonly changes: readonly StateChange[] | undefined
  readonly #request: AppendRequest | StateRequest
  /** Earlier requests that are to be told first. */
  blockers = 0
  /** Later requests that are told after this one. */
  readonly followers: NatsRequest[] = []
  isOwned = false
  isTold = false

  constructor(number: number, bound: number, request: AppendRequest | StateRequest) {
    this.number = number
    this.bound = bound
    this.#request = request
    this.message = 'message' in request ? request.message : undefined
    this.changes = request.changes
  }

  get owner(): string | undefined {
    return this.#request.owner
  }

  committed(): void {
    const request = this.#request
    if ('message' in request) request.committed(request.message.offset)
    else request.committed()
  }

  failed(failure: EngineFailure): void {
    this.#request.failed(failure)
  }
}

/**
 * Tells the requests of one owner in the order of the calls, though streams own them in another
 * order. A request of the service itself is told before an owner's later ones.
 */
export class ToldOrder {
  readonly #lastOfOwner = new Map<string, NatsRequest>()
  #lastOfService: NatsRequest | undefined
  readonly #told: (request: NatsRequest) => void

  /** `told` is called for each request right before its caller is. */
  constructor(told: (request: NatsRequest) => void) {
    this.#told = told
  }

  add(request: NatsRequest): void {
    const { owner } = request
    follow(this.#lastOfService, request)
    if (owner === undefined) this.#lastOfService = request
    else {
      follow(this.#lastOfOwner.get(owner), request)
      this.#lastOfOwner.set(owner, request)
    }
  }

  /** A stream owns the request. */
  owned(request: NatsRequest): void {
    request.isOwned = true
    if (request.blockers === 0) this.#tell(request, undefined)
  }

  /** No stream will own the request. It is told at once. */
  failed(request: NatsRequest, failure: EngineFailure): void {
    if (!request.isTold) this.#tell(request, failure)
  }

  #tell(first: NatsRequest, failure: EngineFailure | undefined): void {
    const ready = [first]
    for (const request of ready) {
      request.isTold = true
      const { owner, followers } = request
      if (owner !== undefined && this.#lastOfOwner.get(owner) === request) this.#lastOfOwner.delete(owner)
      if (this.#lastOfService === request) this.#lastOfService = undefined
      this.#told(request)
      if (failure === undefined || request !== first) request.committed()
      else request.failed(failure)
      for (const follower of followers) {
        follower.blockers -= 1
        if (follower.blockers === 0 && follower.isOwned && !follower.isTold) ready.push(follower)
      }
    }
  }
}

function follow(earlier: NatsRequest | undefined, request: NatsRequest): void {
  if (earlier === undefined) return
  earlier.followers.push(request)
  request.blockers += 1
}
