/**
 * The parts that the tests by chapter share: one rule is tested in both versions of the protocol.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness } from '../support/broker-harness.ts'
import type { Harness, TestClient } from '../support/broker-harness.ts'
import type { ConnectPacket, ProtocolVersion, PublishPacket, ServerPacket } from '../../src/mqtt/packet.ts'

/** A test for MQTT 3.1.1 and one for MQTT 5.0, each with its own broker. */
export function both(title: string, run: (harness: Harness, version: ProtocolVersion) => Promise<void>): void {
  for (const version of [4, 5] as const) {
    test(`MQTT ${version === 4 ? '3.1.1' : '5.0'}: ${title}`, async () => run(await createHarness(), version))
  }
}

/** Fields of a CONNECT whose Session outlives the connection. */
export function lasting(version: ProtocolVersion, clientId: string): Partial<ConnectPacket> {
  const fields = { protocolVersion: version, clientId, cleanStart: false }
  return version === 4 ? fields : { ...fields, properties: { sessionExpiryIntervalSeconds: 1000 } }
}

/** Publishes and waits until the QoS exchange has ended. */
export async function publishFully(
  client: TestClient,
  topicName: string,
  payload: string,
  fields: Partial<PublishPacket> = {},
): Promise<void> {
  const packetId = client.publish(topicName, payload, fields)
  if (fields.qos === 1) assert.equal((await client.next('puback')).packetId, packetId)
  if (fields.qos === 2) {
    assert.equal((await client.next('pubrec')).packetId, packetId)
    client.acknowledge('pubrel', packetId)
    assert.equal((await client.next('pubcomp')).packetId, packetId)
  }
}

/**
 * All packets that the broker has for the client at present. Messages from the log go out a turn
 * later than live ones, so it waits for both.
 */
export async function everything(client: TestClient): Promise<ServerPacket[]> {
  return [...(await client.sync()), ...(await client.sync()), ...(await client.sync())]
}

/** The payloads of all waiting PUBLISH packets; any other packet fails the test. */
export async function payloads(client: TestClient): Promise<string[]> {
  const packets = await everything(client)
  return packets.map((packet) => {
    assert.ok(packet.type === 'publish', `expected PUBLISH, got ${JSON.stringify(packet)}`)
    return packet.payload.toString()
  })
}

/**
 * Waits for the end of the connection: in MQTT 5.0 after a DISCONNECT with this Reason Code, in
 * MQTT 3.1.1 without a packet.
 */
export async function expectEnd(client: TestClient, reasonCode: number): Promise<void> {
  if (client.version === 5) assert.equal((await client.next('disconnect')).reasonCode, reasonCode)
  await client.closed()
  assert.equal(client.unread, 0)
}

/** Bytes from hexadecimal digits; spaces are ignored. */
export function hex(digits: string): Buffer {
  return Buffer.from(digits.replaceAll(' ', ''), 'hex')
}

/**
 * A packet from its first byte and its body, both as hexadecimal digits; the body is shorter than
 * 128 bytes.
 */
export function packetBytes(first: string, body: string): Buffer {
  const bytes = hex(body)
  return Buffer.concat([hex(first), Buffer.from([bytes.length]), bytes])
}
