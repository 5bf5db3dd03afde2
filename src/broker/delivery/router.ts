/**
 * Brings a judged message to its owners: the retained store, the log and the subscribers, in this
 * order.
 */
import type { Clock } from '../../clock.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { Nodes } from '../../nodes.ts'
import type { DispatchWatcher, Dispatched, LogFollower, PublishObserver, ReaderFilter } from '../ports/consumer.ts'
import type { Delivery } from './delivery.ts'
import type { AppendRequest, Arrivals, Engine, EngineFailure, StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import type { LogShare, LogShares, SharedAppend } from './log-shares.ts'
import { PassingMessages } from './passing-messages.ts'
import type { RetainedMessages } from './retained-messages.ts'
import type { SharedRetained } from './shared-retained.ts'
import { payloadOfChange, retainedChange } from '../durable/retained-store.ts'
import type { Route, SubscriptionIndex } from '../sessions/subscription-index.ts'

/** The sender's side of a message of QoS 1 or 2: learns what became of it. */
export interface MessageOwnerCallbacks {
  /**
   * The log owns the message, and it is being delivered. `reached` is false when no subscription
   * matches it.
   */
  owned(reached: boolean): void
  failed(failure: EngineFailure, message: Message): void
  /**
   * A change of state that is to be owned together with the message. Asked when the engine gets the
   * message: the Session may have ended while the message waited for room.
   */
  change?(): StateChange | undefined
}

export interface RouterOptions {
  readonly index: SubscriptionIndex
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  readonly engine: Engine
  readonly observer: PublishObserver | undefined
  readonly follower: LogFollower | undefined
  /** True for the Topic Names whose QoS 0 messages are kept in the log as well. */
  readonly keepsQoS0: (topic: Topic) => boolean
  readonly clock: Clock
  readonly shares: LogShares
  /** The nodes of the deployment. Undefined: this process is the only one. */
  readonly nodes: Pick<Nodes, 'bus'> | undefined
  /** The retained messages of all nodes. Undefined: this process keeps its own. */
  readonly shared: SharedRetained | undefined
}

/**
 * Bytes that a message takes beside its content while the engine works on it. The number is high
 * enough for the changes of a QoS 2 message: the engine's own count of a message is lower, so the
 * engine's own bound is never reached by messages.
 */
const APPEND_BYTES = 512

export class Router implements Arrivals {
  readonly #index: SubscriptionIndex
  readonly #delivery: Delivery
  readonly #retained: RetainedMessages
  readonly #engine: Engine
  readonly #observer: PublishObserver | undefined
  readonly #follower: LogFollower | undefined
  readonly #keepsQoS0: (topic: Topic) => boolean
  readonly #clock: Clock
  readonly #shares: LogShares
  /** Undefined: this process is the only one. */
  readonly #passing: PassingMessages | undefined
  readonly #sharedRetained: SharedRetained | undefined
  /**
   * Stands for publishers that wait for no answer. A message that the log can't keep is delivered
   * all the same.
   */
  readonly #untold: MessageOwnerCallbacks = { owned: () => {}, failed: (_failure, message) => this.deliver(message) }

  constructor(options: RouterOptions) {
    const { index, delivery, retained, engine, observer, keepsQoS0, clock, shares, nodes, shared } = options
    this.#follower = options.follower
    this.#sharedRetained = shared
    this.#passing = nodes && new PassingMessages(nodes.bus, clock, (message) => this.#pass(message))
    this.#clock = clock
    this.#shares = shares
    this.#keepsQoS0 = keepsQoS0
    this.#index = index
    this.#delivery = delivery
    this.#retained = retained
    this.#engine = engine
    this.#observer = observer
  }

  /**
   * Delivers a QoS 0 message. Only a retained message, and one that belongs to the history, is
   * kept. The publisher learns what became of a message for the history. A promise: as `own` has
   * it. Several nodes retain a message at the same place of the log.
   */
  pass(message: Message, tenant: string, publisher: MessageOwnerCallbacks = this.#untold): Promise<void> | undefined {
    const isShared = message.retain && this.#sharedRetained !== undefined
    if (isShared || this.#keepsQoS0(message.topic)) return this.own(message, tenant, publisher)
    if (message.retain) {
      message.ownedAtMs = this.#clock.now()
      this.#retained.set(message)
      if (this.#engine.isDurable) {
        this.#engine.write({ ...NOBODY_WAITS, owner: tenant, changes: [this.#retainedChange(message)] })
      }
    }
    this.deliver(message)
    this.#passing?.pass(message)
    return undefined
  }

  /** Delivers to the connected subscribers; nothing is stored. */
  deliver(message: Message): void {
    this.#pass(message)
    this.#observer?.observe(message)
  }

  #pass(message: Message): void {
    this.#delivery.passing(this.#index.route(message.topic), message)
  }

  /**
   * Takes a QoS 1 or 2 message: the log owns it first, together with the publisher's change; then
   * it arrives, and is routed; then its publisher is told. The tenant is the one whose share of the
   * room toward the log the message takes. A promise: the tenant is over its share, and nothing
   * more is to be read of the sender until the promise resolves.
   */
  own(message: Message, tenant: string, publisher: MessageOwnerCallbacks): Promise<void> | undefined {
    this.#retained.reserve(message)
    const route = this.#index.route(message.topic)
    return this.#shares.add(tenant, new Append(this, message, route, publisher))
  }

  /** Gives a message of the service's own to one reader, beside the log. */
  dispatch(message: Message, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched {
    return this.#delivery.dispatch(this.#index.route(message.topic), message, watcher, isFor)
  }

  /** Gives the engine the messages that wait for room. Call before the engine closes. */
  flush(): void {
    this.#shares.flush()
  }

  /** Called by a message that has room in its tenant's share. */
  append(append: Append, { partition }: Route): void {
    this.#engine.append(partition, append)
  }

  /** Called by a message that the engine owns, or has refused. */
  settle(share: LogShare, bytes: number): void {
    this.#shares.settle(share, bytes)
  }

  /** The changes that are owned together with the message. */
  changes(message: Message, change: StateChange | undefined): readonly StateChange[] | undefined {
    const isKept = message.retain && this.#engine.isDurable && this.#sharedRetained === undefined
    if (!isKept) return change === undefined ? undefined : [change]
    const retained = this.#retainedChange(message)
    return change === undefined ? [retained] : [change, retained]
  }

  #retainedChange(message: Message): StateChange {
    const change = retainedChange(message, this.#retained.tenantOf(message), this.#clock.now())
    // The state and the retained message share the memory of a large payload.
    if (change.value !== undefined) message.holdWithin(payloadOfChange(change.value))
    return change
  }

  /** Routes a message of the log, whoever appended it. */
  arrived(message: Message): void {
    if (message.retain) (this.#sharedRetained ?? this.#retained).set(message)
    this.#delivery.arrived(this.#index.route(message.topic), message)
    this.#follower?.arrived(message)
  }

  /**
   * The engine owns a message of this process. True when any subscription matches it, as far as
   * this process knows: other nodes may have subscriptions.
   */
  owned(message: Message, known: Route): boolean {
    this.#retained.release(message)
    this.#observer?.observe(message)
    if (this.#passing !== undefined) return true
    // Subscriptions may have changed while the engine was writing.
    const route = this.#index.isCurrent(known) ? known : this.#index.route(message.topic)
    return route.targets.length > 0 || route.groups.length > 0 || route.asleep
  }

  refused(message: Message): void {
    this.#retained.release(message)
  }
}

/** For state that may be lost: nothing that was acknowledged depends on it. */
const NOBODY_WAITS = { committed: (): void => {}, failed: (): void => {} }

/** A message between its publisher and the engine. */
class Append implements AppendRequest, SharedAppend {
  readonly message: Message
  readonly bytes: number
  readonly isLossy: boolean
  owner: string | undefined = undefined
  changes: readonly StateChange[] | undefined = undefined
  readonly #router: Router
  readonly #route: Route
  readonly #publisher: MessageOwnerCallbacks
  /** Set while the engine has the message. */
  #share: LogShare | undefined = undefined

  constructor(router: Router, message: Message, route: Route, publisher: MessageOwnerCallbacks) {
    this.message = message
    this.bytes = bytesTowardLog(message)
    this.isLossy = message.qos === 0
    this.#router = router
    this.#route = route
    this.#publisher = publisher
  }

  get heldBytes(): number {
    return this.bytes
  }

  keep(): void {
    this.message.keep()
  }

  start(share: LogShare): void {
    this.#share = share
    this.owner = share.tenant
    this.changes = this.#router.changes(this.message, this.#publisher.change?.())
    this.#router.append(this, this.#route)
  }

  committed(): void {
    this.#settle()
    this.#publisher.owned(this.#router.owned(this.message, this.#route))
  }

  failed(failure: EngineFailure): void {
    this.#settle()
    this.refuse(failure)
  }

  refuse(failure: EngineFailure): void {
    this.#router.refused(this.message)
    this.#publisher.failed(failure, this.message)
  }

  #settle(): void {
    if (this.#share !== undefined) this.#router.settle(this.#share, this.bytes)
    this.#share = undefined
  }
}

/** A message that is to be retained is in the log twice: as a message, and as a change of state. */
function bytesTowardLog({ sizeBytes, retain, qos, publisherKey }: Message): number {
  const changed = (retain ? sizeBytes + APPEND_BYTES : 0) + (qos === 2 ? publisherKey.length : 0)
  return APPEND_BYTES + sizeBytes + changed
}
