/** What a refused PUBLISH is answered, where the protocol has a place for it. */
import type { PublishPacket } from '../mqtt/packet.ts'
import type { ReasonCode } from '../mqtt/reason-codes.ts'
import type { Broker } from './broker.ts'
import type { Connection } from './connection.ts'
import type { Refusal } from './policy.ts'

/** What is needed of a PUBLISH once it was read. */
export type ReadPublish = Pick<PublishPacket, 'topicName' | 'qos' | 'packetId' | 'dup'>

/** A refusal by the broker itself; a client that no acknowledgement can tell is closed. */
export function refusal(reasonCode: ReasonCode, reason: string, code: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
}

/** A refused PUBLISH is told where the protocol has a place for it; elsewhere the connection is closed or the refusal counted. */
export function refusePublish(broker: Broker, connection: Connection, packet: ReadPublish, refused: Refusal): void {
  const { reasonCode, reason, code } = refused
  broker.counters.publishesRefused += 1
  const { topicName, qos } = packet
  broker.refused(connection, { kind: 'publish', code, reason, topic: topicName }, { topicName, reasonCode, qos })
  if (packet.qos > 0 && (connection.protocolVersion === 5 || refused.untold === 'discard')) {
    // A refused QoS 2 message is over with its PUBREC [MQTT-4.3.3-4].
    connection.sendAcknowledgement(packet.qos === 1 ? 'puback' : 'pubrec', packet.packetId, reasonCode, reason)
  } else if (refused.untold === 'close') connection.disconnect(reasonCode, reason, code)
}
