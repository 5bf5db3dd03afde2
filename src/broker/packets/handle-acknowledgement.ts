/** PUBACK, PUBREC, PUBREL and PUBCOMP: the ends of QoS 1 and 2, both ways (MQTT 5.0 §4.3). */
import type { AcknowledgementPacket } from '../../mqtt/packet.ts'
import { ReasonCodes, isFailure } from '../../mqtt/reason-codes.ts'
import type { Connection } from '../connections/connection.ts'
import type { HandlerParts } from './handler-parts.ts'

type AcknowledgementParts = Pick<HandlerParts, 'store' | 'delivery'>

export function handlePuback(
  { store, delivery }: AcknowledgementParts,
  connection: Connection,
  packet: AcknowledgementPacket,
): void {
  const { session } = connection
  const entry = session.inflight.get(packet.packetId)
  // The Packet Identifier is not in use: the client acknowledged it on an earlier connection, or
  // the message was never sent. There is nothing to do.
  if (entry === undefined) return
  if (entry.qos !== 1) {
    connection.disconnect(ReasonCodes.protocolError, 'PUBACK for a QoS 2 message', 'wrong_acknowledgement')
    return
  }
  // A failure ends the message too: the client has it, and won't take it [MQTT-4.8.2-6].
  session.settle(entry)
  store?.settled(session, entry)
  entry.watcher?.acknowledged()
  delivery.wake(session)
}

export function handlePubrec(
  { store, delivery }: AcknowledgementParts,
  connection: Connection,
  packet: AcknowledgementPacket,
): void {
  const { session } = connection
  const entry = session.inflight.get(packet.packetId)
  if (entry === undefined) {
    connection.sendAcknowledgement('pubrel', packet.packetId, ReasonCodes.packetIdentifierNotFound)
    return
  }
  if (entry.qos !== 2) {
    connection.disconnect(ReasonCodes.protocolError, 'PUBREC for a QoS 1 message', 'wrong_acknowledgement')
    return
  }
  if (isFailure(packet.reasonCode)) {
    session.settle(entry) // [MQTT-4.4.0-2]
    store?.settled(session, entry)
    entry.watcher?.acknowledged()
    delivery.wake(session)
    return
  }
  const release = (): void => {
    if (entry.awaiting === 'publish') entry.watcher?.acknowledged()
    entry.awaiting = 'pubrel'
    if (session.connection === connection) connection.sendAcknowledgement('pubrel', packet.packetId) // [MQTT-4.3.3-4]
  }
  if (entry.offset >= 0 && store?.keeps(session) === true) store.releasing(session, entry, release)
  else release()
}

export function handlePubrel(
  { store }: AcknowledgementParts,
  connection: Connection,
  packet: AcknowledgementPacket,
): void {
  const { session } = connection
  const known = session.received.get(packet.packetId)
  if (known?.isOwned === false) {
    connection.disconnect(ReasonCodes.protocolError, 'PUBREL before PUBREC', 'wrong_acknowledgement')
    return
  }
  const { packetId } = packet
  if (known === undefined) {
    connection.sendAcknowledgement('pubcomp', packetId, ReasonCodes.packetIdentifierNotFound) // [MQTT-4.3.3-11]
    return
  }
  const complete = (): void => {
    if (session.received.get(packetId) === known) {
      session.release(packetId)
      const { connection: asking } = session
      if (asking !== undefined && known.connectionEpoch === session.connectionEpoch) asking.window.answered()
    }
    if (!connection.isClosed) connection.sendAcknowledgement('pubcomp', packetId) // [MQTT-4.3.3-11]
  }
  // Until the engine has forgotten the message, the Packet Identifier means it, even when the
  // PUBREL comes again.
  if (store?.keeps(session) === true) store.released(session, packetId, complete)
  else complete()
}

export function handlePubcomp(
  { store, delivery }: AcknowledgementParts,
  connection: Connection,
  packet: AcknowledgementPacket,
): void {
  const { session } = connection
  const entry = session.inflight.get(packet.packetId)
  if (entry === undefined) return
  if (entry.qos !== 2 || entry.awaiting !== 'pubrel') {
    connection.disconnect(ReasonCodes.protocolError, 'PUBCOMP without PUBREL', 'wrong_acknowledgement')
    return
  }
  session.settle(entry)
  store?.settled(session, entry)
  delivery.wake(session)
}
