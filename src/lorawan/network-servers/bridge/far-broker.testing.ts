/** Another MQTT broker for tests: the far end of a pair of streams, spoken packet by packet. */
import type { Duplex } from 'node:stream'
import { within } from '../../../../test/support/bounded-wait.ts'
import { encodePacket } from '../../../mqtt/encode-packet.ts'
import { PacketReader } from '../../../mqtt/packet-reader.ts'
import type { ClientPacket, Packet, ProtocolVersion } from '../../../mqtt/packet.ts'

/** The broker's end of a connection. It keeps the packets that the client sent. */
export class FarBroker {
  readonly #socket: Duplex
  readonly #protocolVersion: ProtocolVersion
  readonly #reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: 1_048_576 })
  readonly #packets: ClientPacket[] = []
  #wake: () => void = () => {}

  constructor(socket: Duplex, protocolVersion: ProtocolVersion) {
    this.#socket = socket
    this.#protocolVersion = protocolVersion
    // A broker closes its end when its client has closed the connection.
    socket.on('end', () => socket.end())
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk)
      for (let packet = this.#reader.next(); packet !== undefined; packet = this.#reader.next()) {
        this.#packets.push(packet)
      }
      this.#wake()
    })
  }

  send(packet: Packet): void {
    this.#socket.write(encodePacket(packet, this.#protocolVersion))
  }

  /** Answers CONNECT and SUBSCRIBE. */
  async welcome(): Promise<void> {
    await this.next()
    this.send({ type: 'connack', sessionPresent: false, reasonCode: 0 })
    await this.next()
    this.send({ type: 'suback', packetId: 1, reasonCodes: [1] })
  }

  async next(): Promise<ClientPacket> {
    for (;;) {
      const packet = this.#packets.shift()
      if (packet !== undefined) return packet
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await within(promise, 'a packet')
    }
  }
}
