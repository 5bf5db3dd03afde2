/** A client that does what MQTT asks of it, and notes what it gets and what was acknowledged. */
import { given } from '../../src/given.ts'
import type { Packet, ServerPacket } from '../../src/mqtt/packet.ts'
import { TestClient, connectPacket } from '../support/broker-harness.ts'
import type { WorldNode } from './world.ts'

interface Sent {
  readonly packetId: number
  readonly payload: string
  isReleased: boolean
}

export class Robot {
  readonly clientId: string
  readonly topicName: string
  readonly topicFilter: string
  readonly qos: 1 | 2
  /** Unacknowledged messages that it takes; undefined: as many as may be. */
  readonly receiveMaximum: number | undefined
  /** The payloads that it got, in their order. */
  readonly got: string[] = []
  /** The payloads that the broker took. */
  readonly owned: string[] = []
  /** Rules that the broker has broken. */
  readonly faults: string[] = []
  /** All connections that it had. */
  readonly connections: { readonly client: TestClient; readonly at: WorldNode }[] = []
  client: TestClient | undefined
  at: WorldNode | undefined
  isConnected = false
  isSubscribed = false
  #isKnown = false
  readonly #incoming = new Set<number>()
  #outgoing: Sent[] = []

  constructor(of: {
    readonly clientId: string
    readonly topicName: string
    readonly topicFilter: string
    readonly qos: 1 | 2
    readonly receiveMaximum?: number
  }) {
    this.clientId = of.clientId
    this.topicName = of.topicName
    this.topicFilter = of.topicFilter
    this.qos = of.qos
    this.receiveMaximum = of.receiveMaximum
  }

  /** True when nothing is on its way to the broker that is not acknowledged. */
  get isDone(): boolean {
    return this.isConnected && this.isSubscribed && this.#outgoing.length === 0 && this.#incoming.size === 0
  }

  get hasPackets(): boolean {
    return (this.client?.unread ?? 0) > 0
  }

  /** The connection is there as far as the client knows. */
  get isOpen(): boolean {
    return this.client !== undefined && !this.client.transport.ended && this.at?.node.isRunning === true
  }

  /** The client connects, and does not know whether an earlier connection is still there. */
  connect(at: WorldNode): void {
    this.isConnected = false
    const client = new TestClient(at.broker, 5)
    this.client = client
    this.at = at
    this.connections.push({ client, at })
    client.send(
      connectPacket({
        clientId: this.clientId,
        cleanStart: false,
        properties: { sessionExpiryIntervalSeconds: 3_600, ...given({ receiveMaximum: this.receiveMaximum }) },
      }),
    )
  }

  /** The client ends its connection without a packet. */
  drop(): void {
    if (this.isOpen) this.client?.drop()
    this.client = undefined
    this.isConnected = false
  }

  publish(payload: string): void {
    // A Packet Identifier is used again as soon as it may be.
    let packetId = 1
    while (this.#outgoing.some((sent) => sent.packetId === packetId)) packetId += 1
    const sent = { packetId, payload, isReleased: false }
    this.#outgoing.push(sent)
    if (this.isConnected) this.#send(sent, false)
  }

  /** Takes the next packet, and answers it. */
  take(): void {
    const packet = this.client?.takeOne()
    if (packet !== undefined) this.#take(packet)
  }

  #take(packet: ServerPacket): void {
    if (packet.type === 'connack') this.#connected(packet.reasonCode, packet.sessionPresent)
    else if (packet.type === 'suback') this.isSubscribed = true
    else if (packet.type === 'publish') this.#published(packet.qos, packet.packetId, packet.payload.toString())
    else if (packet.type === 'pubrel') {
      this.#incoming.delete(packet.packetId)
      this.#answer({ type: 'pubcomp', packetId: packet.packetId, reasonCode: 0 })
    } else if (packet.type === 'pubrec') {
      const sent = this.#outgoing.find(({ packetId }) => packetId === packet.packetId)
      if (sent !== undefined && !sent.isReleased) {
        sent.isReleased = true
        this.owned.push(sent.payload)
      }
      this.#answer({ type: 'pubrel', packetId: packet.packetId, reasonCode: 0 })
    } else if (packet.type === 'pubcomp') {
      this.#outgoing = this.#outgoing.filter(({ packetId }) => packetId !== packet.packetId)
    }
  }

  #connected(reasonCode: number, sessionPresent: boolean): void {
    if (reasonCode !== 0) return
    this.isConnected = true
    if (this.#isKnown && !sessionPresent) this.faults.push(`the Session of “${this.clientId}” was lost`)
    if (!sessionPresent) {
      this.#incoming.clear()
      this.isSubscribed = false
      const subscriptions = [
        { topicFilter: this.topicFilter, qos: this.qos, noLocal: false, retainAsPublished: false, retainHandling: 0 },
      ] as const
      this.#answer({ type: 'subscribe', packetId: 1_000, subscriptions })
    }
    this.#isKnown = true
    for (const sent of this.#outgoing) {
      if (sent.isReleased) this.#answer({ type: 'pubrel', packetId: sent.packetId, reasonCode: 0 })
      else this.#send(sent, true)
    }
  }

  #published(qos: number, packetId: number, payload: string): void {
    if (qos === 2) {
      if (!this.#incoming.has(packetId)) this.got.push(payload)
      this.#incoming.add(packetId)
      this.#answer({ type: 'pubrec', packetId, reasonCode: 0 })
    } else {
      this.got.push(payload)
      this.#answer({ type: 'puback', packetId, reasonCode: 0 })
    }
  }

  #send({ packetId, payload }: Sent, dup: boolean): void {
    const { topicName } = this
    this.#answer({ type: 'publish', topicName, payload: Buffer.from(payload), qos: 2, retain: false, dup, packetId })
  }

  #answer(packet: Packet): void {
    if (this.isOpen) this.client?.send(packet)
  }
}
