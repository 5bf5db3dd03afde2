/**
 * PUBLISH: the faults that end the connection (limits, an unknown Topic Alias, Receive Maximum) and
 * a QoS 2 message that comes again. Everything else is the subject of `publishing/`.
 */
import type { IncomingPublish } from '../../mqtt/incoming-publish.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import type { ReceivedPublish } from '../sessions/session.ts'
import type { HandlerParts } from './handler-parts.ts'

type PublishParts = Pick<HandlerParts, 'limits' | 'counters' | 'publishing'>

export function handlePublish(
  { limits, counters, publishing }: PublishParts,
  connection: Connection,
  packet: IncomingPublish,
): Promise<void> | undefined {
  counters.publishesReceived += 1
  if (packet.qos > limits.maximumQoS) {
    connection.disconnect(ReasonCodes.qosNotSupported, 'QoS above the maximum', 'qos_not_supported') // [MQTT-3.2.2-11]
    return undefined
  }
  if (packet.retain && !limits.retainAvailable) {
    connection.disconnect(ReasonCodes.retainNotSupported, 'retained messages are not available', 'retain_not_supported') // [MQTT-3.2.2-14]
    return undefined
  }
  const topicAlias = packet.properties?.topicAlias
  if (topicAlias !== undefined && topicAlias > limits.topicAliasMaximum) {
    connection.disconnect(ReasonCodes.topicAliasInvalid, 'the Topic Alias is above the maximum', 'topic_alias_invalid') // [MQTT-3.3.2-9]
    return undefined
  }
  const topic = connection.resolveTopic(packet.topic, topicAlias)
  if (topic === undefined) {
    connection.disconnect(ReasonCodes.protocolError, 'the Topic Alias is not known', 'topic_alias_unknown') // MQTT 5.0 §3.3.2.3.4
    return undefined
  }
  if (packet.qos > 0) {
    const { session } = connection
    const known = packet.qos === 2 ? session.received.get(packet.packetId) : undefined
    if (known?.connectionEpoch !== session.connectionEpoch && isAtReceiveMaximum(connection)) {
      connection.disconnect(
        ReasonCodes.receiveMaximumExceeded,
        'more than Receive Maximum unacknowledged',
        'receive_maximum',
      ) // [MQTT-3.3.4-7]
      return undefined
    }
    if (known !== undefined) {
      answerAgain(connection, packet.packetId, known)
      return undefined
    }
  }
  return publishing.receive(connection, packet, topic)
}

/** MQTT 3.1.1 has no Receive Maximum. */
function isAtReceiveMaximum({ protocolVersion, window, receiveMaximum }: Connection): boolean {
  return protocolVersion === 5 && window.unacknowledged >= receiveMaximum
}

/** A QoS 2 PUBLISH that is here already is not delivered again [MQTT-4.3.3-10]. */
function answerAgain(connection: Connection, packetId: number, known: ReceivedPublish): void {
  const { session } = connection
  if (known.connectionEpoch !== session.connectionEpoch) {
    known.connectionEpoch = session.connectionEpoch
    connection.window.accepted()
  }
  // While the engine does not own the message yet, its PUBREC is still to come.
  if (known.isOwned) connection.sendAcknowledgement('pubrec', packetId)
}
