/** Ports for rooms that take part in a PUBLISH: consumers judge it before it is owned and acknowledged, an observer sees it pass. */
import type { QoS } from '../mqtt/packet.ts'
import type { Decision } from './policy.ts'

/** What a consumer sees of a PUBLISH. The payload is a view; copy what must outlive the call. */
export interface ConsumedMessage {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
}

export interface PublishConsumer {
  /** True for the Topic Names that this consumer judges; asked for each PUBLISH, so it must be cheap. */
  wants(topicName: string): boolean
  /** Consent lets the message be routed; a refusal is the sender's answer. */
  consume(message: ConsumedMessage): Decision | Promise<Decision>
}

/** What an observer sees of a message that is on its way. The payload is a view; copy what must outlive the call. */
export type RoutedMessage = Pick<ConsumedMessage, 'topicName' | 'payload'>

export interface PublishObserver {
  /** Told of each message right after it was routed, of QoS 1 and 2 once they are owned. Must not throw, nor take long. */
  observe(message: RoutedMessage): void
}
