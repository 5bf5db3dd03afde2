/** SUBSCRIBE: one Reason Code a Topic Filter, in order; then the retained messages that go with the new subscriptions. */
import type { QoS, SubscribePacket, SubscriptionRequest } from '../mqtt/packet.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { ReasonCode } from '../mqtt/reason-codes.ts'
import { isValidTopicFilter, parseSharedSubscription } from '../mqtt/topic-filter.ts'
import type { Broker } from './broker.ts'
import type { Connection } from './connection.ts'
import { reasonCodeFor } from './reason-code-for.ts'
import type { Subscription } from './session.ts'

export function handleSubscribe(
  broker: Broker,
  connection: Connection,
  packet: SubscribePacket,
): Promise<void> | undefined {
  // What the client published before is in the log, and its retained messages in place, before it subscribes.
  if (connection.pendingPublishes > 0) return connection.settled().then(() => subscribeAll(broker, connection, packet))
  subscribeAll(broker, connection, packet)
  return undefined
}

interface Outcome {
  readonly reasonCode: ReasonCode
  readonly reason?: string
  /** Set when it was granted and its retained messages are to be sent. */
  readonly subscription?: Subscription
}

function subscribeAll(broker: Broker, connection: Connection, packet: SubscribePacket): void {
  if (connection.isClosed) return
  const outcomes = packet.subscriptions.map((request) => subscribe(broker, connection, packet, request))
  connection.send({
    type: 'suback',
    packetId: packet.packetId,
    reasonCodes: outcomes.map(({ reasonCode }) => reasonCode), // [MQTT-3.8.4-6]
    properties: connection.reasonProperties(outcomes.find(({ reason }) => reason !== undefined)?.reason),
  })
  for (const { subscription } of outcomes) {
    if (subscription === undefined) continue
    const messages = broker.retained.match(subscription.topicFilter, broker.clock.now())
    if (messages.length > 0) broker.delivery.sendRetained(connection.session, messages, subscription)
  }
}

function subscribe(
  broker: Broker,
  connection: Connection,
  packet: SubscribePacket,
  request: SubscriptionRequest,
): Outcome {
  const { session, permit } = connection
  const { limits } = broker
  const { topicFilter } = request
  const refuse = (reasonCode: ReasonCode, reason: string, code: string): Outcome => {
    broker.counters.subscribesRefused += 1
    broker.refused('subscribe', connection, code, { topicFilter, reasonCode })
    return { reasonCode: reasonCodeFor('suback', reasonCode), reason: `${topicFilter}: ${reason}` }
  }
  if (!isValidTopicFilter(topicFilter) || !broker.isTopicFilterWithinLimits(topicFilter)) {
    return refuse(
      ReasonCodes.topicFilterInvalid,
      'not a valid Topic Filter, or too long or deep',
      'topic_filter_invalid',
    )
  }
  const shared = parseSharedSubscription(topicFilter)
  if (shared === 'invalid') {
    return refuse(ReasonCodes.topicFilterInvalid, 'not a valid shared subscription', 'topic_filter_invalid') // [MQTT-4.8.2-1], [MQTT-4.8.2-2]
  }
  const decision = permit.maySubscribe(shared?.topicFilter ?? topicFilter)
  if (!decision.allowed) return refuse(decision.reasonCode, decision.reason, decision.code)
  const known = session.subscriptions.get(topicFilter)
  if (known === undefined && session.subscriptions.size >= limits.maximumSubscriptionsPerSession) {
    return refuse(ReasonCodes.quotaExceeded, 'too many subscriptions of this Session', 'too_many_subscriptions')
  }
  const qos = Math.min(request.qos, limits.maximumQoS) as QoS
  const subscription: Subscription = {
    topicFilter,
    qos,
    noLocal: request.noLocal,
    retainAsPublished: request.retainAsPublished,
    subscriptionIdentifier: packet.properties?.subscriptionIdentifier,
    group:
      shared === undefined ? undefined : broker.sessions.group(permit.tenant, shared.shareName, shared.topicFilter),
    // What waits for the subscription that it replaces is not lost [MQTT-3.8.4-4].
    since: known !== undefined && known.qos > 0 ? known.since : broker.delivery.beginnings(session, topicFilter),
  }
  const isNew = broker.sessions.subscribe(session, subscription)
  // Shared subscriptions get no retained messages; Retain Handling decides for the others [MQTT-3.3.1-9], [MQTT-3.3.1-10], [MQTT-3.3.1-11].
  const wantsRetained =
    shared === undefined && (request.retainHandling === 0 || (request.retainHandling === 1 && isNew))
  return wantsRetained ? { reasonCode: qos, subscription } : { reasonCode: qos }
}
