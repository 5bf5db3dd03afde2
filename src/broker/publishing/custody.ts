/** A QoS 1 or 2 PUBLISH from its acceptance until its publisher has been told. */
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import { passes } from './back-pressure.ts'
import type { WaitingPublisher } from './back-pressure.ts'
import type { Broker } from '../broker.ts'
import type { Connection } from '../connections/connection.ts'
import type { EngineFailure, StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import type { Refusal } from '../ports/policy.ts'
import { refusal, refusePublish } from './refuse-publish.ts'
import type { ReadPublish } from './refuse-publish.ts'
import type { MessageOwnerCallbacks } from '../delivery/router.ts'
import type { ReceivedPublish, Session } from '../sessions/session.ts'

export class Custody implements MessageOwnerCallbacks, WaitingPublisher {
  readonly #broker: Broker
  readonly #connection: Connection
  readonly #session: Session
  readonly #packet: ReadPublish
  /** For QoS 2. */
  readonly #received: ReceivedPublish | undefined

  constructor(broker: Broker, connection: Connection, packet: ReadPublish) {
    const { session } = connection
    this.#broker = broker
    this.#connection = connection
    this.#session = session
    this.#packet = packet
    this.#received = packet.qos === 2 ? { isOwned: false, connections: session.connections } : undefined
    if (this.#received !== undefined) session.received.set(packet.packetId, this.#received)
    connection.unacknowledgedPublishes += 1
  }

  /** Gives the message to the engine. */
  own(message: Message): void {
    this.#connection.pendingPublishes += 1
    this.#broker.router.own(message, this, this.change())
  }

  change(): StateChange | undefined {
    return this.#isRemembered ? this.#broker.store?.received(this.#session, this.#packet.packetId) : undefined
  }

  /** A consumer owns the message. */
  taken(): void {
    const { store } = this.#broker
    const acknowledge = (): void => this.#acknowledge(ReasonCodes.success)
    if (this.#isRemembered) store?.saveReceived(this.#session, this.#packet.packetId, acknowledge)
    else acknowledge()
  }

  owned(reached: boolean): void {
    this.#connection.publishSettled()
    this.#acknowledge(reached ? ReasonCodes.success : ReasonCodes.noMatchingSubscribers)
  }

  #acknowledge(reasonCode: ReasonCode): void {
    const { qos, packetId } = this.#packet
    if (this.#received === undefined) this.#connection.unacknowledgedPublishes -= 1
    else this.#received.isOwned = true
    const asking = this.#asking()
    if (asking === undefined || asking.isClosed) return
    asking.sendAcknowledgement(qos === 1 ? 'puback' : 'pubrec', packetId, reasonCode)
  }

  failed(failure: EngineFailure, message: Message): void {
    const { backPressure } = this.#connection
    this.#connection.publishSettled()
    if (backPressure !== undefined && passes(failure)) backPressure.hold(message, this)
    else this.refuseFor(failure)
  }

  refuseFor({ reasonCode, reason }: EngineFailure): void {
    this.refuse(refusal(reasonCode, reason, 'not_owned'))
  }

  /** Nobody owns the message: it is over. */
  refuse(refused: Refusal): void {
    const asking = this.#asking()
    this.givenUp()
    if (asking === undefined || asking.isClosed) return
    asking.unacknowledgedPublishes -= 1
    refusePublish(this.#broker, asking, this.#packet, refused)
  }

  /** Nobody owns the message, and its publisher is not told: it sends it again. */
  givenUp(): void {
    const { received } = this.#session
    const { packetId } = this.#packet
    if (this.#received !== undefined && received.get(packetId) === this.#received) received.delete(packetId)
  }

  /**
   * Another Session of the same key may use the Packet Identifier by now: it is remembered for this
   * one alone.
   */
  get #isRemembered(): boolean {
    const session = this.#session
    return this.#received !== undefined && !session.hasEnded && this.#broker.store?.keeps(session) === true
  }

  /**
   * Who waits for the answer: with QoS 2 the client may have come back and asked again, or have
   * given it up.
   */
  #asking(): Connection | undefined {
    const received = this.#received
    if (received === undefined) return this.#connection
    const session = this.#session
    const isAsked =
      received.connections === session.connections && session.received.get(this.#packet.packetId) === received
    return isAsked ? session.connection : undefined
  }
}
