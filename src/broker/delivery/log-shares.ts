/**
 * The tenants' shares of the room toward the log: of the bytes that the engine was given and does
 * not own yet. A tenant may take as many bytes as are still free. So one flood takes at most half
 * of the room, two floods take a third each, and the next tenant always finds room. A message
 * beyond its tenant's share waits here, in its order, and the connection that it came on is not
 * read meanwhile.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'

/**
 * A tenant that is over its share is logged once in this time: its share may be full many times a
 * second.
 */
const TOLD_MS = 60_000
/** The number of tenants that are logged in that time. Bounds the memory for them. */
const MAXIMUM_TOLD = 1_000

/** A message on its way to the engine. */
export interface SharedAppend {
  /** Bytes that the message takes of its tenant's share. */
  readonly bytes: number
  /** The message waits for room, and outlives the turn that it came in. */
  keep(): void
  /** Gives the message to the engine. The share is the one to settle when the engine answers. */
  start(share: LogShare): void
  /** The message never will be given to the engine. */
  refuse(failure: EngineFailure): void
}

/** The share of one tenant. */
export interface LogShare {
  readonly tenant: string
  /** Bytes that the engine was given and does not own yet. */
  bytes: number
  /** The messages that wait for room, in their order. */
  held: SharedAppend[]
  heldBytes: number
  /** Resolves when no message of the tenant waits for room any more. */
  room: PromiseWithResolvers<void> | undefined
}

export interface LogSharesOptions {
  readonly clock: Clock
  readonly log: Logger
  /**
   * Bytes of the room that the tenants share. Half as many again are for tenants with nothing on
   * its way: the first message of a tenant goes to the log even if other tenants have left less
   * room than the message needs.
   */
  readonly maximumBytes: number
}

export class LogShares {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #maximumBytes: number
  /** The tenants with messages on their way to the log; each has at least one. */
  readonly #shares = new Map<string, LogShare>()
  /** The shares with messages that wait for room; the one that waits longest for its turn first. */
  readonly #holding = new Set<LogShare>()
  #bytes = 0
  #isTurnPlanned = false
  /** The tenants that were logged since `#toldSince`. */
  readonly #told = new Set<string>()
  #toldSince: number = -Infinity

  constructor({ clock, log, maximumBytes }: LogSharesOptions) {
    this.#clock = clock
    this.#log = log
    this.#maximumBytes = maximumBytes
  }

  /** The number of tenants with messages on their way to the log. */
  get tenants(): number {
    return this.#shares.size
  }

  /**
   * Gives the message to the engine, or lets it wait for room behind the tenant's other messages. A
   * promise: it waits, and nothing more is to be read of its sender until the promise resolves.
   */
  add(tenant: string, append: SharedAppend): Promise<void> | undefined {
    const share = this.#shareOf(tenant)
    if (share.held.length === 0 && this.#fits(share, append.bytes)) {
      this.#start(share, append)
      return undefined
    }
    return this.#hold(share, append)
  }

  /** The engine owns a message of the share, or has refused it. */
  settle(share: LogShare, bytes: number): void {
    share.bytes -= bytes
    this.#bytes -= bytes
    if (this.#holding.size > 0) this.#planTurn()
    this.#dropIfEmpty(share)
  }

  /** Gives the engine all messages that wait, because it is about to close. */
  flush(): void {
    for (const share of this.#holding) {
      for (const append of share.held) this.#start(share, append)
      share.heldBytes = 0
      this.#released(share, share.held.length)
    }
  }

  #shareOf(tenant: string): LogShare {
    const known = this.#shares.get(tenant)
    if (known !== undefined) return known
    const share: LogShare = { tenant, bytes: 0, held: [], heldBytes: 0, room: undefined }
    this.#shares.set(tenant, share)
    return share
  }

  #dropIfEmpty(share: LogShare): void {
    if (share.bytes === 0 && share.held.length === 0) this.#shares.delete(share.tenant)
  }

  #fits(share: LogShare, bytes: number): boolean {
    const free = this.#maximumBytes - this.#bytes
    if (share.bytes + bytes <= free) return true
    if (share.bytes > 0) return false
    // A message that is larger than all of the room goes alone.
    return this.#bytes === 0 || bytes <= free + this.#maximumBytes / 2
  }

  #start(share: LogShare, append: SharedAppend): void {
    share.bytes += append.bytes
    this.#bytes += append.bytes
    append.start(share)
  }

  /**
   * A connection leaves at most one message here, but a tenant can close its connections and open
   * others. So the bytes that wait are bounded, too.
   */
  #hold(share: LogShare, append: SharedAppend): Promise<void> {
    if (share.room === undefined) this.#tell(share.tenant)
    share.room ??= Promise.withResolvers()
    if (share.held.length > 0 && share.heldBytes + append.bytes > this.#maximumBytes) {
      const reason = 'The disk is slower than what is published.'
      queueMicrotask(() => append.refuse({ reasonCode: ReasonCodes.quotaExceeded, reason }))
      return share.room.promise
    }
    append.keep()
    share.held.push(append)
    share.heldBytes += append.bytes
    this.#holding.add(share)
    return share.room.promise
  }

  #planTurn(): void {
    if (this.#isTurnPlanned) return
    this.#isTurnPlanned = true
    this.#clock.afterTurn(() => {
      this.#isTurnPlanned = false
      // A share that goes on holding moves to the end of the set: it comes last in the next turn.
      const shares = [...this.#holding]
      for (const share of shares) this.#releaseFitting(share)
    })
  }

  /** Gives the engine as many of the messages that wait as there is room for now. */
  #releaseFitting(share: LogShare): void {
    let count = 0
    for (const append of share.held) {
      if (!this.#fits(share, append.bytes)) break
      share.heldBytes -= append.bytes
      this.#start(share, append)
      count += 1
    }
    if (count > 0) this.#released(share, count)
  }

  /** The first messages of the share no longer wait. */
  #released(share: LogShare, count: number): void {
    share.held.splice(0, count)
    this.#holding.delete(share)
    if (share.held.length > 0) {
      this.#holding.add(share)
      return
    }
    const { room } = share
    share.room = undefined
    room?.resolve()
  }

  #tell(tenant: string): void {
    const nowMs = this.#clock.steady()
    if (nowMs - this.#toldSince >= TOLD_MS) {
      this.#told.clear()
      this.#toldSince = nowMs
    }
    if (this.#told.has(tenant) || this.#told.size >= MAXIMUM_TOLD) return
    this.#told.add(tenant)
    this.#log.warn({ tenant }, 'publish.over_share')
  }
}
