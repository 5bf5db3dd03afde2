/**
 * A message that waits for its transformer, while its connection goes on. What was accepted is
 * routed, even if its publisher has left.
 */
import type { Broker } from '../broker.ts'
import type { Connection } from '../connections/connection.ts'
import type { HeldMessage, PublishTransformer } from '../ports/consumer.ts'
import { Custody } from './custody.ts'
import type { Message } from '../ports/message.ts'
import type { PublishPacket } from '../../mqtt/packet.ts'
import { refusePublish, unretainable } from './refuse-publish.ts'
import type { ReadPublish } from './refuse-publish.ts'

/**
 * Gives the message to the transformer; a promise when nothing more may be read from the connection
 * for a while.
 */
export function holdBack(
  broker: Broker,
  transformer: PublishTransformer,
  connection: Connection,
  { topicName, qos, packetId, dup }: PublishPacket,
  message: Message,
): Promise<void> | undefined {
  message.keep()
  // Without the payload, which would keep the chunk alive that it came in.
  const held = new HeldPublish(broker, connection, { topicName, qos, packetId, dup }, message)
  const waits = transformer.transform(held, (payload) => held.goOn(payload))
  // MQTT 5 has its own bound for messages that are to be acknowledged.
  if (qos > 0 && connection.protocolVersion === 5 && connection.backPressure === undefined) return waits
  const hasRoom = connection.roomToHold()
  return hasRoom === undefined || waits === undefined ? (hasRoom ?? waits) : waits.then(() => hasRoom)
}

class HeldPublish implements HeldMessage {
  readonly #broker: Broker
  readonly #connection: Connection
  readonly #packet: ReadPublish
  readonly #message: Message
  readonly #custody: Custody | undefined

  constructor(broker: Broker, connection: Connection, packet: ReadPublish, message: Message) {
    this.#broker = broker
    this.#connection = connection
    this.#packet = packet
    this.#message = message
    this.#custody = packet.qos === 0 ? undefined : new Custody(broker, connection, packet)
    connection.heldPublishes += 1
  }

  get topicName(): string {
    return this.#message.topicName
  }

  get payload(): Buffer {
    return this.#message.payload
  }

  get room(): number {
    return this.#broker.limits.receiveMaximum - this.#connection.heldPublishes
  }

  get isShared(): boolean {
    return this.#connection.permit.backPressure !== 'own'
  }

  get isGone(): boolean {
    return this.#connection.isClosed && this.#comesAgain
  }

  giveBack(): boolean {
    if (!this.#comesAgain) return false
    this.#connection.heldSettled()
    return true
  }

  goOn(payload: Buffer): void {
    const connection = this.#connection
    const message = this.#message
    const custody = this.#custody
    connection.heldSettled()
    message.payload = payload
    // Others may have taken the room of a retained message meanwhile.
    const fault = unretainable(this.#broker, connection, message)
    const { backPressure } = connection
    if (fault !== undefined) {
      if (custody === undefined) refusePublish(this.#broker, connection, this.#packet, fault)
      else custody.refuse(fault)
    } else if (backPressure?.over !== undefined) {
      // It must not overtake what waits.
      if (custody === undefined) backPressure.holdUntold(message)
      else backPressure.hold(message, custody)
    } else if (custody === undefined) this.#broker.router.pass(message, backPressure)
    else custody.own(message)
  }

  /** A message of QoS 2 that comes again is not accepted again: this one goes on. */
  get #comesAgain(): boolean {
    const { backPressure, session } = this.#connection
    return backPressure !== undefined && this.#packet.qos === 1 && session.expirySeconds > 0
  }
}
