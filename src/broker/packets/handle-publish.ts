/**
 * PUBLISH: limits, alias, permit, consumers, transformer, then ownership, then exactly one
 * acknowledgement.
 */
import { isUtf8 } from 'node:buffer'
import type { MessageProperties, PublishPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Broker } from '../broker.ts'
import type { Connection } from '../connections/connection.ts'
import { Message, expiryOf } from '../ports/message.ts'
import type { MessageFields } from '../ports/message.ts'
import type { Sender } from '../ports/consumer.ts'
import { Custody } from '../publishing/custody.ts'
import type { Decision, Permit, Refusal } from '../ports/policy.ts'
import { holdBack } from '../publishing/hold-back.ts'
import { refusal, refusePublish, retainedFaultOf, unretainable } from '../publishing/refuse-publish.ts'
import type { ReceivedPublish } from '../sessions/session.ts'

export function handlePublish(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
): Promise<void> | undefined {
  broker.counters.publishesReceived += 1
  const { limits } = broker
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
  const topicName = connection.resolveTopicName(packet.topicName, topicAlias)
  if (topicName === undefined) {
    connection.disconnect(ReasonCodes.protocolError, 'the Topic Alias is not known', 'topic_alias_unknown') // MQTT 5.0 §3.3.2.3.4
    return undefined
  }
  if (packet.qos > 0) {
    const { session } = connection
    const known = packet.qos === 2 ? session.received.get(packet.packetId) : undefined
    const isCounted = known?.connections === session.connections
    // MQTT 3.1.1 knows no such bound.
    if (
      !isCounted &&
      connection.protocolVersion === 5 &&
      connection.unacknowledgedPublishes >= connection.receiveMaximum
    ) {
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
    if (connection.pendingPublishes >= limits.receiveMaximum) {
      const goOn = (): Promise<void> | undefined => accept(broker, connection, packet, topicName)
      return connection.settled().then(() => inOrder(connection, goOn))
    }
  }
  return accept(broker, connection, packet, topicName)
}

/** A QoS 2 PUBLISH that is here already: not delivered again [MQTT-4.3.3-10]. */
function answerAgain(connection: Connection, packetId: number, known: ReceivedPublish): void {
  const { session } = connection
  if (known.connections !== session.connections) {
    known.connections = session.connections
    connection.unacknowledgedPublishes += 1
  }
  // While the engine does not own it yet, the PUBREC is still to come.
  if (known.isOwned) connection.sendAcknowledgement('pubrec', packetId)
}

/** Runs it when nothing of the connection waits for room any more, which it must not overtake. */
function inOrder(connection: Connection, run: () => Promise<void> | undefined): Promise<void> | undefined {
  const over = connection.backPressure?.over
  return over === undefined ? run() : over.then(() => inOrder(connection, run))
}

function accept(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
): Promise<void> | undefined {
  if (connection.isClosed) return undefined
  const fault = faultOf(broker, connection, packet, topicName)
  if (fault !== undefined) {
    refusePublish(broker, connection, packet, fault)
    return undefined
  }
  const decision = judge(broker, connection, packet, topicName)
  if (decision instanceof Promise) {
    const consumer = packet.qos > 0 ? broker.consumers.find((candidate) => candidate.wants(topicName)) : undefined
    if (consumer?.keepsOrder !== true) {
      return decision.then((settled) =>
        inOrder(connection, () => conclude(broker, connection, packet, topicName, settled)),
      )
    }
    judgeBeside(broker, connection, packet, topicName, decision)
    return undefined
  }
  return conclude(broker, connection, packet, topicName, decision)
}

/** The message is judged while the connection goes on. */
function judgeBeside(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
  deciding: Promise<Decision>,
): void {
  const { qos, packetId, dup } = packet
  const message = messageOf(broker, connection, packet, topicName)
  // Its chunk is gone when the decision comes.
  message.keep()
  const custody = new Custody(broker, connection, { topicName, qos, packetId, dup })
  connection.pendingPublishes += 1
  void deciding
    .catch((error: unknown): Refusal => {
      broker.log.error({ err: error, clientId: connection.clientId, topicName }, 'publish.failed')
      return refusal(ReasonCodes.unspecifiedError, 'the server failed on this message', 'internal')
    })
    .then((decision) => {
      connection.publishSettled()
      const refused = decision.allowed ? unretainable(broker, connection, message) : decision
      if (decision.allowed && decision.taken === true) custody.taken()
      else if (refused === undefined) custody.own(message)
      else custody.refuse(refused)
    })
}

/** What the packet alone says against it. */
function faultOf(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
): Refusal | undefined {
  if (!broker.isTopicNameWithinLimits(topicName)) {
    return refusal(ReasonCodes.topicNameInvalid, 'the Topic Name is too long or too deep', 'topic_name_invalid')
  }
  if (packet.properties?.payloadFormatIndicator === 1 && !isUtf8(packet.payload)) {
    return refusal(ReasonCodes.payloadFormatInvalid, 'the payload is not the UTF-8 that it says', 'payload_not_utf8')
  }
  return connection.backPressure === undefined ? retainedFaultOf(broker, packet, topicName) : undefined
}

/** The permit, then the consumers of the topic; the first refusal counts. */
function judge(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
): Decision | Promise<Decision> {
  const permitted = connection.permit.mayPublish(topicName)
  if (permitted instanceof Promise) {
    return permitted.then((decision) =>
      decision.allowed ? consult(broker, connection, packet, topicName, decision) : decision,
    )
  }
  return permitted.allowed ? consult(broker, connection, packet, topicName, permitted) : permitted
}

function consult(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
  permitted: Decision,
): Decision | Promise<Decision> {
  for (const consumer of broker.consumers) {
    // A topic has one consumer.
    if (consumer.wants(topicName)) {
      return consumer.consume({
        topicName,
        payload: packet.payload,
        qos: packet.qos,
        retain: packet.retain,
        properties: messageProperties(packet),
        sender: senderOf(connection.permit),
      })
    }
  }
  return permitted
}

function senderOf(permit: Permit): Sender {
  const { tenant, identity } = permit
  return { tenant, identity, maySubscribe: (topicName) => permit.maySubscribe(topicName).allowed }
}

function conclude(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
  decision: Decision,
): Promise<void> | undefined {
  if (connection.isClosed) return undefined
  if (!decision.allowed) {
    refusePublish(broker, connection, packet, decision)
    return undefined
  }
  if (decision.taken === true) {
    if (packet.qos > 0) new Custody(broker, connection, packet).taken()
    return undefined
  }
  const noticed = connection.permit.inspect?.(topicName, packet.payload, broker.second)
  if (noticed !== undefined) broker.noticed(connection, noticed)
  const message = messageOf(broker, connection, packet, topicName)
  // Others may have taken the room while this one was judged.
  const fault = unretainable(broker, connection, message)
  if (fault !== undefined) refusePublish(broker, connection, packet, fault)
  else if (broker.transformer?.holds(topicName) === true) {
    return holdBack(broker, broker.transformer, connection, packet, message)
  } else if (packet.qos === 0) broker.router.pass(message, connection.backPressure)
  else new Custody(broker, connection, packet).own(message)
  return undefined
}

function messageOf(broker: Broker, connection: Connection, packet: PublishPacket, topicName: string): Message {
  const fields: MessageFields = {
    topicName,
    payload: packet.payload,
    qos: packet.qos,
    retain: packet.retain,
    properties: messageProperties(packet),
    publisherKey: connection.session.key,
  }
  return new Message(fields, expiryOf(fields.properties, broker.clock))
}

/** The message's own properties: the Topic Alias is between us and its publisher. */
function messageProperties(packet: PublishPacket): MessageProperties | undefined {
  const { properties } = packet
  if (properties?.topicAlias === undefined) return properties
  const { topicAlias: _, ...own } = properties
  return own
}
