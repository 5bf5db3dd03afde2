/** The one door for packets: what is allowed when, and who handles it. */
import type { ClientPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Broker } from '../broker.ts'
import type { Connection } from '../connections/connection.ts'
import { handlePuback, handlePubcomp, handlePubrec, handlePubrel } from './handle-acknowledgement.ts'
import { handleAuth } from './handle-auth.ts'
import { handleConnect } from './handle-connect.ts'
import { handleDisconnect } from './handle-disconnect.ts'
import { handlePublish } from './handle-publish.ts'
import { handleSubscribe } from './handle-subscribe.ts'
import { handleUnsubscribe } from './handle-unsubscribe.ts'

/** Handles one packet; a promise when the next one has to wait for it. */
export function handlePacket(broker: Broker, connection: Connection, packet: ClientPacket): Promise<void> | undefined {
  if (packet.type === 'connect') return handleConnect(broker, connection, packet)
  if (!connection.isConnected) {
    connection.disconnect(ReasonCodes.protocolError, 'the first packet must be CONNECT', 'connect_expected') // [MQTT-3.1.0-1]
    return undefined
  }
  switch (packet.type) {
    case 'publish':
      return handlePublish(broker, connection, packet)
    case 'puback':
      handlePuback(broker, connection, packet)
      return undefined
    case 'pubrec':
      handlePubrec(broker, connection, packet)
      return undefined
    case 'pubrel':
      handlePubrel(broker, connection, packet)
      return undefined
    case 'pubcomp':
      handlePubcomp(broker, connection, packet)
      return undefined
    case 'subscribe':
      return handleSubscribe(broker, connection, packet)
    case 'unsubscribe':
      return handleUnsubscribe(broker, connection, packet)
    case 'pingreq':
      connection.send({ type: 'pingresp' }) // [MQTT-3.12.4-1]
      return undefined
    case 'disconnect':
      handleDisconnect(broker, connection, packet)
      return undefined
    case 'auth':
      return handleAuth(broker, connection, packet)
  }
}
