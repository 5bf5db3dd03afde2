/** The order in which callers are told what became of their requests. */
import type { EngineFailure } from '../../broker/ports/engine.ts'
import type { NatsRequest } from './nats-request.ts'

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
    if (request.blockers === 0) this.#release(request)
  }

  /** No stream will own the request. It is told at once; later ones wait for the earlier ones. */
  failed(request: NatsRequest, failure: EngineFailure): void {
    if (request.isTold) return
    this.#settle(request)
    request.failed(failure)
    if (request.blockers === 0) this.#release(request)
  }

  /** Nothing earlier is left to be told: tells the request, and those that waited for it alone. */
  #release(first: NatsRequest): void {
    const ready = [first]
    for (const request of ready) {
      if (!request.isTold) {
        this.#settle(request)
        request.committed()
      }
      const { owner, followers } = request
      if (owner !== undefined && this.#lastOfOwner.get(owner) === request) this.#lastOfOwner.delete(owner)
      if (this.#lastOfService === request) this.#lastOfService = undefined
      for (const follower of followers) {
        follower.blockers -= 1
        if (follower.blockers === 0 && (follower.isOwned || follower.isTold)) ready.push(follower)
      }
    }
  }

  #settle(request: NatsRequest): void {
    request.isTold = true
    this.#told(request)
  }
}

function follow(earlier: NatsRequest | undefined, request: NatsRequest): void {
  if (earlier === undefined) return
  earlier.followers.push(request)
  request.blockers += 1
}
