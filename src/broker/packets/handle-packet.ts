/**
 * The one door for packets: it checks which packets are allowed at present, and calls their
 * handlers.
 */
import type { IncomingClientPacket } from '../../mqtt/packet-reader.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import { handlePuback, handlePubcomp, handlePubrec, handlePubrel } from './handle-acknowledgement.ts'
import { handleAuth } from './handle-auth.ts'
import { handleConnect } from './handle-connect.ts'
import { handleDisconnect } from './handle-disconnect.ts'
import { handlePublish } from './handle-publish.ts'
import { handleSubscribe } from './handle-subscribe.ts'
import { handleUnsubscribe } from './handle-unsubscribe.ts'
import type { HandlerParts } from './handler-parts.ts'

/** Handles one packet; a promise when the next one has to wait for it. */
export function handlePacket(
  parts: HandlerParts,
  connection: Connection,
  packet: IncomingClientPacket,
): Promise<void> | undefined {
  if (packet.type === 'connect') return handleConnect(parts, connection, packet)
  if (!connection.isConnected) {
    connection.disconnect(ReasonCodes.protocolError, 'the first packet must be CONNECT', 'connect_expected') // [MQTT-3.1.0-1]
    return undefined
  }
  switch (packet.type) {
    case 'publish':
      return handlePublish(parts, connection, packet)
    case 'puback':
      handlePuback(parts, connection, packet)
      return undefined
    case 'pubrec':
      handlePubrec(parts, connection, packet)
      return undefined
    case 'pubrel':
      handlePubrel(parts, connection, packet)
      return undefined
    case 'pubcomp':
      handlePubcomp(parts, connection, packet)
      return undefined
    case 'subscribe':
      return handleSubscribe(parts, connection, packet)
    case 'unsubscribe':
      return handleUnsubscribe(parts, connection, packet)
    case 'pingreq':
      connection.answerPing()
      return undefined
    case 'disconnect':
      handleDisconnect(parts, connection, packet)
      return undefined
    case 'auth':
      return handleAuth(parts, connection, packet)
  }
}
