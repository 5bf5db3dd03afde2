/** PUBLISH: limits, alias, permit, consumers, transformer, then ownership, then exactly one acknowledgement. */
import { isUtf8 } from 'node:buffer'
import type { MessageProperties, PublishPacket } from '../mqtt/packet.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { ReasonCode } from '../mqtt/reason-codes.ts'
import type { Broker } from './broker.ts'
import type { Connection } from './connection.ts'
import type { EngineFailure } from './engine.ts'
import { Message, expiryOf } from './message.ts'
import type { MessageFields } from './message.ts'
import type { PublishTransformer, Sender } from './consumer.ts'
import type { Decision, Permit, Refusal } from './policy.ts'
import type { MessageOwnerCallbacks } from './router.ts'
import type { ReceivedPublish, Session } from './session.ts'

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
    if (!isCounted && connection.protocolVersion === 5 && connection.unacknowledgedPublishes >= limits.receiveMaximum) {
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
      return connection.settled().then(() => accept(broker, connection, packet, topicName))
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

function accept(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
): Promise<void> | undefined {
  if (connection.isClosed) return undefined
  const fault = faultOf(broker, packet, topicName)
  if (fault !== undefined) {
    refuse(broker, connection, packet, fault)
    return undefined
  }
  const decision = judge(broker, connection, packet, topicName)
  if (decision instanceof Promise) {
    const consumer = packet.qos > 0 ? broker.consumers.find((candidate) => candidate.wants(topicName)) : undefined
    if (consumer?.keepsOrder !== true)
      return decision.then((settled) => conclude(broker, connection, packet, topicName, settled))
    judgeBeside(broker, connection, packet, topicName, decision)
    return undefined
  }
  conclude(broker, connection, packet, topicName, decision)
  return undefined
}

/** The message is judged while the connection goes on. */
function judgeBeside(
  broker: Broker,
  connection: Connection,
  packet: PublishPacket,
  topicName: string,
  deciding: Promise<Decision>,
): void {
  const { qos, packetId } = packet
  const message = messageOf(broker, connection, packet, topicName)
  // Its chunk is gone when the decision comes.
  message.keep()
  const custody = new Custody(broker, connection, { topicName, qos, packetId })
  connection.pendingPublishes += 1
  void deciding
    .catch((error: unknown): Refusal => {
      broker.log.error({ err: error, clientId: connection.clientId, topicName }, 'publish.failed')
      return refusal(ReasonCodes.unspecifiedError, 'the server failed on this message', 'internal')
    })
    .then((decision) => {
      connection.publishSettled()
      const refused = decision.allowed ? retainedFaultOf(broker, message, topicName) : decision
      if (decision.allowed && decision.taken === true) custody.taken()
      else if (refused === undefined) custody.own(message)
      else custody.refuse(refused)
    })
}

/** What the packet alone says against it. */
function faultOf(broker: Broker, packet: PublishPacket, topicName: string): Refusal | undefined {
  if (!broker.isTopicNameWithinLimits(topicName)) {
    return refusal(ReasonCodes.topicNameInvalid, 'the Topic Name is too long or too deep', 'topic_name_invalid')
  }
  if (packet.properties?.payloadFormatIndicator === 1 && !isUtf8(packet.payload)) {
    return refusal(ReasonCodes.payloadFormatInvalid, 'the payload is not the UTF-8 that it says', 'payload_not_utf8')
  }
  return retainedFaultOf(broker, packet, topicName)
}

function retainedFaultOf(
  broker: Broker,
  { retain, payload, properties }: Pick<PublishPacket, 'retain' | 'payload' | 'properties'>,
  topicName: string,
): Refusal | undefined {
  if (!retain || payload.length === 0 || broker.retained.hasRoom({ topicName, payload, properties })) return undefined
  return refusal(ReasonCodes.quotaExceeded, 'no room for another retained message', 'retained_quota')
}

function refusal(reasonCode: number, reason: string, code: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
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
): void {
  if (connection.isClosed) return
  if (!decision.allowed) {
    refuse(broker, connection, packet, decision)
    return
  }
  if (decision.taken === true) {
    if (packet.qos > 0) new Custody(broker, connection, packet).taken()
    return
  }
  // Others may have taken the room while this one was judged.
  const fault = retainedFaultOf(broker, packet, topicName)
  if (fault !== undefined) {
    refuse(broker, connection, packet, fault)
    return
  }
  const message = messageOf(broker, connection, packet, topicName)
  if (broker.transformer?.holds(topicName) === true) holdBack(broker, broker.transformer, connection, packet, message)
  else if (packet.qos === 0) broker.router.pass(message)
  else new Custody(broker, connection, packet).own(message)
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

/** The message waits for its transformer, and the connection goes on. What was accepted is routed, even if its publisher has left. */
function holdBack(
  broker: Broker,
  transformer: PublishTransformer,
  connection: Connection,
  packet: PublishPacket,
  message: Message,
): void {
  const { topicName, qos, packetId } = packet
  // Without the payload, which would keep the chunk alive that it came in.
  const kept: AcceptedPublish = { topicName, qos, packetId }
  message.keep()
  const custody = qos === 0 ? undefined : new Custody(broker, connection, kept)
  const isCounted = custody !== undefined && connection.protocolVersion === 5
  const room = isCounted ? broker.limits.receiveMaximum - connection.unacknowledgedPublishes : Infinity
  transformer.transform({ topicName: message.topicName, payload: message.payload, room }, (payload) => {
    message.payload = payload
    // Others may have taken the room of a retained message meanwhile.
    const fault = retainedFaultOf(broker, message, message.topicName)
    if (custody === undefined) {
      if (fault === undefined) broker.router.pass(message)
      else refuse(broker, connection, kept, fault)
    } else if (fault === undefined) custody.own(message)
    else custody.refuse(fault)
  })
}

/** What is needed of a PUBLISH once it is accepted. */
type AcceptedPublish = Pick<PublishPacket, 'topicName' | 'qos' | 'packetId'>

/** A QoS 1 or 2 PUBLISH from its acceptance until its publisher has been told. */
class Custody implements MessageOwnerCallbacks {
  readonly #broker: Broker
  readonly #connection: Connection
  readonly #session: Session
  readonly #packet: AcceptedPublish
  /** For QoS 2. */
  readonly #received: ReceivedPublish | undefined

  constructor(broker: Broker, connection: Connection, packet: AcceptedPublish) {
    const { session } = connection
    this.#broker = broker
    this.#connection = connection
    this.#session = session
    this.#packet = packet
    this.#received = packet.qos === 2 ? { isOwned: false, connections: session.connections } : undefined
    if (this.#received !== undefined) session.received.set(packet.packetId, this.#received)
    connection.unacknowledgedPublishes += 1
  }

  /** Gives the message to the engine. */
  own(message: Message): void {
    const { store } = this.#broker
    const { packetId } = this.#packet
    const session = this.#session
    this.#connection.pendingPublishes += 1
    this.#broker.router.own(message, this, this.#isRemembered ? store?.received(session, packetId) : undefined)
  }

  /** A consumer owns the message. */
  taken(): void {
    const { store } = this.#broker
    const acknowledge = (): void => this.#acknowledge(ReasonCodes.success)
    if (this.#isRemembered) store?.saveReceived(this.#session, this.#packet.packetId, acknowledge)
    else acknowledge()
  }

  owned(reached: boolean): void {
    this.#connection.publishSettled()
    this.#acknowledge(reached ? ReasonCodes.success : ReasonCodes.noMatchingSubscribers)
  }

  #acknowledge(reasonCode: ReasonCode): void {
    const { qos, packetId } = this.#packet
    if (this.#received === undefined) this.#connection.unacknowledgedPublishes -= 1
    else this.#received.isOwned = true
    const asking = this.#asking()
    if (asking === undefined || asking.isClosed) return
    asking.sendAcknowledgement(qos === 1 ? 'puback' : 'pubrec', packetId, reasonCode)
  }

  failed({ reasonCode, reason }: EngineFailure): void {
    this.#connection.publishSettled()
    this.refuse(refusal(reasonCode, reason, 'not_owned'))
  }

  /** Nobody owns the message: it is over. */
  refuse(refused: Refusal): void {
    const { packetId } = this.#packet
    const asking = this.#asking()
    if (this.#received !== undefined && this.#session.received.get(packetId) === this.#received) {
      this.#session.received.delete(packetId)
    }
    if (asking === undefined || asking.isClosed) return
    asking.unacknowledgedPublishes -= 1
    refuse(this.#broker, asking, this.#packet, refused)
  }

  /** Another Session of the same key may use the Packet Identifier by now: it is remembered for this one alone. */
  get #isRemembered(): boolean {
    const session = this.#session
    return this.#received !== undefined && !session.hasEnded && this.#broker.store?.keeps(session) === true
  }

  /** Who waits for the answer: with QoS 2 the client may have come back and asked again, or have given it up. */
  #asking(): Connection | undefined {
    const received = this.#received
    if (received === undefined) return this.#connection
    const session = this.#session
    const isAsked =
      received.connections === session.connections && session.received.get(this.#packet.packetId) === received
    return isAsked ? session.connection : undefined
  }
}

/** The message's own properties: the Topic Alias is between us and its publisher. */
function messageProperties(packet: PublishPacket): MessageProperties | undefined {
  const { properties } = packet
  if (properties?.topicAlias === undefined) return properties
  const { topicAlias: _, ...own } = properties
  return own
}

/** A refused PUBLISH is told where the protocol has a place for it; elsewhere the connection is closed or the refusal counted. */
function refuse(broker: Broker, connection: Connection, packet: AcceptedPublish, refused: Refusal): void {
  const { reasonCode, reason, code } = refused
  broker.counters.publishesRefused += 1
  const { topicName, qos } = packet
  broker.refused(connection, { kind: 'publish', code, reason, topic: topicName }, { topicName, reasonCode, qos })
  if (packet.qos > 0 && (connection.protocolVersion === 5 || refused.untold === 'discard')) {
    // A refused QoS 2 message is over with its PUBREC [MQTT-4.3.3-4].
    connection.sendAcknowledgement(packet.qos === 1 ? 'puback' : 'pubrec', packet.packetId, reasonCode, reason)
  } else if (refused.untold === 'close') connection.disconnect(reasonCode, reason, code)
}
