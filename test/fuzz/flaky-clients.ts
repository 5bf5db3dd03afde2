/** Clients that follow the protocol on connections, and with brokers, that break anywhere. */
import assert from 'node:assert/strict'
import type { ProtocolVersion, ServerPacket } from '../../src/mqtt/packet.ts'
import type { Harness, TestClient } from '../support/broker-harness.ts'

/** One end of the protocol, whose memory outlives its connections. */
abstract class FlakyClient {
  harness: Harness
  readonly version: ProtocolVersion
  readonly clientId: string
  readonly receiveMaximum: number
  connection: TestClient | undefined = undefined

  constructor(harness: Harness, version: ProtocolVersion, clientId: string, receiveMaximum: number) {
    this.harness = harness
    this.version = version
    this.clientId = clientId
    this.receiveMaximum = receiveMaximum
  }

  async connected(): Promise<TestClient> {
    if (this.connection !== undefined && !this.connection.transport.ended) return this.connection
    const properties = { sessionExpiryIntervalSeconds: 1000, receiveMaximum: this.receiveMaximum }
    this.connection = await this.harness.connect({
      protocolVersion: this.version,
      clientId: this.clientId,
      cleanStart: false,
      ...(this.version === 5 ? { properties } : {}),
    })
    this.resumed(this.connection)
    return this.connection
  }

  drop(): void {
    this.connection?.drop()
  }

  /** The client's broker has crashed without a word, and another one replaces it. */
  moveTo(harness: Harness): void {
    this.connection = undefined
    this.harness = harness
  }

  /**
   * Handles one of the packets that wait, so that the connection can break between any two packets.
   */
  async step(): Promise<boolean> {
    const connection = await this.connected()
    const packet = connection.takeOne()
    if (packet !== undefined) this.handle(connection, packet)
    return packet !== undefined
  }

  abstract resumed(connection: TestClient): void
  abstract handle(connection: TestClient, packet: ServerPacket): void
}

export class Publisher extends FlakyClient {
  readonly #unacknowledged = new Map<number, { readonly payload: string; readonly qos: 1 | 2; released: boolean }>()

  get isDone(): boolean {
    return this.#unacknowledged.size === 0
  }

  async publish(payload: string, qos: 1 | 2): Promise<void> {
    const connection = await this.connected()
    const packetId = this.#freeId()
    this.#unacknowledged.set(packetId, { payload, qos, released: false })
    connection.publish(`t/${qos}`, payload, { qos, packetId })
  }

  resumed(connection: TestClient): void {
    for (const [packetId, { payload, qos, released }] of this.#unacknowledged) {
      if (released) connection.acknowledge('pubrel', packetId)
      else connection.publish(`t/${qos}`, payload, { qos, packetId, dup: true })
    }
  }

  handle(connection: TestClient, packet: ServerPacket): void {
    assert.ok('packetId' in packet)
    const { packetId } = packet
    const entry = this.#unacknowledged.get(packetId)
    if (packet.type === 'puback' || packet.type === 'pubcomp') this.#unacknowledged.delete(packetId)
    else if (packet.type === 'pubrec' && entry !== undefined) {
      entry.released = true
      connection.acknowledge('pubrel', packetId)
    }
  }

  #freeId(): number {
    for (let packetId = 1; ; packetId += 1) if (!this.#unacknowledged.has(packetId)) return packetId
  }
}

export class Subscriber extends FlakyClient {
  readonly received: string[] = []
  readonly #unreleased = new Set<number>()
  readonly qos: 1 | 2

  constructor(harness: Harness, version: ProtocolVersion, clientId: string, receiveMaximum: number, qos: 1 | 2) {
    super(harness, version, clientId, receiveMaximum)
    this.qos = qos
  }

  resumed(): void {}

  handle(connection: TestClient, packet: ServerPacket): void {
    if (packet.type === 'pubrel') {
      this.#unreleased.delete(packet.packetId)
      connection.acknowledge('pubcomp', packet.packetId)
    } else if (packet.type === 'publish') {
      if (packet.qos === 1) {
        this.received.push(packet.payload.toString())
        connection.acknowledge('puback', packet.packetId)
      } else {
        if (!this.#unreleased.has(packet.packetId)) this.received.push(packet.payload.toString())
        this.#unreleased.add(packet.packetId)
        connection.acknowledge('pubrec', packet.packetId)
      }
    }
  }
}

/** The received messages, each at the place where it came first. */
export function firsts(received: readonly string[]): string[] {
  return [...new Set(received)]
}
