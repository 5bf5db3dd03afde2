/**
 * A Will Message that is due. It is judged again, since rights may have changed since CONNECT, and
 * then published like a PUBLISH. Its client is gone: nobody waits for the message, is told of it,
 * or sends it again.
 */
import type { WillMessage } from '../../mqtt/packet.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { Message, expiryOf } from '../ports/message.ts'
import { accountOf } from '../ports/policy.ts'
import type { Decision, Permit, PermitHolder, Refusal } from '../ports/policy.ts'
import type { Session } from '../sessions/session.ts'
import type { MessageOwnerCallbacks } from '../delivery/router.ts'
import { PublishStages } from './publish-stages.ts'
import type { PublishingParts } from './publishing-parts.ts'

/** The Session that a Will Message belongs to, and the right to send it. */
export interface WillOrigin {
  readonly session: Session
  readonly permit: Permit
  /** The ground of the permit at CONNECT. */
  readonly ground: string
}

export class DueWillMessage extends PublishStages implements MessageOwnerCallbacks {
  readonly roomToHold = 0
  readonly isShared = true
  readonly isGone = false
  protected readonly permit: Permit
  protected readonly sender = undefined
  protected readonly isAbandoned = false
  readonly #session: Session
  readonly #ground: string

  constructor(parts: PublishingParts, { session, permit, ground }: WillOrigin) {
    super(parts)
    this.permit = permit
    this.#session = session
    this.#ground = ground
  }

  /** Runs the stages for the Will Message. */
  async publish({ topicName, payload, qos, retain, properties }: WillMessage): Promise<void> {
    const fields = { topicName, payload, qos, retain, properties, publisherKey: this.#session.key }
    await this.accept(new Message(fields, expiryOf(properties, this.parts.clock)))
  }

  refuse({ topicName }: Message, refused: Refusal): void {
    refuseWill(this.parts, this.#session, { ground: this.#ground, topicName }, refused)
  }

  owned(): void {}

  failed({ reason }: EngineFailure, { topicName }: Message): void {
    this.parts.counters.publishesRefused += 1
    this.parts.log.error({ clientId: this.#session.clientId, topicName, reason }, 'will.failed')
  }

  giveBack(): boolean {
    return false
  }

  /** The limits were checked at CONNECT. */
  protected limitFault(): undefined {
    return undefined
  }

  protected wait(message: Message, deciding: Promise<Decision>): Promise<void> {
    return deciding.then((decision) => this.conclude(message, decision))
  }

  protected passesUnretained(): boolean {
    return false
  }

  protected goOn(message: Message): void {
    this.own(message)
  }

  protected own(message: Message): void {
    const { router } = this.parts
    const account = accountOf(this.permit)
    if (message.qos === 0) void router.pass(message, account)
    else void router.own(message, account, this)
  }

  /** No message of the client comes after its Will Message. */
  protected untilNext(): undefined {
    return undefined
  }

  protected taken(): void {}
  protected inspect(): void {}
  protected hold(): void {}
  protected release(): void {}
}

/** Counts, keeps and logs the refusal of a Will Message. */
export function refuseWill(
  { counters, refusals }: Pick<PublishingParts, 'counters' | 'refusals'>,
  { clientId, tenant, identity }: Session,
  { ground, topicName }: Pick<PermitHolder, 'ground'> & { readonly topicName: string },
  refused: Pick<Refusal, 'code' | 'reason'>,
): void {
  counters.publishesRefused += 1
  refusals.willRefused({ clientId, holder: { tenant, identity, ground }, topicName }, refused)
}
