/**
 * Connections of integrators and network servers that a test keeps open, and checks that they live
 * or have ended.
 */
import assert from 'node:assert/strict'
import type { IConnectPacket } from 'mqtt-packet'
import type { RunningService } from './running-service.ts'
import { codeOf, reasonOf, WireClient } from './wire-client.ts'
import type { Login, Version } from './wire-client.ts'

export const COMMAND = JSON.stringify({ confirmed: false, fPort: 1, data: 'AQ==' })

/** Opens connections, and closes all of them at the end. */
export class LiveConnections {
  readonly #service: RunningService
  readonly #clients: WireClient[] = []

  constructor(service: RunningService) {
    this.#service = service
  }

  /** Opens a connection and waits for CONNACK. */
  async connect(version: Version, login: Login, fields: Partial<IConnectPacket> = {}): Promise<WireClient> {
    const client = await WireClient.open(this.#service, version)
    this.#clients.push(client)
    assert.equal(await client.connect(login, fields), 0)
    return client
  }

  /** Connects with a broker-access token. */
  integrator(version: Version, jwt: string, fields: Partial<IConnectPacket> = {}): Promise<WireClient> {
    return this.connect(version, { username: jwt, password: 'default' }, fields)
  }

  /** Connects with a service credential. */
  networkServer(
    credential: { readonly userName: string; readonly password: string },
    version: Version = 5,
  ): Promise<WireClient> {
    return this.connect(version, { username: credential.userName, password: credential.password })
  }

  closeAll(): void {
    for (const client of this.#clients) client.destroy()
  }
}

/**
 * Checks that the connection ends, without any other packet: MQTT 5.0 gets the reason, MQTT 3.1.1
 * is closed.
 */
export async function assertEnded(client: WireClient, reasonCode: number, reason: RegExp): Promise<void> {
  const [disconnect, ...others] = await client.rest()
  assert.deepEqual(others, [])
  assert.equal(disconnect?.cmd, client.version === 5 ? 'disconnect' : undefined)
  if (disconnect === undefined) return
  assert.equal(codeOf(disconnect), reasonCode)
  assert.match(reasonOf(disconnect) ?? '', reason)
}

/** Checks that the connections live, and that no packet came that the test has not read. */
export async function assertLives(...clients: readonly WireClient[]): Promise<void> {
  for (const client of clients) assert.deepEqual(await client.ping(), [])
}

/** Publishes at QoS 1 by MQTT 5.0. Returns the Reason Code of PUBACK. */
export async function publish(
  client: WireClient,
  topicName: string,
  payload: string | Buffer = COMMAND,
): Promise<number> {
  client.send(client.publishPacket(topicName, payload, 1))
  const puback = await client.next()
  assert.equal(puback?.cmd, 'puback')
  return codeOf(puback)
}

/** The Topic Name and payload of the next packet, which must be a PUBLISH. */
export async function received(client: WireClient): Promise<{ readonly topic: string; readonly payload: string }> {
  const packet = await client.next()
  assert.ok(packet?.cmd === 'publish', JSON.stringify(packet))
  if (packet.qos === 1) client.send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
  return { topic: packet.topic, payload: String(packet.payload) }
}

/**
 * The members of the next packet, which must be a command for the topic's device, without the
 * members that the queue adds.
 */
export async function receivedCommand(
  client: WireClient,
): Promise<{ readonly topic: string; readonly payload: string }> {
  const { topic, payload } = await received(client)
  const { devEui, id, ...command } = JSON.parse(payload) as Readonly<Record<string, unknown>>
  assert.equal(topic.split('/')[3], devEui)
  assert.match(String(id), /^[0-9a-f-]{36}$/)
  return { topic, payload: JSON.stringify(command) }
}
