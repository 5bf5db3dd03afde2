/**
 * Ports for rooms that take part in a PUBLISH: consumers judge it before it is owned and
 * acknowledged, a transformer completes it in between, an observer sees it pass.
 */
import type { MessageProperties, QoS } from '../../mqtt/packet.ts'
import type { Decision } from './policy.ts'

/** What a consumer sees of a PUBLISH. The payload is a view; copy what must outlive the call. */
export interface ConsumedMessage {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  /** As the client sent them, without the Topic Alias. */
  readonly properties: MessageProperties | undefined
  /** Who sent it; undefined for a Will Message whose client is gone. */
  readonly sender: Sender | undefined
}

/** The client behind a PUBLISH, as far as a consumer may know it. */
export interface Sender {
  readonly tenant: string
  readonly identity: string
  /**
   * Whether the client may itself subscribe to a Topic Name: asked before an answer goes to its
   * Response Topic.
   */
  maySubscribe(topicName: string): boolean
}

/** Consent of a consumer that owns the message from here on: it is acknowledged, and not routed. */
export const TAKEN: Decision = { allowed: true, taken: true }

export interface PublishConsumer {
  /**
   * True for the Topic Names that this consumer judges; asked for each PUBLISH, so it must be
   * cheap.
   */
  wants(topicName: string): boolean
  /**
   * True: a message of QoS 1 or 2 that is judged for a while holds up no other packet of its
   * connection, and the consumer keeps the order where it matters. False: the next packet waits for
   * the decision.
   */
  readonly keepsOrder: boolean
  /** ALLOWED lets the message be routed; TAKEN ends it here; a refusal is the sender's answer. */
  consume(message: ConsumedMessage): Decision | Promise<Decision>
}

/**
 * A judged message before anybody owns it. Its values but the first two are current: they change
 * while it is held back.
 */
export interface HeldMessage {
  readonly topicName: string
  /** Fit to be kept; not to be written to. */
  readonly payload: Buffer
  /**
   * How many messages more its connection may have under way: what is held back is among those that
   * are. 0 or less: no more.
   */
  readonly room: number
  /**
   * True: its connection carries messages of several tenants, and none of them may hold up the
   * others for long.
   */
  readonly isShared: boolean
  /** True: its sender is gone and sends it again. */
  readonly isGone: boolean
  /**
   * True: its sender was not told that it is accepted, and sends it again; so it need not go on.
   * False: it must.
   */
  giveBack(): boolean
}

/**
 * Completes messages that are not the same for their readers as for their sender. A message that is
 * held back holds up no other of its connection, and its sender is acknowledged when it has gone on
 * and is owned. What follows it by Topic Names whose order matters is the transformer's to hold
 * back as well. It bounds what it holds, in number and bytes.
 */
export interface PublishTransformer {
  /**
   * False for what goes on at once, as it is. Asked for each message that is to be routed, so it
   * must be cheap.
   */
  holds(topicName: string): boolean
  /**
   * Called right after `holds` was true. `goOn` is called exactly once, within the call or later,
   * with the payload or with another in its place; not at all where `giveBack` was true. A promise
   * says that there is no room: nothing more is read from the connection until it resolves.
   */
  transform(message: HeldMessage, goOn: (payload: Buffer) => void): Promise<void> | undefined
}

/**
 * What an observer sees of a message that is on its way. The payload is a view; copy what must
 * outlive the call.
 */
export type RoutedMessage = Pick<ConsumedMessage, 'topicName' | 'payload'>

export interface PublishObserver {
  /**
   * Told of each message right after it was routed, of QoS 1 and 2 once they are owned. Must not
   * throw, nor take long.
   */
  observe(message: RoutedMessage): void
}

/** A message of the service's own. */
export interface OwnMessage {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly properties?: MessageProperties
}

/** How other rooms publish: judged by nobody, routed like any other message. */
export interface Publisher {
  /**
   * Resolves when the engine owns it (QoS 1 and 2) or at once (QoS 0); rejects when the engine
   * can't own it.
   */
  publish(message: OwnMessage): Promise<void>
}

/**
 * What became of a message given to one reader. Told at most once, never within `dispatch` itself.
 */
export interface DispatchWatcher {
  /** The reader has acknowledged it (at QoS 0: it was written to its connection). */
  acknowledged(): void
  /** The reader's Session ended before it did; nobody holds the message any more. */
  abandoned(): void
}

export type Dispatched = 'sent' | 'no reader' | 'no room'

/** Which readers may have a message, by whose they are. */
export type ReaderFilter = (reader: { readonly tenant: string; readonly identity: string }) => boolean

/**
 * Hands a message that its caller owns to one reader: not by way of the log, and kept for nobody
 * who is away. A reader that goes away with the message in flight and keeps its Session gets it
 * again when it returns, like any message.
 */
export interface Dispatcher {
  /**
   * To one connected Session that subscribes to the Topic Name, that may receive it and that has
   * room; at the QoS of its subscription. `no reader`: nobody is connected for it. `no room`:
   * somebody is, and can't take more now. Only readers for which `isFor` is true count; all where
   * it is missing.
   */
  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched
}

/**
 * Told when a Session is there to be dispatched to: it subscribed, came back, or has room again.
 */
export interface ReaderListener {
  /**
   * The Topic Filters that it reads, without `$share/{ShareName}/`. Must not throw, nor take long.
   */
  readerReady(topicFilters: readonly string[]): void
}
