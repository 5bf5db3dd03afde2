/**
 * Connections of integrators and network servers that a test keeps open, and what it means that
 * they live or have ended.
 */
import assert from 'node:assert/strict'
import type { IConnectPacket } from 'mqtt-packet'
import type { RunningService } from './running-service.ts'
import { codeOf, reasonOf, WireClient } from './wire-client.ts'
import type { Login, Version } from './wire-client.ts'

export const COMMAND = JSON.stringify({ confirmed: false, fPort: 1, data: 'AQ==' })

/** Everything that `connect` opened is closed with this. */
export class LiveConnections {
  readonly #service: RunningService
  readonly #clients: WireClient[] = []

  constructor(service: RunningService) {
    this.#service = service
  }

  /** A connection past CONNACK. */
  async connect(version: Version, login: Login, fields: Partial<IConnectPacket> = {}): Promise<WireClient> {
    const client = await WireClient.open(this.#service, version)
    this.#clients.push(client)
    assert.equal(await client.connect(login, fields), 0)
    return client
  }

  /** A connection by a broker-access token. */
  integrator(version: Version, jwt: string, fields: Partial<IConnectPacket> = {}): Promise<WireClient> {
    return this.connect(version, { username: jwt, password: 'default' }, fields)
  }

  /** A connection by a service credential. */
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

/** The connection ends: MQTT 5 is told why, MQTT 3.1.1 is closed; and nothing else comes before. */
export async function assertEnded(client: WireClient, reasonCode: number, reason: RegExp): Promise<void> {
  const [disconnect, ...others] = await client.rest()
  assert.deepEqual(others, [])
  assert.equal(disconnect?.cmd, client.version === 5 ? 'disconnect' : undefined)
  if (disconnect === undefined) return
  assert.equal(codeOf(disconnect), reasonCode)
  assert.match(reasonOf(disconnect) ?? '', reason)
}

/** The connection lives, and nothing has come that the test has not seen. */
export async function assertLives(...clients: readonly WireClient[]): Promise<void> {
  for (const client of clients) assert.deepEqual(await client.ping(), [])
}

/** Publishes at QoS 1 by MQTT 5 and answers the Reason Code of PUBACK. */
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

/** The payload of the next packet, which must be a PUBLISH. */
export async function received(client: WireClient): Promise<{ readonly topic: string; readonly payload: string }> {
  const packet = await client.next()
  assert.ok(packet?.cmd === 'publish', JSON.stringify(packet))
  if (packet.qos === 1) client.send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
  return { topic: packet.topic, payload: String(packet.payload) }
}

/**
 * The members of the next packet, which must be a command for the topic's device, without what the
 * queue has added.
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
