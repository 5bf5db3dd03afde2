/** UNSUBSCRIBE: one Reason Code a Topic Filter, in order [MQTT-3.10.4-5]. */
import type { UnsubscribePacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import { splitReplayFilter } from './replay.ts'
import { saveSession } from './save-session.ts'
import type { HandlerParts } from './handler-parts.ts'

export function handleUnsubscribe(
  { sessions, store }: Pick<HandlerParts, 'sessions' | 'store'>,
  connection: Connection,
  packet: UnsubscribePacket,
): Promise<void> | undefined {
  const { session } = connection
  const reasonCodes = packet.topicFilters.map((topicFilter) =>
    sessions.unsubscribe(session, splitReplayFilter(topicFilter).topicFilter)
      ? ReasonCodes.success
      : ReasonCodes.noSubscriptionExisted,
  )
  const told = (): void => {
    if (!connection.isClosed) connection.send({ type: 'unsuback', packetId: packet.packetId, reasonCodes })
  }
  // A removal that can't be stored now is stored with the next checkpoint. Nothing more is sent for
  // the subscription, and a crash before the checkpoint brings back no more than a subscription.
  return saveSession(store, session, told, told)
}
