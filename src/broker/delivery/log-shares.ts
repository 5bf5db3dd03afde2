/**
 * The tenants' shares of the room toward the log: of the bytes that the engine was given and does
 * not own yet. A tenant may take as many bytes as are still free. So one flood takes at most half
 * of the room, two floods take a third each, and the next tenant always finds room. While other
 * tenants are at work, a tenant takes no more than the log owned of it in the last few ms. A
 * message beyond its tenant's share waits here, in its order, and the connection that it came on is
 * not read meanwhile.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Counters } from '../ports/counters.ts'
import { OverShare } from './over-share.ts'

/**
 * While other tenants are at work, a tenant has no more on its way than the log owned of it in this
 * time, ms. A longer way would only delay the others: the event loop reads and tells everything
 * that is on the way.
 */
const WINDOW_MS = 10
/**
 * Bytes that a tenant may have on its way at least: several hundred small messages. With less, a
 * disk that takes longer than the window for a sync would write very small batches.
 */
const LEAST_WINDOW_BYTES = 524_288
/** A tenant counts as at work for this time after its last message, ms. */
const AT_WORK_MS = 1_000
/**
 * The bytes that wait of all tenants together, in units of the room. A tenant may hold as many
 * bytes as are still free of them, so the tenant that holds most is the first one that is refused.
 * Stops many organizations that hold a little each.
 */
const HELD_ROOMS = 8

/** A message, or a change of state, on its way to the engine. */
export interface SharedAppend {
  /** Bytes that it takes of its tenant's share. */
  readonly bytes: number
  /** Bytes that it takes while it waits here. */
  readonly heldBytes: number
  /** True: a message of QoS 0. It is the first that is refused. */
  readonly isLossy: boolean
  /** It waits for room, and outlives the turn that it came in. */
  keep(): void
  /** Gives it to the engine. The share is the one to settle when the engine answers. */
  start(share: LogShare): void
  /** It never will be given to the engine. */
  refuse(failure: EngineFailure): void
}

/** The share of one tenant. */
export interface LogShare {
  readonly tenant: string
  /** Bytes that the engine was given and does not own yet. */
  bytes: number
  /** Everything that waits for room, in its order. */
  held: SharedAppend[]
  heldBytes: number
  /** Resolves when nothing of the tenant waits for room any more. */
  room: PromiseWithResolvers<void> | undefined
  /** The bytes that the tenant may have on its way while others are at work. */
  windowBytes: number
  /** Bytes that the engine has answered for since `ownedSinceMs`. */
  ownedBytes: number
  ownedSinceMs: number
  /** When the share was last seen with something on its way. */
  usedAtMs: number
}

/** The bytes that a tenant has on their way to the log at present. */
export interface LogShareUsage {
  /** Bytes that the engine was given and does not own yet. */
  readonly bytes: number
  /** Bytes that wait for room. */
  readonly heldBytes: number
  /** Messages that were refused since the start, because the tenant had too much waiting. */
  readonly refusedMessages: number
}

export interface LogSharesOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Pick<Counters, 'publishesOverShare'>
  /**
   * Bytes of the room that the tenants share. Half as many again are for tenants with nothing on
   * its way: the first message of a tenant goes to the log even if other tenants have left less
   * room than the message needs.
   */
  readonly maximumBytes: number
}

export class LogShares {
  readonly #clock: Clock
  readonly #overShare: OverShare
  readonly #maximumBytes: number
  /** The tenants at work. */
  readonly #shares = new Map<string, LogShare>()
  /** The shares with something that waits; the one that waits longest for its turn first. */
  readonly #holding = new Set<LogShare>()
  #bytes = 0
  #heldBytes = 0
  #isTurnPlanned = false
  #sweptAtMs: number = -Infinity

  constructor({ clock, log, counters, maximumBytes }: LogSharesOptions) {
    this.#clock = clock
    this.#overShare = new OverShare(clock, log, counters)
    this.#maximumBytes = maximumBytes
  }

  /** The number of tenants at work: each had something on its way within the last seconds. */
  get tenants(): number {
    this.#sweep()
    return this.#shares.size
  }

  /** The bytes that the tenant has on their way at present. */
  usage(tenant: string): LogShareUsage {
    const { bytes = 0, heldBytes = 0 } = this.#shares.get(tenant) ?? {}
    return { bytes, heldBytes, refusedMessages: this.#overShare.refusedOf(tenant) }
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

  /**
   * Counts bytes of the tenant that are given to the engine without a wait. The share is the one to
   * settle when the engine answers.
   */
  take(tenant: string, bytes: number): LogShare {
    const share = this.#shareOf(tenant)
    share.bytes += bytes
    this.#bytes += bytes
    return share
  }

  /** The engine owns bytes of the share, or has refused them. */
  settle(share: LogShare, bytes: number): void {
    share.bytes -= bytes
    share.ownedBytes += bytes
    this.#bytes -= bytes
    if (this.#holding.size > 0) this.#planTurn()
    if (share.bytes === 0) share.usedAtMs = this.#clock.steady()
  }

  /**
   * Gives the engine everything that waits, and lets nothing wait any more: it is about to close.
   */
  flush(): void {
    for (const share of this.#holding) {
      for (const append of share.held) this.#start(share, append)
      this.#released(share, share.held.length)
    }
  }

  #shareOf(tenant: string): LogShare {
    const known = this.#shares.get(tenant)
    if (known !== undefined) return known
    this.#sweep()
    const nowMs = this.#clock.steady()
    const share: LogShare = {
      tenant,
      bytes: 0,
      held: [],
      heldBytes: 0,
      room: undefined,
      windowBytes: LEAST_WINDOW_BYTES,
      ownedBytes: 0,
      ownedSinceMs: nowMs,
      usedAtMs: nowMs,
    }
    this.#shares.set(tenant, share)
    return share
  }

  /** Forgets the shares of tenants that are no longer at work. */
  #sweep(): void {
    const nowMs = this.#clock.steady()
    if (nowMs - this.#sweptAtMs < AT_WORK_MS) return
    this.#sweptAtMs = nowMs
    for (const { tenant, bytes, held, usedAtMs } of this.#shares.values()) {
      if (bytes === 0 && held.length === 0 && nowMs - usedAtMs >= AT_WORK_MS) this.#shares.delete(tenant)
    }
  }

  #fits(share: LogShare, bytes: number): boolean {
    const free = this.#maximumBytes - this.#bytes
    const maximum = this.#shares.size > 1 ? Math.min(free, share.windowBytes) : free
    if (share.bytes + bytes <= maximum) return true
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
   * others. So the bytes that wait are bounded, too. A tenant that holds nothing may always hold
   * one message: it never is refused because of others.
   */
  #hold(share: LogShare, append: SharedAppend): Promise<void> {
    if (share.room === undefined) this.#overShare.waits(share.tenant)
    share.room ??= Promise.withResolvers()
    if (share.held.length > 0 && share.heldBytes + append.heldBytes > this.#maximumHeldBytes(append)) {
      this.#overShare.refuses(share.tenant)
      const reason = 'The disk is slower than what is published.'
      queueMicrotask(() => append.refuse({ reasonCode: ReasonCodes.quotaExceeded, reason }))
      return share.room.promise
    }
    append.keep()
    share.held.push(append)
    share.heldBytes += append.heldBytes
    this.#heldBytes += append.heldBytes
    this.#holding.add(share)
    return share.room.promise
  }

  /**
   * The bytes that a tenant may hold. QoS 0 leaves half of them to messages that are acknowledged.
   */
  #maximumHeldBytes({ isLossy }: SharedAppend): number {
    const free = HELD_ROOMS * this.#maximumBytes - this.#heldBytes
    const maximum = Math.min(this.#maximumBytes, free)
    return isLossy ? maximum / 2 : maximum
  }

  #planTurn(): void {
    if (this.#isTurnPlanned) return
    this.#isTurnPlanned = true
    this.#clock.afterTurn(() => {
      this.#isTurnPlanned = false
      this.#sweep()
      const nowMs = this.#clock.steady()
      // A share that goes on holding moves to the end of the set: it comes last in the next turn.
      const shares = [...this.#holding]
      for (const share of shares) {
        measureWindow(share, nowMs)
        this.#releaseFitting(share)
      }
    })
  }

  /** Gives the engine as much of what waits as there is room for now. */
  #releaseFitting(share: LogShare): void {
    let count = 0
    for (const append of share.held) {
      if (!this.#fits(share, append.bytes)) break
      this.#start(share, append)
      count += 1
    }
    if (count > 0) this.#released(share, count)
  }

  /** The first ones of the share no longer wait. */
  #released(share: LogShare, count: number): void {
    for (const { heldBytes } of share.held.splice(0, count)) {
      share.heldBytes -= heldBytes
      this.#heldBytes -= heldBytes
    }
    this.#holding.delete(share)
    if (share.held.length > 0) {
      this.#holding.add(share)
      return
    }
    const { room } = share
    share.room = undefined
    room?.resolve()
  }
}

/**
 * Sets the window of a share that always has something waiting: by the bytes that the log owned of
 * it.
 */
function measureWindow(share: LogShare, nowMs: number): void {
  const spentMs = nowMs - share.ownedSinceMs
  if (spentMs < WINDOW_MS) return
  share.windowBytes = Math.max(LEAST_WINDOW_BYTES, (share.ownedBytes * WINDOW_MS) / spentMs)
  share.ownedBytes = 0
  share.ownedSinceMs = nowMs
}
