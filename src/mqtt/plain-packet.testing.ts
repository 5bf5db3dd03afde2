/** Packets as plain values, to be compared. */
import { IncomingPublish } from './incoming-publish.ts'
import type { Packet } from './packet.ts'

/** The packet without its place in a chunk, and without what is known of its Topic Name. */
export function plainPacket(packet: Packet): Packet {
  if (!(packet instanceof IncomingPublish)) return packet
  const { type, topicName, payload, qos, retain, dup, packetId, properties } = packet
  return { type, topicName, payload, qos, retain, dup, packetId, properties }
}
