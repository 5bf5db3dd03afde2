/** SUBSCRIBE (MQTT 5.0 §3.8, MQTT 3.1.1 §3.8). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter } from './packet-writer.ts'
import type { ProtocolVersion, QoS, SubscribePacket, SubscriptionRequest } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes } from './reason-codes.ts'
import { isValidTopicFilter, parseSharedSubscription } from './topic-filter.ts'
import { utf8Size } from './utf8.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

/**
 * Topic Filters of one SUBSCRIBE or UNSUBSCRIBE; a packet with more is refused by 0x97. A packet is
 * handled in one turn of the event loop: two hundred thousand short Topic Filters in a megabyte
 * would hold up all other clients for half a second.
 */
export const MAXIMUM_TOPIC_FILTERS = 1_000

/**
 * Reads a SUBSCRIBE. Its Topic Filters are valid, in MQTT 5 also the shared ones. MQTT 3.1.1 has no
 * shared subscriptions: there `parseSharedSubscription` may still return 'invalid'.
 */
export function decodeSubscribe(cursor: PacketCursor, protocolVersion: ProtocolVersion): SubscribePacket {
  const packetId = cursor.readPacketId()
  const properties = protocolVersion === 5 ? decodeProperties(cursor, 'subscribe') : undefined
  if (cursor.remaining === 0) cursor.protocolError('there is no Topic Filter') // [MQTT-3.8.3-2] [MQTT311-3.8.3-3]
  const subscriptions: SubscriptionRequest[] = []
  while (cursor.remaining > 0) {
    if (subscriptions.length === MAXIMUM_TOPIC_FILTERS) refuseTooMany(cursor)
    subscriptions.push(protocolVersion === 5 ? readSubscription5(cursor) : readSubscription4(cursor))
  }
  return { type: 'subscribe', packetId, subscriptions, properties }
}

export function refuseTooMany(cursor: PacketCursor): never {
  return cursor.fail(ReasonCodes.quotaExceeded, `there are more than ${MAXIMUM_TOPIC_FILTERS} Topic Filters`)
}

/** Reads a Topic Filter of SUBSCRIBE or UNSUBSCRIBE. */
export function readTopicFilter(cursor: PacketCursor): string {
  const topicFilter = cursor.readUtf8('a Topic Filter') // [MQTT-3.8.3-1] [MQTT-3.10.3-1] [MQTT311-3.8.3-1]
  // [MQTT-4.7.1-1] [MQTT-4.7.1-2] [MQTT-4.7.3-1] [MQTT311-4.7.1-2] [MQTT311-4.7.1-3]
  if (!isValidTopicFilter(topicFilter)) cursor.fail(ReasonCodes.topicFilterInvalid, 'a Topic Filter is not valid')
  return topicFilter
}

function readSubscription4(cursor: PacketCursor): SubscriptionRequest {
  const topicFilter = readTopicFilter(cursor)
  const qos = cursor.readUint8('a requested QoS')
  if (qos > 2) cursor.malformed('a requested QoS is above 2') // [MQTT311-3.8.3-4]
  return { topicFilter, qos: qos as QoS, noLocal: false, retainAsPublished: false, retainHandling: 0 }
}

function readSubscription5(cursor: PacketCursor): SubscriptionRequest {
  const topicFilter = readTopicFilter(cursor)
  const options = cursor.readUint8('Subscription Options')
  const qos = options & 3
  const noLocal = (options & 4) !== 0
  const retainHandling = (options >> 4) & 3
  if (options > 0x3f) cursor.malformed('a reserved bit of Subscription Options is set') // [MQTT-3.8.3-5]
  if (qos === 3) cursor.protocolError('a Maximum QoS is 3')
  if (retainHandling === 3) cursor.protocolError('a Retain Handling is 3')
  const shared = parseSharedSubscription(topicFilter)
  if (shared === 'invalid') {
    cursor.fail(ReasonCodes.topicFilterInvalid, 'a shared subscription is not valid') // [MQTT-4.8.2-1] [MQTT-4.8.2-2]
  }
  if (shared !== undefined && noLocal) cursor.protocolError('No Local on a shared subscription') // [MQTT-3.8.3-4]
  return {
    topicFilter,
    qos: qos as QoS,
    noLocal,
    retainAsPublished: (options & 8) !== 0,
    retainHandling: retainHandling as 0 | 1 | 2,
  }
}

/** Writes a SUBSCRIBE. For MQTT 3.1.1 only the QoS is left of the options. */
export function encodeSubscribe(packet: SubscribePacket, protocolVersion: ProtocolVersion): Buffer {
  const properties = protocolVersion === 5 ? propertiesSize('subscribe', packet.properties) : 0
  let size = 2
  if (protocolVersion === 5) size += variableByteIntegerSize(properties) + properties
  for (const { topicFilter } of packet.subscriptions) size += 3 + utf8Size(topicFilter)

  const writer = new PacketWriter(0x82, size) // [MQTT-3.8.1-1]
  writer.writeUint16(packet.packetId)
  if (protocolVersion === 5) writeProperties(writer, 'subscribe', packet.properties, properties)
  for (const subscription of packet.subscriptions) {
    writer.writeUtf8(subscription.topicFilter)
    writer.writeUint8(protocolVersion === 5 ? optionsOf(subscription) : subscription.qos)
  }
  return writer.finish()
}

function optionsOf({ qos, noLocal, retainAsPublished, retainHandling }: SubscriptionRequest): number {
  return qos | (noLocal ? 4 : 0) | (retainAsPublished ? 8 : 0) | (retainHandling << 4)
}
