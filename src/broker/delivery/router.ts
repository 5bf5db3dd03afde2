/**
 * Brings a judged message to its owners: the retained store, the log and the subscribers, in this
 * order.
 */
import type { Clock } from '../../clock.ts'
import type { DispatchWatcher, Dispatched, PublishObserver, ReaderFilter } from '../ports/consumer.ts'
import type { Delivery } from './delivery.ts'
import { passes } from '../ports/engine.ts'
import type { AppendRequest, Engine, EngineFailure, StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import type { RetainedMessages } from './retained-messages.ts'
import { retainedChange } from '../durable/retained-store.ts'
import type { Route, SubscriptionIndex } from '../sessions/subscription-index.ts'

/** The sender's side of a message of QoS 1 or 2: learns what became of it. */
export interface MessageOwnerCallbacks {
  /**
   * The log owns the message, and it is being delivered. `reached` is false when no subscription
   * matches it.
   */
  owned(reached: boolean): void
  failed(failure: EngineFailure, message: Message): void
}

/** The place where the QoS 0 messages of a connection wait while the log can't own them. */
export interface QoS0Keeper {
  holdUntold(message: Message): void
}

export interface RouterOptions {
  readonly index: SubscriptionIndex
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  readonly engine: Engine
  readonly observer: PublishObserver | undefined
  /** True for the Topic Names whose QoS 0 messages are kept in the log as well. */
  readonly keepsQoS0: (topicName: string) => boolean
  readonly clock: Clock
}

export class Router {
  readonly #index: SubscriptionIndex
  readonly #delivery: Delivery
  readonly #retained: RetainedMessages
  readonly #engine: Engine
  readonly #observer: PublishObserver | undefined
  readonly #keepsQoS0: (topicName: string) => boolean
  readonly #clock: Clock

  constructor({ index, delivery, retained, engine, observer, keepsQoS0, clock }: RouterOptions) {
    this.#clock = clock
    this.#keepsQoS0 = keepsQoS0
    this.#index = index
    this.#delivery = delivery
    this.#retained = retained
    this.#engine = engine
    this.#observer = observer
  }

  /**
   * Delivers a QoS 0 message. Only a retained message, and one that belongs to the history, is
   * kept. The keeper, if there is one, holds the message while the history can't take it.
   */
  pass(message: Message, keeper?: QoS0Keeper): void {
    if (this.#keepsQoS0(message.topicName)) {
      this.own(message, new Unacknowledged(this, keeper))
      return
    }
    if (message.retain) {
      message.ownedAtMs = this.#clock.now()
      this.#retained.set(message)
      if (this.#engine.isDurable) this.#engine.write({ ...NOBODY_WAITS, changes: [this.#retainedChange(message)] })
    }
    this.deliver(message)
  }

  /** Delivers to the connected subscribers; nothing is stored. */
  deliver(message: Message): void {
    this.#delivery.passing(this.#index.route(message.topicName), message)
    this.#observer?.observe(message)
  }

  /**
   * Routes a QoS 1 or 2 message: the log owns it first, together with `change`; then it is
   * delivered; then its publisher is told.
   */
  own(message: Message, publisher: MessageOwnerCallbacks, change?: StateChange): void {
    this.#retained.reserve(message)
    const route = this.#index.route(message.topicName)
    this.#engine.append(route.partition, new Append(this, message, route, publisher, this.#changes(message, change)))
  }

  /** Gives a message of the service's own to one reader, beside the log. */
  dispatch(message: Message, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched {
    return this.#delivery.dispatch(this.#index.route(message.topicName), message, watcher, isFor)
  }

  #changes(message: Message, change: StateChange | undefined): readonly StateChange[] | undefined {
    if (!message.retain || !this.#engine.isDurable) return change === undefined ? undefined : [change]
    const retained = this.#retainedChange(message)
    return change === undefined ? [retained] : [change, retained]
  }

  #retainedChange(message: Message): StateChange {
    return retainedChange(message, this.#retained.tenantOf(message), this.#clock.now())
  }

  /** The engine owns the message. True when any subscription matches it. */
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
  }
}

/** For state that may be lost: nothing that was acknowledged depends on it. */
const NOBODY_WAITS = { committed: (): void => {}, failed: (): void => {} }

/**
 * The sender of a QoS 0 message that is kept. It does not wait for the log; a message that the log
 * can't keep is delivered all the same.
 */
class Unacknowledged implements MessageOwnerCallbacks {
  readonly #router: Router
  readonly #keeper: QoS0Keeper | undefined

  constructor(router: Router, keeper: QoS0Keeper | undefined) {
    this.#router = router
    this.#keeper = keeper
  }

  owned(): void {}

  failed(failure: EngineFailure, message: Message): void {
    if (this.#keeper !== undefined && passes(failure)) this.#keeper.holdUntold(message)
    else this.#router.deliver(message)
  }
}

/** A message between its publisher and the engine. */
class Append implements AppendRequest {
  readonly message: Message
  readonly changes: readonly StateChange[] | undefined
  readonly #router: Router
  readonly #route: Route
  readonly #publisher: MessageOwnerCallbacks

  constructor(
    router: Router,
    message: Message,
    route: Route,
    publisher: MessageOwnerCallbacks,
    changes: readonly StateChange[] | undefined,
  ) {
    this.message = message
    this.changes = changes
    this.#router = router
    this.#route = route
    this.#publisher = publisher
  }

  committed(offset: number): void {
    this.#publisher.owned(this.#router.committed(this.message, this.#route, offset))
  }

  failed(failure: EngineFailure): void {
    this.#router.refused(this.message)
    this.#publisher.failed(failure, this.message)
  }
}
