/**
 * A connection whose messages are never refused for a reason that passes, as a full disk is. The
 * messages wait in their order, and nothing more is read from the connection. They are acknowledged
 * when the engine owns them: a publisher would take a negative answer for the end of its message.
 */
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Logger } from '../../logger.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { MessageOwnerCallbacks, Router } from '../delivery/router.ts'
import { passes } from '../ports/engine.ts'
import type { EngineFailure, StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import { accountOf } from '../ports/policy.ts'
import type { Permit } from '../ports/policy.ts'
import type { ReceiveWindow } from '../sessions/receive-window.ts'

/**
 * Ticks, of about a second, for which a connection waits. Then it is closed: a client that is gone
 * holds no memory, and another client sends again the messages that it kept.
 */
const MAXIMUM_TICKS = 60
/**
 * Ticks for a client of MQTT 3.1.1 with something to send again. The MQTT client of ChirpStack v3
 * tries for 30 s to write a message. After that it sends the message only on its next connection,
 * so that connection has to come before.
 */
const MAXIMUM_TICKS_TO_SEND_AGAIN = 25

/** The sender's side of a message that waits. */
export interface WaitingPublisher {
  /** State that is to be owned together with the message. */
  change(): StateChange | undefined
  /** The engine owns the message. */
  owned(reached: boolean): void
  /** The engine never will own the message. */
  refuseFor(failure: EngineFailure, message: Message): void
  /** The connection is over, and the engine does not own the message. */
  givenUp(message: Message): void
}

/** The connection whose messages wait. */
export interface WaitingLink {
  readonly clientId: string | undefined
  readonly permit: Permit
  readonly protocolVersion: number
  readonly isClosed: boolean
  readonly window: ReceiveWindow
  /** The connection's next packet waits for the promise, and nothing more than a buffer is read. */
  waitFor(promise: Promise<void>): void
  disconnect(reasonCode: ReasonCode, reason: string, code: string): void
}

/** The part of the broker that tries waiting messages again with each tick. */
export interface BackPressureHost {
  readonly router: Router
  readonly log: Logger
  /** Grows by one each second. */
  readonly second: number
  /** Calls `tick` of it from now on. */
  waits(backPressure: BackPressure): void
  waitsNoMore(backPressure: BackPressure): void
}

/** A message that waits, as the engine's caller. */
class Waiting implements MessageOwnerCallbacks {
  readonly message: Message
  readonly publisher: WaitingPublisher
  readonly #backPressure: BackPressure

  constructor(message: Message, publisher: WaitingPublisher, backPressure: BackPressure) {
    this.message = message
    this.publisher = publisher
    this.#backPressure = backPressure
  }

  change(): StateChange | undefined {
    return this.publisher.change()
  }

  owned(reached: boolean): void {
    this.#backPressure.owned(this, reached)
  }

  failed(failure: EngineFailure): void {
    this.#backPressure.failed(this, failure)
  }
}

/**
 * The messages that wait on one connection. Their number is bounded by what was read before the
 * first failure: Receive Maximum, and the engine's own queue.
 */
export class BackPressure {
  readonly #host: BackPressureHost
  readonly #link: WaitingLink
  /** The waiting messages, in order. */
  #waiting: Waiting[] = []
  /** The messages of the present try that failed, in order. */
  #failed: Waiting[] = []
  /** The number of messages of the present try that the engine has not answered yet. */
  #asked = 0
  #hasProgress = false
  #ticks = 0
  #held = 0
  #begunAt = 0
  #over: PromiseWithResolvers<void> | undefined = undefined
  readonly #untold: WaitingPublisher

  constructor(host: BackPressureHost, link: WaitingLink) {
    this.#host = host
    this.#link = link
    const deliver = (message: Message): void => host.router.deliver(message)
    this.#untold = {
      change: () => undefined,
      owned: () => link.window.settle(),
      refuseFor: (_failure, message) => deliver(message),
      givenUp: deliver,
    }
  }

  /**
   * Resolves when nothing waits any more, or the connection has ended; undefined while nothing
   * waits.
   */
  get over(): Promise<void> | undefined {
    return this.#over?.promise
  }

  /** The message waits, behind those that wait already. Its caller has settled it. */
  hold(message: Message, publisher: WaitingPublisher): void {
    if (this.#link.isClosed) {
      publisher.givenUp(message)
      return
    }
    message.keep()
    this.#waiting.push(new Waiting(message, publisher, this))
    this.#held += 1
    if (this.#over === undefined) this.#begin()
  }

  /**
   * A QoS 0 message waits. Nobody is told of it, and if it can't be kept it is delivered all the
   * same.
   */
  holdUntold(message: Message): void {
    this.hold(message, this.#untold)
  }

  /** A second has passed: the engine is asked again. */
  tick(): void {
    this.#ticks += 1
    if (this.#ticks > this.#maximumTicks) {
      const reason = 'the server could not store what was published; it is to be sent again'
      this.#link.disconnect(ReasonCodes.serverBusy, reason, 'kept_waiting')
    } else this.#try()
  }

  /** The connection has ended. */
  giveUp(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { publisher, message } of waiting) publisher.givenUp(message)
    if (this.#over !== undefined && this.#asked === 0) this.#end()
  }

  get #maximumTicks(): number {
    const { protocolVersion, window } = this.#link
    return protocolVersion === 4 && window.unacknowledged > 0 ? MAXIMUM_TICKS_TO_SEND_AGAIN : MAXIMUM_TICKS
  }

  #begin(): void {
    const { clientId, permit } = this.#link
    this.#over = Promise.withResolvers()
    this.#ticks = 0
    this.#begunAt = this.#host.second
    this.#host.waits(this)
    this.#host.log.warn({ clientId, tenant: permit.tenant }, 'publish.held_back')
    this.#link.waitFor(this.#over.promise)
    // The messages that the engine still has of this connection show whether there is room again.
    if (this.#link.window.pending > 0) void this.#link.window.settled().then(() => this.#try())
  }

  /**
   * Gives all messages to the engine in their order. From the first one that fails on, all of a try
   * fail.
   */
  #try(): void {
    if (this.#asked > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    this.#asked = waiting.length
    this.#hasProgress = false
    for (const one of waiting) {
      this.#link.window.begin()
      // The connection waits already.
      void this.#host.router.own(one.message, accountOf(this.#link.permit), one)
    }
  }

  /** Called by a waiting message: the engine owns it. */
  owned({ publisher }: Waiting, reached: boolean): void {
    this.#hasProgress = true
    publisher.owned(reached)
    this.#told()
  }

  /** Called by a waiting message: the engine does not own it. */
  failed(waiting: Waiting, failure: EngineFailure): void {
    const { publisher, message } = waiting
    this.#link.window.settle()
    if (!passes(failure)) publisher.refuseFor(failure, message)
    else if (this.#link.isClosed) publisher.givenUp(message)
    else this.#failed.push(waiting)
    this.#told()
  }

  #told(): void {
    this.#asked -= 1
    if (this.#asked === 0) this.#tried()
  }

  #tried(): void {
    this.#waiting = this.#failed.concat(this.#waiting)
    this.#failed = []
    if (this.#waiting.length === 0) this.#end()
    else if (this.#hasProgress) {
      this.#ticks = 0
      this.#try()
    }
  }

  #end(): void {
    const { clientId, permit } = this.#link
    const messages = this.#held
    this.#held = 0
    this.#host.waitsNoMore(this)
    const durationMs = (this.#host.second - this.#begunAt) * 1000
    this.#host.log.info({ clientId, tenant: permit.tenant, messages, durationMs }, 'publish.goes_on')
    const over = this.#over
    this.#over = undefined
    over?.resolve()
  }
}
