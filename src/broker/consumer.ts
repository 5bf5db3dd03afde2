/** The consumer port: a room that judges published messages of its own topics before they are owned and acknowledged. */
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
