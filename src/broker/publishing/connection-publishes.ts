/**
 * PUBLISH packets of a connection on their way through the stages: the hooks that all of them
 * share, and the origin of those of QoS 0.
 */
import { isUtf8 } from 'node:buffer'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { MessageOwnerCallbacks } from '../delivery/router.ts'
import type { Sender } from '../ports/consumer.ts'
import { passes } from '../ports/engine.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { isNameWithin } from '../ports/limits.ts'
import type { Message } from '../ports/message.ts'
import { accountOf } from '../ports/policy.ts'
import type { Decision, Permit, Refusal } from '../ports/policy.ts'
import type { PublisherLink } from './publisher-link.ts'
import { PublishStages } from './publish-stages.ts'
import type { PublishingParts } from './publishing-parts.ts'
import { refusal, refusePublish } from './refuse-publish.ts'

export abstract class ConnectionPublishes extends PublishStages {
  protected readonly link: PublisherLink

  constructor(parts: PublishingParts, link: PublisherLink) {
    super(parts)
    this.link = link
  }

  protected limitFault(message: Message): Refusal | undefined {
    if (!isNameWithin(message.topic, this.parts.limits)) {
      return refusal(ReasonCodes.topicNameInvalid, 'the Topic Name is too long or too deep', 'topic_name_invalid')
    }
    if (message.properties?.payloadFormatIndicator === 1 && !isUtf8(message.payload)) {
      return refusal(ReasonCodes.payloadFormatInvalid, 'the payload is not the UTF-8 that it says', 'payload_not_utf8')
    }
    return undefined
  }

  protected get permit(): Permit {
    return this.link.permit
  }

  protected get sender(): Sender {
    const { permit } = this.link
    const { tenant, identity } = permit
    return { tenant, identity, maySubscribe: (topicName) => permit.maySubscribe(topicName).allowed }
  }

  protected wait(message: Message, deciding: Promise<Decision>): Promise<void> | undefined {
    return deciding.then((decision) => this.inOrder(() => this.conclude(message, decision)))
  }

  /**
   * Runs the function when no message of the connection waits for room any more, so that no message
   * is overtaken.
   */
  protected inOrder(run: () => Promise<void> | undefined): Promise<void> | undefined {
    const over = this.link.backPressure?.over
    return over === undefined ? run() : over.then(() => this.inOrder(run))
  }

  /**
   * A promise: the tenant is over its share of the log, and its connection is not read meanwhile.
   */
  protected readWhenOwned(room: Promise<void> | undefined): void {
    if (room !== undefined && !this.link.isClosed) this.link.waitFor(room)
  }

  protected get isAbandoned(): boolean {
    return this.link.isClosed
  }

  protected inspect(message: Message): void {
    const { permit } = this.link
    if (permit.inspect === undefined) return
    const fault = permit.inspect(message.topic, message, this.parts.second)
    if (fault !== undefined) this.parts.refusals.noticed(this.link, fault)
  }

  /**
   * A connection whose messages wait for room loses none of them because it can't be retained: the
   * message goes on, and is not retained.
   */
  protected passesUnretained(message: Message, { reasonCode, reason, code }: Refusal): boolean {
    if (this.link.backPressure === undefined) return false
    const { topicName, qos } = message
    const refused = { kind: 'publish', code, reason, topic: topicName } as const
    this.parts.refusals.refused(this.link, refused, { topicName, reasonCode, qos })
    message.retain = false
    return true
  }

  protected hold(): void {
    this.link.window.hold()
  }

  protected untilNext(waits: Promise<void> | undefined): Promise<void> | undefined {
    const hasRoom = this.link.window.untilRoomToHold()
    return hasRoom === undefined || waits === undefined ? (hasRoom ?? waits) : waits.then(() => hasRoom)
  }

  get roomToHold(): number {
    return this.link.window.roomToHold
  }

  get isShared(): boolean {
    return this.link.permit.backPressure !== 'own'
  }

  protected release(): void {
    this.link.window.release()
  }
}

/**
 * The QoS 0 messages of one connection: nobody is told what becomes of them. A message that the log
 * can't keep waits where the connection's messages wait, or is delivered all the same.
 */
export class UnacknowledgedPublishes extends ConnectionPublishes implements MessageOwnerCallbacks {
  readonly isGone = false

  refuse({ topicName }: Message, refused: Refusal): void {
    refusePublish(this.parts, this.link, { topicName, qos: 0, packetId: 0, dup: false }, refused)
  }

  giveBack(): boolean {
    return false
  }

  protected taken(): void {}

  /** The message goes on behind the messages of its connection that wait for room, if any do. */
  protected goOn(message: Message): void {
    const { backPressure } = this.link
    if (backPressure?.over === undefined) this.own(message)
    else backPressure.holdUntold(message)
  }

  protected own(message: Message): void {
    this.readWhenOwned(this.parts.router.pass(message, accountOf(this.link.permit), this))
  }

  owned(): void {}

  failed(failure: EngineFailure, message: Message): void {
    const { backPressure } = this.link
    if (backPressure !== undefined && passes(failure)) backPressure.holdUntold(message)
    else this.parts.router.deliver(message)
  }
}
