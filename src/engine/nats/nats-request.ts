/** A request of the engine's port on its way into a stream. */
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
