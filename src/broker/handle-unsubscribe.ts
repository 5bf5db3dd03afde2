/** UNSUBSCRIBE: one Reason Code a Topic Filter, in order [MQTT-3.10.4-5]. */
import type { UnsubscribePacket } from '../mqtt/packet.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { Broker } from './broker.ts'
import type { Connection } from './connection.ts'

export function handleUnsubscribe(broker: Broker, connection: Connection, packet: UnsubscribePacket): void {
  const { session } = connection
  const reasonCodes = packet.topicFilters.map((topicFilter) =>
    broker.sessions.unsubscribe(session, topicFilter) ? ReasonCodes.success : ReasonCodes.noSubscriptionExisted,
  )
  connection.send({ type: 'unsuback', packetId: packet.packetId, reasonCodes })
}
