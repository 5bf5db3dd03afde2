/**
 * The stages of everything that is published and has a sender, from top to bottom:
 *
 * 1. limits: what the message alone says against it.
 * 2. permit: whether its sender may publish to its Topic Name.
 * 3. consumer: the one room that judges its topic, and may take the message.
 * 4. room to retain it.
 * 5. transformer: may hold the message back and complete it; then stage 4 is asked again.
 * 6. own: the log owns a message of QoS 1 or 2, and then it is routed; QoS 0 is routed at once.
 * 7. acknowledge: the origin is told.
 *
 * A stage that says no ends the message by `refuse`. A subclass is an origin: the QoS 0 messages of
 * a connection (`UnacknowledgedPublishes`, which keeps nothing of a single message), one QoS 1 or 2
 * message of a connection (`AcknowledgedPublish`), a Will Message that is due (`DueWillMessage`).
 * The service's own messages (`OwnPublish`) are judged by nobody: they begin at stage 6.
 */
import type { HeldMessage, Sender } from '../ports/consumer.ts'
import type { Message } from '../ports/message.ts'
import { accountOf } from '../ports/policy.ts'
import type { Decision, Permit, Refusal } from '../ports/policy.ts'
import type { PublishingParts } from './publishing-parts.ts'
import { retainedFaultOf } from './refuse-publish.ts'
import { retainIfRoom } from './retain-if-room.ts'

export abstract class PublishStages {
  protected readonly parts: PublishingParts

  constructor(parts: PublishingParts) {
    this.parts = parts
  }

  /** The account whose share of the room toward the log the messages take. */
  get account(): string {
    return accountOf(this.permit)
  }

  /** Runs the stages. A promise: the next message of the same origin has to wait for it. */
  accept(message: Message): Promise<void> | undefined {
    const fault = this.limitFault(message)
    if (fault !== undefined) {
      this.refuse(message, fault)
      return undefined
    }
    const decision = this.judge(message)
    return decision instanceof Promise ? this.wait(message, decision) : this.conclude(message, decision)
  }

  /** Stage 2: the permit. */
  protected judge(message: Message): Decision | Promise<Decision> {
    const permitted = this.permit.mayPublish(message.topic)
    if (permitted instanceof Promise) return permitted.then((decision) => this.consult(message, decision))
    return this.consult(message, permitted)
  }

  /** Stage 3: the consumer. A topic has one at most. */
  protected consult(message: Message, permitted: Decision): Decision | Promise<Decision> {
    const decision = permitted.allowed
      ? permitted
      : (this.permit.takeRefused?.(message.topic, message.payload, permitted) ?? permitted)
    if (!decision.allowed || decision.taken === true) return decision
    if (decision.as !== undefined) message.readdress(decision.as)
    for (const consumer of this.parts.consumers) {
      const { topicName } = message
      if (!consumer.wants(topicName)) continue
      const { payload, qos, retain, properties } = message
      return consumer.consume({ topicName, payload, qos, retain, properties, sender: this.sender })
    }
    return decision
  }

  /** Stages 4 to 6, when permit and consumer have decided. */
  protected conclude(message: Message, decision: Decision): Promise<void> | undefined {
    if (this.isAbandoned) return undefined
    if (!decision.allowed) this.refuse(message, decision)
    else if (decision.taken === true) this.taken(message, decision.owned)
    else {
      this.inspect(message)
      if (!this.hasRoomToRetain(message)) return undefined
      const { transformer } = this.parts
      if (transformer?.holds(message.topic) === true) {
        message.keep()
        this.hold()
        const held = new HeldBack(this, message)
        return this.untilNext(
          transformer.transform(held, (payload, retains) => this.complete(message, payload, retains)),
        )
      }
      this.own(message)
    }
    return undefined
  }

  /** Stage 5 is over: the message goes on, with the payload that the transformer gives it. */
  protected complete(message: Message, payload: Buffer, retains = false): void {
    this.release()
    message.payload = payload
    if (retains) retainIfRoom(this.parts, message)
    // Other messages may have taken the room meanwhile.
    if (this.hasRoomToRetain(message)) this.goOn(message)
  }

  /** Stage 4. False: the message is refused. */
  protected hasRoomToRetain(message: Message): boolean {
    if (!message.retain) return true
    const fault = retainedFaultOf(this.parts.retained, message)
    if (fault === undefined || this.passesUnretained(message, fault)) return true
    this.refuse(message, fault)
    return false
  }

  // The differences between the origins, in the order of the stages. Private methods would store
  // their brand in each object, and there is one object a message: hence `protected`.

  /** Stage 1. Undefined: nothing is said against the message. */
  protected abstract limitFault(message: Message): Refusal | undefined

  /** Stage 2. */
  protected abstract readonly permit: Permit

  /** Stage 3. Undefined for a Will Message: its client is gone. */
  protected abstract readonly sender: Sender | undefined

  /** Waits for permit or consumer. A promise: the next message of the origin waits as well. */
  protected abstract wait(message: Message, deciding: Promise<Decision>): Promise<void> | undefined

  /** True where nobody accepted the message, and its sender is gone: the message is dropped. */
  protected abstract readonly isAbandoned: boolean

  /** The end of a message that nobody owns. */
  abstract refuse(message: Message, refusal: Refusal): void

  /**
   * The end of a message that its consumer owns: at once, or when the promise resolves without a
   * refusal.
   */
  protected abstract taken(message: Message, owned: Promise<Refusal | undefined> | undefined): void

  /** Looks at the payload for a fault that the operator of its sender must hear of. */
  protected abstract inspect(message: Message): void

  /** Stage 4. True: the message goes on though there is no room to retain it. */
  protected abstract passesUnretained(message: Message, fault: Refusal): boolean

  /** Stage 5: the transformer is about to get the message. */
  protected abstract hold(): void

  /** Stage 5: the promise that the next message of the origin waits for. */
  protected abstract untilNext(waits: Promise<void> | undefined): Promise<void> | undefined

  /** Stage 5: as `HeldMessage.room` has it. */
  abstract readonly roomToHold: number
  abstract readonly isShared: boolean
  abstract readonly isGone: boolean
  abstract giveBack(): boolean

  /** Stage 5 is over: the transformer has let the message go on. */
  protected abstract release(): void

  /** Stage 6 for a message that was held back. */
  protected abstract goOn(message: Message): void

  /** Stage 6. */
  protected abstract own(message: Message): void
}

/** The transformer's view of a message that it holds back. */
class HeldBack implements HeldMessage {
  readonly #origin: PublishStages
  readonly #message: Message

  constructor(origin: PublishStages, message: Message) {
    this.#origin = origin
    this.#message = message
  }

  get topicName(): string {
    return this.#message.topicName
  }

  get payload(): Buffer {
    return this.#message.payload
  }

  get room(): number {
    return this.#origin.roomToHold
  }

  get isShared(): boolean {
    return this.#origin.isShared
  }

  get tenant(): string {
    return this.#origin.account
  }

  get isGone(): boolean {
    return this.#origin.isGone
  }

  giveBack(): boolean {
    return this.#origin.giveBack()
  }
}
