/**
 * The way of the tenants' state to the engine. Changes of state count against the same share as the
 * tenant's messages. So a tenant that makes Sessions and subscriptions without end fills its own
 * share, and the next tenant's changes find room.
 */
import type { StateWay } from '../durable/state-way.ts'
import type { Engine, EngineFailure, StateChange, StateRequest } from '../ports/engine.ts'
import type { LogShare, LogShares, SharedAppend } from './log-shares.ts'

/** Bytes that a change takes beside its content while the engine works on it. */
const CHANGE_BYTES = 512
/** Bytes that a caller takes who waits for room: its changes are made when it gets room. */
const WAITING_BYTES = 256

export class StateWrites implements StateWay {
  readonly #engine: Pick<Engine, 'write'>
  readonly #shares: LogShares

  constructor(engine: Pick<Engine, 'write'>, shares: LogShares) {
    this.#engine = engine
    this.#shares = shares
  }

  write(tenant: string, request: StateRequest): void {
    const bytes = bytesOf(request.changes)
    const share = this.#shares.take(tenant, bytes)
    this.#engine.write(new OwnedWrite(tenant, request, () => this.#shares.settle(share, bytes)))
  }

  whenRoom(tenant: string, bytes: number, run: () => void, refused: (failure: EngineFailure) => void): void {
    void this.#shares.add(tenant, new Ticket(this.#shares, bytes, run, refused))
  }
}

function bytesOf(changes: readonly StateChange[]): number {
  let bytes = 0
  for (const { key, value } of changes) bytes += CHANGE_BYTES + key.length + (value?.length ?? 0)
  return bytes
}

/** Changes that the engine has, and that count against their tenant's share. */
class OwnedWrite implements StateRequest {
  readonly owner: string
  readonly #request: StateRequest
  readonly #settle: () => void

  constructor(owner: string, request: StateRequest, settle: () => void) {
    this.owner = owner
    this.#request = request
    this.#settle = settle
  }

  get changes(): readonly StateChange[] {
    return this.#request.changes
  }

  committed(): void {
    this.#settle()
    this.#request.committed()
  }

  failed(failure: EngineFailure): void {
    this.#settle()
    this.#request.failed(failure)
  }
}

/** A caller that waits for room. */
class Ticket implements SharedAppend {
  readonly bytes: number
  readonly heldBytes = WAITING_BYTES
  readonly isLossy = false
  readonly #shares: LogShares
  readonly #run: () => void
  readonly #refused: (failure: EngineFailure) => void

  constructor(shares: LogShares, bytes: number, run: () => void, refused: (failure: EngineFailure) => void) {
    this.bytes = bytes
    this.#shares = shares
    this.#run = run
    this.#refused = refused
  }

  keep(): void {}

  start(share: LogShare): void {
    this.#run()
    // The changes that were written count by themselves.
    this.#shares.settle(share, this.bytes)
  }

  refuse(failure: EngineFailure): void {
    this.#refused(failure)
  }
}
