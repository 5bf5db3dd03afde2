/** From a judged message to its owners: the retained store, the log and the subscribers, in this order. */
import type { PublishObserver } from './consumer.ts'
import type { Counters } from './counters.ts'
import type { Delivery } from './delivery.ts'
import type { EngineFailure, AppendRequest, Engine } from './engine.ts'
import type { Message } from './message.ts'
import type { RetainedMessages } from './retained-messages.ts'
import type { Route, SubscriptionIndex } from './subscription-index.ts'

/** Who wants to know what became of a message of QoS 1 or 2. */
export interface MessageOwnerCallbacks {
  /** The log owns it and it is on its way; `reached` is false when no subscription matches it. */
  owned(reached: boolean): void
  failed(failure: EngineFailure): void
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
    this.#retained.reserve(message)
    const route = this.#index.route(message.topicName)
    this.#engine.append(route.partition, new Append(this, message, route, publisher))
  }

  /** The engine owns the message; answers whether any subscription matches it. */
  committed(message: Message, known: Route, offset: number): boolean {
    this.#retained.release(message)
    if (message.retain) this.#retained.set(message)
    // Subscriptions may have changed while the engine was writing.
    const route = this.#index.isCurrent(known) ? known : this.#index.route(message.topicName)
    this.#delivery.committed(route, message, offset)
    this.#observer?.observe(message)
    return route.targets.length > 0 || route.groups.length > 0 || route.asleep
  }

  refused(message: Message): void {
    this.#retained.release(message)
    this.#counters.publishesRefused += 1
  }
}

/** A message between its publisher and the engine. */
class Append implements AppendRequest {
  readonly message: Message
  readonly #router: Router
  readonly #route: Route
  readonly #publisher: MessageOwnerCallbacks

  constructor(router: Router, message: Message, route: Route, publisher: MessageOwnerCallbacks) {
    this.message = message
    this.#router = router
    this.#route = route
    this.#publisher = publisher
  }

  committed(offset: number): void {
    this.#publisher.owned(this.#router.committed(this.message, this.#route, offset))
  }

  failed(failure: EngineFailure): void {
    this.#router.refused(this.message)
    this.#publisher.failed(failure)
  }
}
