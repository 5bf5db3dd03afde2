/** From a judged message to its owners: the retained store, the log and the subscribers, in this order. */
import type { PublishObserver } from './consumer.ts'
import type { Counters } from './counters.ts'
import type { Delivery } from './delivery.ts'
import type { AppendFailure, Engine } from './engine.ts'
import type { Message } from './message.ts'
import type { RetainedMessages } from './retained-messages.ts'
import type { SubscriptionIndex } from './subscription-index.ts'

/** Who wants to know what became of a message of QoS 1 or 2. */
export interface MessageOwnerCallbacks {
  /** The log owns it and it is on its way; `reached` is false when no subscription matches it. */
  owned(reached: boolean): void
  failed(failure: AppendFailure): void
}

export class Router {
  readonly #index: SubscriptionIndex
  readonly #delivery: Delivery
  readonly #retained: RetainedMessages
  readonly #engine: Engine
  readonly #counters: Counters
  readonly #observer: PublishObserver | undefined

  constructor(
    index: SubscriptionIndex,
    delivery: Delivery,
    retained: RetainedMessages,
    engine: Engine,
    counters: Counters,
    observer: PublishObserver | undefined,
  ) {
    this.#index = index
    this.#delivery = delivery
    this.#retained = retained
    this.#engine = engine
    this.#counters = counters
    this.#observer = observer
  }

  /** A QoS 0 message: nothing is kept but what is retained. */
  pass(message: Message): void {
    if (message.retain) this.#retained.set(message)
    this.#delivery.passing(this.#index.route(message.topicName), message)
    this.#observer?.observe(message)
  }

  /** A QoS 1 or 2 message: owned first, then delivered, then its publisher is told. */
  own(message: Message, publisher: MessageOwnerCallbacks): void {
    const { partition } = this.#index.route(message.topicName)
    this.#engine.append(partition, {
      message,
      committed: (offset) => {
        if (message.retain) this.#retained.set(message)
        // Subscriptions may have changed while the engine was writing.
        const route = this.#index.route(message.topicName)
        this.#delivery.committed(route, message, offset)
        this.#observer?.observe(message)
        publisher.owned(route.targets.length > 0 || route.groups.length > 0 || route.asleep)
      },
      failed: (failure) => {
        this.#counters.publishesRefused += 1
        publisher.failed(failure)
      },
    })
  }
}
