/** What a refused PUBLISH is answered, where the protocol has a place for it. */
import type { PublishPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Broker } from '../broker.ts'
import type { Connection } from '../connections/connection.ts'
import type { Message } from '../ports/message.ts'
import type { Refusal } from '../ports/policy.ts'

/** What is needed of a PUBLISH once it was read. */
export type ReadPublish = Pick<PublishPacket, 'topicName' | 'qos' | 'packetId' | 'dup'>

/** A refusal by the broker itself; a client that no acknowledgement can tell is closed. */
export function refusal(reasonCode: ReasonCode, reason: string, code: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
}

/** Reasons that are the same when the message comes again. */
const LASTING: ReadonlySet<ReasonCode> = new Set([
  ReasonCodes.notAuthorized,
  ReasonCodes.topicNameInvalid,
  ReasonCodes.payloadFormatInvalid,
])

/**
 * How often a message was refused before, when it is let go. Some clients, MQTT.js for one, send it
 * again without DUP: then it is less sure that it is the same.
 */
const TIMES_WITH_DUP = 1
const TIMES_WITHOUT_DUP = 2

/**
 * A refused PUBLISH is told where the protocol has a place for it; elsewhere the connection is
 * closed or the refusal counted. A client of MQTT 3.1.1 that is closed sends an unacknowledged
 * message again whenever it comes back. Then the message is acknowledged and dropped
 * [MQTT311-3.3.5-2], or the client would never get past it.
 */
export function refusePublish(broker: Broker, connection: Connection, packet: ReadPublish, refused: Refusal): void {
  const { reasonCode, reason, code } = refused
  const { topicName, qos, packetId } = packet
  broker.counters.publishesRefused += 1
  broker.refused(connection, { kind: 'publish', code, reason, topic: topicName }, { topicName, reasonCode, qos })
  const isTold = connection.protocolVersion === 5 || refused.untold === 'discard'
  if (qos > 0 && (isTold || isRepeated(broker, connection, packet, reasonCode))) {
    // A refused QoS 2 message is over with its PUBREC [MQTT-4.3.3-4].
    connection.sendAcknowledgement(qos === 1 ? 'puback' : 'pubrec', packetId, reasonCode, reason)
  } else if (refused.untold === 'close') connection.endWhenRead(reasonCode, reason, code)
}

function isRepeated(broker: Broker, connection: Connection, packet: ReadPublish, reasonCode: ReasonCode): boolean {
  if (!LASTING.has(reasonCode)) return false
  const { permit: holder, clientId = '' } = connection
  const { packetId, topicName, dup } = packet
  const times = broker.repeatedPublishes.count({ holder, clientId, packetId, topicName }, broker.second)
  return times >= (dup ? TIMES_WITH_DUP : TIMES_WITHOUT_DUP)
}

/** Why there is no room to retain it; undefined where there is. */
export function retainedFaultOf(
  broker: Broker,
  { retain, payload, properties }: Pick<PublishPacket, 'retain' | 'payload' | 'properties'>,
  topicName: string,
): Refusal | undefined {
  if (!retain || payload.length === 0 || broker.retained.hasRoom({ topicName, payload, properties })) return undefined
  return refusal(ReasonCodes.quotaExceeded, 'no room for another retained message', 'retained_quota')
}

/**
 * No room to retain the message: why it is refused. A connection that waits for what passes loses
 * no message by this: it goes on, and is not retained.
 */
export function unretainable(broker: Broker, connection: Connection, message: Message): Refusal | undefined {
  const { topicName, qos } = message
  const fault = retainedFaultOf(broker, message, topicName)
  if (fault === undefined || connection.backPressure === undefined) return fault
  const { reasonCode, reason, code } = fault
  broker.refused(connection, { kind: 'publish', code, reason, topic: topicName }, { topicName, reasonCode, qos })
  message.retain = false
  return undefined
}
