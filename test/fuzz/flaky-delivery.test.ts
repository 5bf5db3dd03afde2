/** Publishers and subscribers that follow the protocol on connections that break anywhere: QoS 1 at least once, QoS 2 exactly once, both in order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { ProtocolVersion, QoS, ServerPacket } from '../../src/mqtt/packet.ts'
import { createHarness } from '../support/broker-harness.ts'
import type { Harness, TestClient } from '../support/broker-harness.ts'
import { fuzzRuns } from './fuzz-runs.ts'

const MESSAGES = 12

/** One end of the protocol with a memory that outlives its connections. */
abstract class FlakyClient {
  readonly harness: Harness
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

  /** Handles one of the packets that wait, so that the connection can break between any two. */
  async step(): Promise<boolean> {
    const connection = await this.connected()
    const packet = connection.takeOne()
    if (packet !== undefined) this.handle(connection, packet)
    return packet !== undefined
  }

  abstract resumed(connection: TestClient): void
  abstract handle(connection: TestClient, packet: ServerPacket): void
}

class Publisher extends FlakyClient {
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

class Subscriber extends FlakyClient {
  readonly received: string[] = []
  readonly #unreleased = new Set<number>()
  readonly qos: QoS

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

/** 0: publish · 1: publisher reads · 2: subscriber reads · 3: publisher breaks · 4: subscriber breaks · 5: a turn of the event loop */
const schedule = fc.array(fc.constantFrom(0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 5), {
  minLength: 10,
  maxLength: 120,
  size: 'max',
})

/** The first time that each was received. */
function firsts(received: readonly string[]): string[] {
  return [...new Set(received)]
}

for (const granted of [1, 2] as const) {
  for (const published of [1, 2] as const) {
    const isOnce = granted === 2 && published === 2
    test(`published at QoS ${published} and subscribed at QoS ${granted}: each message ${isOnce ? 'exactly once' : 'at least once'}, in order [MQTT-4.4.0-1] [MQTT-4.3.3-10] [MQTT-4.6.0-5] [MQTT311-4.4.0-1] [MQTT311-4.6.0-6]`, async () => {
      await fc.assert(
        fc.asyncProperty(
          schedule,
          fc.constantFrom<ProtocolVersion>(4, 5),
          fc.constantFrom(1, 2, 3, 65_535),
          async (actions, version, receiveMaximum) => {
            const harness = await createHarness({ limits: { maximumInflight: 5 } })
            const publisher = new Publisher(harness, version, 'publisher', 65_535)
            const subscriber = new Subscriber(harness, version, 'subscriber', receiveMaximum, granted)
            await (await subscriber.connected()).subscribe('t/+', { qos: granted })
            const sent: string[] = []
            for (const action of actions) {
              if (action === 0 && sent.length < MESSAGES) {
                sent.push(String(sent.length))
                await publisher.publish(sent.at(-1) as string, published)
              } else if (action === 1) await publisher.step()
              else if (action === 2) await subscriber.step()
              else if (action === 3) publisher.drop()
              else if (action === 4) subscriber.drop()
              else await new Promise((resolve) => setImmediate(resolve))
            }
            // Then the network is good for as long as it takes.
            for (let quiet = 0; quiet < 4;) {
              const moved = [await publisher.step(), await subscriber.step()]
              if (moved.includes(true)) quiet = 0
              else {
                quiet += 1
                await new Promise((resolve) => setImmediate(resolve))
              }
            }
            assert.ok(publisher.isDone)
            assert.deepEqual(firsts(subscriber.received), sent)
            if (isOnce) assert.deepEqual(subscriber.received, sent)
          },
        ),
        fuzzRuns(80),
      )
    })
  }
}
