/** A message of the service's own: no permit is asked, and it is owned like any other. */
import type { MessageOwnerCallbacks } from '../delivery/router.ts'
import type { OwnMessage } from '../ports/consumer.ts'
import type { EngineFailure } from '../ports/engine.ts'
import { Message, expiryOf } from '../ports/message.ts'
import type { PublishingParts } from './publishing-parts.ts'
import { retainIfRoom } from './retain-if-room.ts'

export class OwnPublish implements MessageOwnerCallbacks {
  readonly #parts: PublishingParts
  readonly #told: PromiseWithResolvers<void> = Promise.withResolvers()

  constructor(parts: PublishingParts) {
    this.#parts = parts
  }

  /** Resolves when the engine owns the message (QoS 1 and 2), or at once (QoS 0). */
  publish(message: OwnMessage): Promise<void> {
    const { router } = this.#parts
    const own = ownMessage(message, this.#parts)
    if (message.retains === true) retainIfRoom(this.#parts, own)
    if (own.qos > 0) void router.own(own, message.tenant ?? '', this)
    else {
      void router.pass(own, message.tenant ?? '')
      this.#told.resolve()
    }
    return this.#told.promise
  }

  owned(): void {
    this.#told.resolve()
  }

  failed({ reason }: EngineFailure): void {
    this.#parts.counters.publishesRefused += 1
    this.#told.reject(new Error(reason))
  }
}

/** The message as the broker's readers get it. */
export function ownMessage(
  { topicName, payload, qos, properties }: OwnMessage,
  { clock }: Pick<PublishingParts, 'clock'>,
): Message {
  return new Message(
    { topicName, payload, qos, retain: false, properties, publisherKey: '' },
    expiryOf(properties, clock),
  )
}
