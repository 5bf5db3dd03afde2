/** Steps of scenarios with single packets. */
import type { IPublishPacket } from 'mqtt-packet'
import { codeOf } from '../support/wire-client.ts'
import type { WireClient } from '../support/wire-client.ts'

/** Publishes a message to its end, which must be a success. */
export async function publishFully(
  client: WireClient,
  topicName: string,
  payload: string,
  { qos = 1, retain = false }: { readonly qos?: 0 | 1 | 2; readonly retain?: boolean } = {},
): Promise<void> {
  client.send(client.publishPacket(topicName, payload, qos, retain))
  if (qos === 0) return
  const answer = await client.next()
  if (answer?.cmd !== (qos === 1 ? 'puback' : 'pubrec') || codeOf(answer) >= 0x80) {
    throw new Error(`the answer to PUBLISH is ${JSON.stringify(answer)}`)
  }
  if (answer.cmd === 'puback') return
  client.send({ cmd: 'pubrel', messageId: answer.messageId as number })
  const end = await client.next()
  if (end?.cmd !== 'pubcomp') throw new Error(`in the place of PUBCOMP: ${JSON.stringify(end)}`)
}

/** Reads so many messages, and acknowledges each. Messages that are repeated by DUP count again. */
export async function readMessages(client: WireClient, count: number): Promise<IPublishPacket[]> {
  const messages: IPublishPacket[] = []
  while (messages.length < count) {
    const packet = await client.next()
    if (packet === undefined) throw new Error(`the connection ended after ${messages.length} of ${count} messages`)
    acknowledge(client, packet)
    if (packet.cmd === 'publish') messages.push(packet)
  }
  return messages
}

/** The texts of the messages up to this one. */
export async function messagesUntil(client: WireClient, text: string): Promise<string[]> {
  const texts: string[] = []
  while (texts.at(-1) !== text) {
    const [message] = await readMessages(client, 1)
    texts.push(message?.payload.toString() ?? '')
  }
  return texts
}

/** The messages that have come by now, acknowledged. */
export async function messagesSoFar(client: WireClient): Promise<IPublishPacket[]> {
  const packets = await client.ping()
  if (packets === 'closed') throw new Error('the connection has ended')
  for (const packet of packets) acknowledge(client, packet)
  return packets.filter((packet) => packet.cmd === 'publish')
}

/** The event's id, which readers of MQTT 5 get. */
export function eventIdOf({ properties }: IPublishPacket): string | undefined {
  const ids = properties?.userProperties?.['event-id']
  return Array.isArray(ids) ? ids.at(-1) : ids
}

function acknowledge(
  client: WireClient,
  packet: { readonly cmd: string; readonly messageId?: number; readonly qos?: number },
): void {
  const { messageId } = packet
  if (messageId === undefined) return
  if (packet.cmd === 'pubrel') client.send({ cmd: 'pubcomp', messageId })
  else if (packet.cmd === 'publish') client.send({ cmd: packet.qos === 2 ? 'pubrec' : 'puback', messageId })
}
