/**
 * QoS 0 messages that are not kept, in a deployment of several nodes: each node tells them to the
 * others. They may get lost between nodes, as on any network connection.
 */
import type { Clock } from '../../clock.ts'
import { encodePacket } from '../../mqtt/encode-packet.ts'
import { MalformedPacketError } from '../../mqtt/malformed-packet.ts'
import { PacketReader } from '../../mqtt/packet-reader.ts'
import type { Bus } from '../../nodes.ts'
import { Message, expiryOf } from '../ports/message.ts'

const KIND = 'message.passing'
const KEY_LENGTH_BYTES = 2
/** The bus takes no larger messages. */
const MAXIMUM_BYTES = 900_000

export class PassingMessages {
  readonly #bus: Bus

  constructor(bus: Bus, clock: Clock, deliver: (message: Message) => void) {
    this.#bus = bus
    bus.hear(KIND, (body) => {
      const message = decodePassing(body, clock)
      if (message !== undefined) deliver(message)
    })
  }

  /** Tells the other nodes. A message that is too large for the way between nodes is not told. */
  pass(message: Message): void {
    const body = encodePassing(message)
    if (body.length <= MAXIMUM_BYTES) this.#bus.cast(KIND, body)
  }
}

/** uint16 bytes of the publisher's key, the key, and the message as a PUBLISH of MQTT 5. */
export function encodePassing({ topicName, payload, properties, publisherKey }: Message): Buffer {
  const packet = { type: 'publish', topicName, payload, qos: 0, retain: false, dup: false, packetId: 0 } as const
  const key = Buffer.from(publisherKey)
  const length = Buffer.allocUnsafe(KEY_LENGTH_BYTES)
  length.writeUInt16BE(key.length)
  return Buffer.concat([length, key, encodePacket({ ...packet, properties }, 5)])
}

/** Undefined for bytes that this version does not know. */
export function decodePassing(body: Buffer, clock: Clock): Message | undefined {
  const keyEnd = KEY_LENGTH_BYTES + body.readUInt16BE(0)
  const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: body.length })
  reader.protocolVersion = 5
  reader.push(body.subarray(keyEnd))
  const packet = nextOf(reader)
  if (packet?.type !== 'publish') return undefined
  const { topicName, payload, qos, retain, properties } = packet
  const publisherKey = body.toString('utf8', KEY_LENGTH_BYTES, keyEnd)
  return new Message({ topicName, payload, qos, retain, properties, publisherKey }, expiryOf(properties, clock))
}

function nextOf(reader: PacketReader<'server'>): ReturnType<typeof reader.next> {
  try {
    return reader.next()
  } catch (error) {
    if (error instanceof MalformedPacketError) return undefined
    throw error
  }
}
