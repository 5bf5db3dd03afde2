/**
 * The one way in for everything that is published: PUBLISH, Will Messages, and the messages of the
 * service itself. `publish-stages.ts` has the stages.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { MessageProperties, PublishProperties } from '../../mqtt/packet.ts'
import type { IncomingPublish } from '../../mqtt/incoming-publish.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { RetainedMessages } from '../delivery/retained-messages.ts'
import type { Router } from '../delivery/router.ts'
import type { SessionStore } from '../durable/session-store.ts'
import type {
  Dispatched,
  DispatchWatcher,
  Dispatcher,
  OwnMessage,
  PublishConsumer,
  PublishTransformer,
  Publisher,
  ReaderFilter,
} from '../ports/consumer.ts'
import type { Counters } from '../ports/counters.ts'
import type { Limits } from '../ports/limits.ts'
import { Message, expiryOf } from '../ports/message.ts'
import type { Policy } from '../ports/policy.ts'
import type { Refusals } from '../refusals/refusals.ts'
import { RepeatedPublishes } from '../refusals/repeated-publishes.ts'
import type { Session } from '../sessions/session.ts'
import type { DueWill } from '../sessions/pending-will.ts'
import { BackPressure } from './back-pressure.ts'
import type { BackPressureHost, WaitingLink } from './back-pressure.ts'
import { DueWillMessage, refuseWill } from './due-will-message.ts'
import { AcknowledgedPublish } from './acknowledged-publish.ts'
import { UnacknowledgedPublishes } from './connection-publishes.ts'
import { OwnPublish, ownMessage } from './own-publish.ts'
import type { PublisherLink } from './publisher-link.ts'
import type { PublishingParts } from './publishing-parts.ts'

export type PublishingOptions = Omit<PublishingParts, 'repeatedPublishes' | 'second'> & { readonly policy: Policy }

export class Publishing implements PublishingParts, Publisher, Dispatcher, BackPressureHost {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
  readonly consumers: readonly PublishConsumer[]
  readonly transformer: PublishTransformer | undefined
  readonly retained: RetainedMessages
  readonly cleaning: PublishingParts['cleaning']
  readonly router: Router
  readonly store: SessionStore | undefined
  readonly refusals: Refusals
  readonly repeatedPublishes = new RepeatedPublishes()
  /** Grows by one with each tick. */
  second = 0
  readonly #policy: Policy
  readonly #waiting = new Set<BackPressure>()

  constructor(options: PublishingOptions) {
    this.limits = options.limits
    this.clock = options.clock
    this.log = options.log
    this.counters = options.counters
    this.consumers = options.consumers
    this.transformer = options.transformer
    this.retained = options.retained
    this.cleaning = options.cleaning
    this.router = options.router
    this.store = options.store
    this.refusals = options.refusals
    this.#policy = options.policy
  }

  /** A second has passed: messages that wait for room are tried again. */
  tick(): void {
    this.second += 1
    for (const waiting of this.#waiting) waiting.tick()
  }

  /**
   * Takes a PUBLISH of a connection. A promise: the connection's next packet has to wait for it.
   * `topic` is the packet's, by its Topic Alias if need be.
   */
  receive(link: PublisherLink, packet: IncomingPublish, topic: Topic): Promise<void> | undefined {
    const message = messageOf(packet, topic, link.session.key, this.clock)
    if (packet.qos === 0) return link.unacknowledgedPublishes.accept(message)
    const publish = new AcknowledgedPublish(this, link, packet)
    const isFull = link.window.pending >= this.limits.receiveMaximum
    return isFull ? publish.acceptWhenSettled(message) : publish.accept(message)
  }

  /** Publishes a Will Message that is due. */
  async publishWill(session: Session, { will, permit: held, ground, permitExpiresAtMs }: DueWill): Promise<void> {
    const { topicName } = will
    const permit = await (held ?? this.#policy.permitOn?.(ground).catch(() => undefined))
    if (permit === undefined || (permitExpiresAtMs !== undefined && permitExpiresAtMs <= this.clock.now())) {
      const refused = { code: 'token_expired', reason: 'the token has expired' }
      refuseWill(this, session, { ground, topicName }, refused)
      return
    }
    try {
      await new DueWillMessage(this, { session, permit, ground }).publish(will)
    } catch (error) {
      this.log.error({ err: error, clientId: session.clientId, topicName }, 'will.failed')
    }
  }

  publish(message: OwnMessage): Promise<void> {
    return new OwnPublish(this).publish(message)
  }

  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched {
    return this.router.dispatch(ownMessage(message, this), watcher, isFor)
  }

  /** The origin of the QoS 0 messages of a connection. */
  createUnacknowledgedPublishes(link: PublisherLink): UnacknowledgedPublishes {
    return new UnacknowledgedPublishes(this, link)
  }

  /** The place where messages of a connection wait when a refusal of them would pass. */
  createBackPressure(link: WaitingLink): BackPressure {
    return new BackPressure(this, link)
  }

  waits(backPressure: BackPressure): void {
    this.#waiting.add(backPressure)
  }

  waitsNoMore(backPressure: BackPressure): void {
    this.#waiting.delete(backPressure)
  }
}

/** The payload is not copied. The Topic Alias is between the broker and the publisher alone. */
function messageOf(packet: IncomingPublish, topic: Topic, publisherKey: string, clock: Clock): Message {
  const { qos, retain, properties } = packet
  const fields = { topicName: topic.name, qos, retain, properties: withoutTopicAlias(properties), publisherKey, topic }
  return new Message(fields, expiryOf(properties, clock), packet)
}

function withoutTopicAlias(properties: PublishProperties | undefined): MessageProperties | undefined {
  if (properties?.topicAlias === undefined) return properties
  const { topicAlias: _, ...own } = properties
  return own
}
