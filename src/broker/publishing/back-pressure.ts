/**
 * A connection whose messages are never refused for a reason that passes, as a full disk is: they
 * wait in their order, and nothing more is read from it. It is acknowledged when the engine owns
 * them. Its publisher would take a negative answer for the end of the message.
 */
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Broker } from '../broker.ts'
import type { Connection } from '../connections/connection.ts'
import type { EngineFailure, StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import type { MessageOwnerCallbacks } from '../delivery/router.ts'

/**
 * Ticks, of about a second, for which a connection waits. Then it is closed: a client that is gone
 * does not hold memory, another sends again what it kept.
 */
const MAXIMUM_TICKS = 60
/**
 * The same for a client of MQTT 3.1.1 with something to send again. The MQTT client of ChirpStack
 * v3 tries for 30 s to write a message. After that it sends the message only on its next
 * connection, so that has to come before.
 */
const MAXIMUM_TICKS_TO_SEND_AGAIN = 25

/** The sender's side of a message that waits. */
export interface WaitingPublisher {
  /** State that is to be owned together with the message. */
  change(): StateChange | undefined
  /** The engine owns the message. */
  owned(reached: boolean): void
  /** The engine never will. */
  refuseFor(failure: EngineFailure, message: Message): void
  /** The connection is over, and the engine does not own the message. */
  givenUp(message: Message): void
}

/** False for what will be the same next time: a message that has no form in bytes. */
export function passes({ reasonCode }: EngineFailure): boolean {
  return reasonCode !== ReasonCodes.implementationSpecificError
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

  owned(reached: boolean): void {
    this.#backPressure.owned(this, reached)
  }

  failed(failure: EngineFailure): void {
    this.#backPressure.failed(this, failure)
  }
}

/**
 * What waits of one connection. It is bounded by what was read before the first failure: Receive
 * Maximum, and the engine's own queue.
 */
export class BackPressure {
  readonly #broker: Broker
  readonly #connection: Connection
  /** In order. */
  #waiting: Waiting[] = []
  /** Those of the present try that failed, in order. */
  #failed: Waiting[] = []
  /** How many of the present try the engine has not told of. */
  #asked = 0
  #hasProgress = false
  #ticks = 0
  #held = 0
  #begunAt = 0
  #over: PromiseWithResolvers<void> | undefined = undefined
  readonly #untold: WaitingPublisher

  constructor(broker: Broker, connection: Connection) {
    this.#broker = broker
    this.#connection = connection
    const deliver = (message: Message): void => broker.router.deliver(message)
    this.#untold = {
      change: () => undefined,
      owned: () => connection.publishSettled(),
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

  /** The message waits, behind those that wait already. It was settled by its caller. */
  hold(message: Message, publisher: WaitingPublisher): void {
    if (this.#connection.isClosed) {
      publisher.givenUp(message)
      return
    }
    message.keep()
    this.#waiting.push(new Waiting(message, publisher, this))
    this.#held += 1
    if (this.#over === undefined) this.#begin()
  }

  /**
   * The same for one of QoS 0: nobody waits to hear of it, and where it can't be kept it still
   * passes.
   */
  holdUntold(message: Message): void {
    this.hold(message, this.#untold)
  }

  /** A second has passed: the engine is asked again. */
  tick(): void {
    this.#ticks += 1
    if (this.#ticks > this.#maximumTicks) {
      const reason = 'the server could not store what was published; it is to be sent again'
      this.#connection.disconnect(ReasonCodes.serverBusy, reason, 'kept_waiting')
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
    const { protocolVersion, unacknowledgedPublishes } = this.#connection
    return protocolVersion === 4 && unacknowledgedPublishes > 0 ? MAXIMUM_TICKS_TO_SEND_AGAIN : MAXIMUM_TICKS
  }

  #begin(): void {
    const { clientId, permit } = this.#connection
    this.#over = Promise.withResolvers()
    this.#ticks = 0
    this.#begunAt = this.#broker.second
    this.#broker.waits(this)
    this.#broker.log.warn({ clientId, tenant: permit.tenant }, 'publish.held_back')
    this.#connection.waitFor(this.#over.promise)
    // What the engine still has of it shows whether there is room again.
    if (this.#connection.pendingPublishes > 0) void this.#connection.settled().then(() => this.#try())
  }

  /** Gives all to the engine in their order; those of one try fail from one on, or none does. */
  #try(): void {
    if (this.#asked > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    this.#asked = waiting.length
    this.#hasProgress = false
    for (const one of waiting) {
      this.#connection.pendingPublishes += 1
      this.#broker.router.own(one.message, one, one.publisher.change())
    }
  }

  /** For what waits. */
  owned({ publisher }: Waiting, reached: boolean): void {
    this.#hasProgress = true
    publisher.owned(reached)
    this.#told()
  }

  /** For what waits. */
  failed(waiting: Waiting, failure: EngineFailure): void {
    const { publisher, message } = waiting
    this.#connection.publishSettled()
    if (!passes(failure)) publisher.refuseFor(failure, message)
    else if (this.#connection.isClosed) publisher.givenUp(message)
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
    const { clientId, permit } = this.#connection
    const messages = this.#held
    this.#held = 0
    this.#broker.waitsNoMore(this)
    const durationMs = (this.#broker.second - this.#begunAt) * 1000
    this.#broker.log.info({ clientId, tenant: permit.tenant, messages, durationMs }, 'publish.goes_on')
    const over = this.#over
    this.#over = undefined
    over?.resolve()
  }
}
