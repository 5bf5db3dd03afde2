/**
 * One PUBLISH of QoS 1 or 2, from its connection to its acknowledgement. An accepted message is
 * answered exactly once.
 */
import type { PublishPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { MessageOwnerCallbacks } from '../delivery/router.ts'
import { passes } from '../ports/engine.ts'
import type { EngineFailure, StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import { accountOf } from '../ports/policy.ts'
import type { Decision, Refusal } from '../ports/policy.ts'
import type { ReceivedPublish } from '../sessions/session.ts'
import type { SessionLink } from '../sessions/session-link.ts'
import type { WaitingPublisher } from './back-pressure.ts'
import { ConnectionPublishes } from './connection-publishes.ts'
import type { PublisherLink } from './publisher-link.ts'
import type { PublishingParts } from './publishing-parts.ts'
import { refusal, refusePublish } from './refuse-publish.ts'

export class AcknowledgedPublish extends ConnectionPublishes implements MessageOwnerCallbacks, WaitingPublisher {
  // No more of the packet is kept: its payload would keep the chunk alive that it came in.
  readonly #qos: 1 | 2
  readonly #packetId: number
  readonly #dup: boolean
  /** True once the message counts against Receive Maximum, and its sender is owed an answer. */
  #isAccepted = false
  /** The Session's memory of a QoS 2 message, once the message is accepted. */
  #received: ReceivedPublish | undefined = undefined

  constructor(parts: PublishingParts, link: PublisherLink, { qos, packetId, dup }: PublishPacket) {
    super(parts, link)
    this.#qos = qos === 1 ? 1 : 2
    this.#packetId = packetId
    this.#dup = dup
  }

  /** Runs the stages once everything pending of the connection is owned or refused. */
  async acceptWhenSettled(message: Message): Promise<void> {
    await this.link.window.settled()
    await this.inOrder(() => (this.link.isClosed ? undefined : this.accept(message)))
  }

  /** The connection's next packet waits, unless the consumer keeps the order itself. */
  protected override wait(message: Message, deciding: Promise<Decision>): Promise<void> | undefined {
    const consumer = this.parts.consumers.find((candidate) => candidate.wants(message.topicName))
    if (consumer?.keepsOrder !== true) return super.wait(message, deciding)
    this.judgeBeside(message, deciding)
    return undefined
  }

  /** The message is judged while the connection goes on. */
  protected judgeBeside(message: Message, deciding: Promise<Decision>): void {
    // The message's chunk is gone when the decision comes.
    message.keep()
    this.accepted()
    const { clientId, window } = this.link
    window.begin()
    void deciding
      .catch((error: unknown): Refusal => {
        this.parts.log.error({ err: error, clientId, topicName: message.topicName }, 'publish.failed')
        return refusal(ReasonCodes.unspecifiedError, 'the server failed on this message', 'internal')
      })
      .then((decision) => {
        window.settle()
        void this.conclude(message, decision)
      })
  }

  /** The message counts against Receive Maximum from here on; a QoS 2 message is remembered. */
  protected accepted(): void {
    if (this.#isAccepted) return
    this.#isAccepted = true
    const { session, window } = this.link
    if (this.#qos === 2) {
      this.#received = { packetId: this.#packetId, isOwned: false, connectionEpoch: session.connectionEpoch }
      session.receive(this.#received)
    }
    window.accepted()
  }

  protected override get isAbandoned(): boolean {
    return !this.#isAccepted && this.link.isClosed
  }

  protected taken(message: Message, owned: Promise<Refusal | undefined> | undefined): void {
    this.accepted()
    if (owned === undefined) {
      this.#takenNow()
      return
    }
    const { window } = this.link
    window.begin()
    void owned.then((refused) => {
      window.settle()
      if (refused === undefined) this.#takenNow()
      else this.refuse(message, refused)
    })
  }

  #takenNow(): void {
    const acknowledge = (): void => this.acknowledge(ReasonCodes.success)
    if (this.isRemembered) this.parts.store?.saveReceived(this.link.session, this.#packetId, acknowledge)
    else acknowledge()
  }

  protected override hold(): void {
    this.accepted()
    super.hold()
  }

  /** In MQTT 5 Receive Maximum bounds the messages that are to be acknowledged. */
  protected override untilNext(waits: Promise<void> | undefined): Promise<void> | undefined {
    const { protocolVersion, backPressure } = this.link
    return protocolVersion === 5 && backPressure === undefined ? waits : super.untilNext(waits)
  }

  get isGone(): boolean {
    return this.link.isClosed && this.comesAgain
  }

  giveBack(): boolean {
    if (!this.comesAgain) return false
    this.link.window.release()
    return true
  }

  /** A QoS 2 message that comes again is not accepted again: the one that is held goes on. */
  protected get comesAgain(): boolean {
    const { backPressure, session } = this.link
    return backPressure !== undefined && this.#qos === 1 && session.expirySeconds > 0
  }

  /** The message goes on behind the messages of its connection that wait for room, if any do. */
  protected goOn(message: Message): void {
    const { backPressure } = this.link
    if (backPressure?.over === undefined) this.own(message)
    else backPressure.hold(message, this)
  }

  protected own(message: Message): void {
    this.accepted()
    this.link.window.begin()
    this.readWhenOwned(this.parts.router.own(message, accountOf(this.link.permit), this))
  }

  /** The change that remembers a QoS 2 message, to be owned together with it [MQTT-4.3.3-10]. */
  change(): StateChange | undefined {
    return this.isRemembered ? this.parts.store?.received(this.link.session, this.#packetId) : undefined
  }

  owned(reached: boolean): void {
    this.link.window.settle()
    this.acknowledge(reached ? ReasonCodes.success : ReasonCodes.noMatchingSubscribers)
  }

  failed(failure: EngineFailure, message: Message): void {
    const { backPressure, window } = this.link
    window.settle()
    if (backPressure !== undefined && passes(failure)) backPressure.hold(message, this)
    else this.refuseFor(failure, message)
  }

  refuseFor({ reasonCode, reason }: EngineFailure, message: Message): void {
    this.refuse(message, refusal(reasonCode, reason, 'not_owned'))
  }

  refuse({ topicName }: Message, refused: Refusal): void {
    const packet = { topicName, qos: this.#qos, packetId: this.#packetId, dup: this.#dup }
    if (!this.#isAccepted) {
      refusePublish(this.parts, this.link, packet, refused)
      return
    }
    const asking = this.asking()
    this.#forget()
    if (asking === undefined || asking.isClosed) return
    asking.window.answered()
    refusePublish(this.parts, asking, packet, refused)
  }

  /**
   * Nobody owns the message, and its publisher is not told: it sends the message again. A client
   * that has done so already, on another connection, waits there for an answer that does not come.
   * So that connection ends, and the client sends the message once more.
   */
  givenUp(): void {
    const asking = this.asking()
    this.#forget()
    if (asking === undefined || asking === this.link || asking.isClosed) return
    const reason = 'the server could not store what was published; it is to be sent again'
    asking.disconnect(ReasonCodes.serverBusy, reason, 'kept_waiting')
  }

  #forget(): void {
    const { session } = this.link
    if (this.#received !== undefined && session.received.get(this.#packetId) === this.#received) {
      session.release(this.#packetId)
    }
  }

  protected acknowledge(reasonCode: ReasonCode): void {
    if (this.#received === undefined) this.link.window.answered()
    else this.#received.isOwned = true
    const asking = this.asking()
    if (asking === undefined || asking.isClosed) return
    asking.sendAcknowledgement(this.#qos === 1 ? 'puback' : 'pubrec', this.#packetId, reasonCode)
  }

  /**
   * True when the Session is to remember the message over a restart. Another Session of the same
   * key may use the Packet Identifier by now.
   */
  protected get isRemembered(): boolean {
    if (this.#received === undefined) return false
    const { session } = this.link
    return !session.hasEnded && this.parts.store?.keeps(session) === true
  }

  /**
   * The connection that waits for the answer. With QoS 2 the client may have come back and asked
   * again on another connection, or have given the message up.
   */
  protected asking(): SessionLink | undefined {
    const received = this.#received
    if (received === undefined) return this.link
    const { session } = this.link
    const isAsked =
      received.connectionEpoch === session.connectionEpoch && session.received.get(this.#packetId) === received
    return isAsked ? session.connection : undefined
  }
}
