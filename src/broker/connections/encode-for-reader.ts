/**
 * Encodes a PUBLISH that only one reader gets: with its Subscription Identifiers, its Topic Alias,
 * and the rest of the message's time.
 */
import type { PublishProperties, QoS } from '../../mqtt/packet.ts'
import { encodePublish } from '../../mqtt/publish.ts'
import type { EncodedPublish } from '../../mqtt/publish.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Message } from '../ports/message.ts'
import type { OutgoingTopicAliases } from './topic-aliases.ts'

export interface ReaderForm {
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  readonly subscriptionIdentifiers: readonly number[] | undefined
  readonly aliases: OutgoingTopicAliases | undefined
  readonly maximumPacketSizeBytes: number
  readonly now: SteadyMs
}

/**
 * Encodes for MQTT 5 alone. Undefined when the packet is larger than the reader takes
 * [MQTT-3.1.2-24].
 */
export function encodeForReader(message: Message, form: ReaderForm): EncodedPublish | undefined {
  const { qos, retain, dup, subscriptionIdentifiers, aliases } = form
  const properties: { -readonly [Name in keyof PublishProperties]: PublishProperties[Name] } = { ...message.properties }
  if (message.expiresAtMs !== Infinity) {
    // The rest of the message's time [MQTT-3.3.2-6]; 0 when it expired in flight and is sent again
    // [MQTT-4.3.3-7].
    properties.messageExpiryIntervalSeconds = Math.ceil(Math.max(0, message.expiresAtMs - form.now) / 1000)
  }
  if (subscriptionIdentifiers !== undefined) properties.subscriptionIdentifiers = subscriptionIdentifiers
  const alias = aliases?.use(message.topicName)
  if (alias !== undefined) properties.topicAlias = alias.topicAlias
  const topicName = alias?.isKnown === true ? '' : message.topicName
  const encoded = encodePublish({ topicName, payload: message.payload, qos, retain, dup, properties }, 5)
  if (encoded.bytes.length <= form.maximumPacketSizeBytes) return encoded
  // The packet is not sent, so the client does not learn the alias.
  if (alias?.isKnown === false) aliases?.takeBack(message.topicName)
  return undefined
}
