/**
 * Ports for rooms that take part in a PUBLISH. Consumers judge a message before it is owned and
 * acknowledged. A transformer completes it before it is owned. An observer sees it pass.
 */
import type { MessageProperties, QoS } from '../../mqtt/packet.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { Message } from './message.ts'
import type { Decision } from './policy.ts'

/** A PUBLISH as a consumer sees it. The payload is a view; copy what must outlive the call. */
export interface ConsumedMessage {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  /** The properties as the client sent them, without the Topic Alias. */
  readonly properties: MessageProperties | undefined
  /** The client that sent the message; undefined for a Will Message, whose client is gone. */
  readonly sender: Sender | undefined
}

/** The client behind a PUBLISH, as far as a consumer may know it. */
export interface Sender {
  readonly tenant: string
  readonly identity: string
  /**
   * Whether the client may itself subscribe to a Topic Name. Asked before an answer is sent to the
   * client's Response Topic.
   */
  maySubscribe(topicName: string): boolean
}

/**
 * The decision of a consumer that owns the message from here on: the message is acknowledged, and
 * not routed.
 */
export const TAKEN: Decision = { allowed: true, taken: true }

export interface PublishConsumer {
  /**
   * True for the Topic Names that this consumer judges. Asked for each PUBLISH, so the answer must
   * be cheap.
   */
  wants(topicName: string): boolean
  /**
   * True: while a message of QoS 1 or 2 is judged, the other packets of its connection go on, and
   * the consumer keeps the order where it matters. False: the connection's next packet waits for
   * the decision.
   */
  readonly keepsOrder: boolean
  /**
   * Judges the message. ALLOWED lets it be routed; TAKEN ends it here; a refusal is told to its
   * sender.
   */
  consume(message: ConsumedMessage): Decision | Promise<Decision>
}

/**
 * A judged message that nobody owns yet. `topicName` and `payload` stay the same; the other members
 * are current and change while the message is held back.
 */
export interface HeldMessage {
  readonly topicName: string
  /** The payload as it was received. It may be kept; it must not be written to. */
  readonly payload: Buffer
  /**
   * How many messages more its connection may have under way; messages that are held back count as
   * under way. 0 or less: no more.
   */
  readonly room: number
  /**
   * True: the connection carries messages of several tenants, and no tenant may hold up the others
   * for long.
   */
  readonly isShared: boolean
  /**
   * The tenant whose share of the room toward the log the message takes. A message about this
   * message has to take the same share, because messages of different shares have no common order.
   * Undefined: the service's own share.
   */
  readonly tenant: string | undefined
  /** True: the sender is gone and will send the message again. */
  readonly isGone: boolean
  /**
   * True: the message need not go on, since its sender was not told that it is accepted and sends
   * it again. False: the message must go on.
   */
  giveBack(): boolean
}

/**
 * Completes messages that their readers get in another form than their sender sent them. A message
 * that is held back does not hold up the other messages of its connection; its sender is
 * acknowledged when it has gone on and is owned. The transformer also holds back the messages
 * behind it whose order matters. It bounds the number and the bytes of what it holds.
 */
export interface PublishTransformer {
  /**
   * False for a message that goes on at once, as it is. Asked for each message that is to be
   * routed, so the answer must be cheap.
   */
  holds(topic: Topic): boolean
  /**
   * Called right after `holds` was true. `goOn` is called exactly once, within the call or later,
   * with the payload or with another in its place. `retains`: the message is retained where there
   * is room. It is not called where `giveBack` was true. A promise means that there is no room:
   * nothing more is read from the connection until the promise resolves.
   */
  transform(message: HeldMessage, goOn: (payload: Buffer, retains?: boolean) => void): Promise<void> | undefined
}

/**
 * A message that is being routed, as an observer sees it. The payload is a view, which is made when
 * it is asked for; copy what must outlive the call.
 */
export interface RoutedMessage extends Pick<ConsumedMessage, 'topicName' | 'payload'> {
  readonly topic: Topic
  /** When the log took the message, ms since 1970; 0 for a message that is not in the log. */
  readonly ownedAtMs: number
}

export interface PublishObserver {
  /**
   * Called for each message right after it was routed; a message of QoS 1 or 2 is owned by then.
   * Must not throw, nor take long.
   */
  observe(message: RoutedMessage): void
}

/** Follows the log beside all Sessions. */
export interface LogFollower {
  /**
   * Called for each message of the log when it has arrived at this process and was routed, at
   * whatever node it was published: in the order of each partition. Call `keep` before the message
   * outlives the call. Must not throw, nor take long.
   */
  arrived(message: Message): void
}

/** A message that the service itself publishes. */
export interface OwnMessage {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly properties?: MessageProperties
  /**
   * The tenant whose share of the room toward the log the message takes. Absent: the message takes
   * the service's own share.
   */
  readonly tenant?: string
  /** True: the message is retained where there is room. Absent: it is not retained. */
  readonly retains?: boolean
}

/**
 * The way in which other rooms publish: no permit is asked, and the message is routed like any
 * other.
 */
export interface Publisher {
  /**
   * Resolves when the engine owns the message (QoS 1 and 2) or at once (QoS 0); rejects when the
   * engine can't own it.
   */
  publish(message: OwnMessage): Promise<void>
}

/**
 * Learns what became of a message that was given to one reader. Called at most once, and never
 * within `dispatch` itself.
 */
export interface DispatchWatcher {
  /**
   * The reader has acknowledged the message, or, at QoS 0, the message was written to its
   * connection.
   */
  acknowledged(): void
  /**
   * The reader's Session ended before the message was acknowledged; nobody holds the message any
   * more.
   */
  abandoned(): void
}

export type Dispatched = 'sent' | 'no reader' | 'no room'

/** True for the readers that may have a message, by their tenant and identity. */
export type ReaderFilter = (reader: { readonly tenant: string; readonly identity: string }) => boolean

/**
 * Hands a message that its caller owns to one reader. The message does not go through the log, and
 * it is not kept for readers that are away. A reader that goes away with the message in flight and
 * keeps its Session gets the message again when it returns, like any message.
 */
export interface Dispatcher {
  /**
   * Sends the message to one connected Session that subscribes to the Topic Name, may receive it
   * and has room, at the QoS of the subscription. `no reader`: no such Session is connected. `no
   * room`: one is connected and can't take more now. Only readers for which `isFor` is true count;
   * without `isFor` all readers count.
   */
  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched
}

/**
 * Called when messages can be dispatched to a Session: it subscribed, came back, or has room again.
 */
export interface ReaderListener {
  /**
   * Takes the Topic Filters that the Session reads, without `$share/{ShareName}/`. Must not throw,
   * nor take long.
   */
  readerReady(topicFilters: readonly string[]): void
}
