import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connectAsync } from 'mqtt'
import { WebSocket } from 'ws'
import { createHarness } from '../../test/support/broker-harness.ts'
import { given } from '../given.ts'
import { encodePacket } from '../mqtt/encode-packet.ts'
import { PacketReader } from '../mqtt/packet-reader.ts'
import { AddressLimiter } from './address-limiter.ts'
import { serveWebSocket } from './websocket.ts'
import type { AllowedPages } from './websocket.ts'

async function serve(context: TestContext, pages?: AllowedPages): Promise<string> {
  const { broker } = await createHarness()
  const server = createServer()
  const limiter = new AddressLimiter({ attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 })
  serveWebSocket(server, broker, limiter, given({ pages }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(async () => {
    await broker.close()
    server.close()
    server.closeAllConnections()
  })
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const CONNECT = encodePacket(
  { type: 'connect', protocolVersion: 5, cleanStart: true, keepAliveSeconds: 0, clientId: 'c' },
  5,
)

/** Reads packets until `count` of them have come. */
async function packets(webSocket: WebSocket, count: number): Promise<string[]> {
  const reader = new PacketReader({ role: 'client', maximumPacketSizeBytes: 65_536 })
  reader.protocolVersion = 5
  const types: string[] = []
  while (types.length < count) {
    const [data] = (await once(webSocket, 'message')) as [Buffer]
    reader.push(data)
    for (let packet = reader.next(); packet !== undefined; packet = reader.next()) types.push(packet.type)
  }
  return types
}

test('MQTT.js publishes and subscribes over WebSocket, MQTT 3.1.1 and 5.0', async (context) => {
  const url = `${await serve(context)}/mqtt`
  for (const protocolVersion of [4, 5] as const) {
    const client = await connectAsync(url, { protocolVersion, reconnectPeriod: 0 })
    await client.subscribeAsync('a/+', { qos: 1 })
    const message = new Promise<readonly string[]>((resolve) => {
      client.once('message', (topicName, payload) => resolve([topicName, payload.toString()]))
    })
    await client.publishAsync('a/b', 'hello', { qos: 1 })
    assert.deepEqual(await message, ['a/b', 'hello'])
    await client.endAsync()
  }
})

test('packets are split over frames and joined in one anyhow [MQTT-6.0.0-2] [MQTT311-6.0.0-2]', async (context) => {
  const webSocket = new WebSocket(`${await serve(context)}/mqtt`, 'mqtt')
  await once(webSocket, 'open')
  const came = packets(webSocket, 3)
  const ping = encodePacket({ type: 'pingreq' }, 5)
  const bytes = Buffer.concat([CONNECT, ping, ping])
  for (let index = 0; index < 7; index += 1) webSocket.send(bytes.subarray(index, index + 1))
  webSocket.send(bytes.subarray(7))
  assert.deepEqual(await came, ['connack', 'pingresp', 'pingresp'])
  webSocket.terminate()
})

test('a text frame closes the connection [MQTT-6.0.0-1] [MQTT311-6.0.0-1]', async (context) => {
  const webSocket = new WebSocket(`${await serve(context)}/mqtt`, 'mqtt')
  await once(webSocket, 'open')
  webSocket.send('not binary')
  const [code] = (await once(webSocket, 'close')) as [number]
  assert.equal(code, 1003)
})

test('the subprotocol is mqtt; without it, or at another path, the upgrade is refused [MQTT-6.0.0-3] [MQTT311-6.0.0-3], [MQTT-6.0.0-4] [MQTT311-6.0.0-4]', async (context) => {
  const url = await serve(context)
  const good = new WebSocket(`${url}/mqtt`, ['other', 'mqtt'])
  await once(good, 'open')
  assert.equal(good.protocol, 'mqtt')
  good.terminate()
  for (const [address, subprotocol, status] of [
    [`${url}/mqtt`, 'other', '400'],
    [`${url}/elsewhere`, 'mqtt', '404'],
  ] as const) {
    const refused = new WebSocket(address, subprotocol)
    const [error] = (await once(refused, 'error')) as [Error]
    assert.match(error.message, new RegExp(status))
  }
})

test('a frame above the largest packet closes the connection', async (context) => {
  const webSocket = new WebSocket(`${await serve(context)}/mqtt`, 'mqtt')
  await once(webSocket, 'open')
  webSocket.send(Buffer.alloc(1_048_577))
  const [code] = (await once(webSocket, 'close')) as [number]
  assert.equal(code, 1009)
})

/** Status 101 when the upgrade is granted, else the status and the body of the refusal. */
async function upgrade(url: string, headers: Readonly<Record<string, string>>): Promise<readonly [number, string]> {
  const webSocket = new WebSocket(`${url}/mqtt`, 'mqtt', { headers })
  const answer = Promise.withResolvers<readonly [number, string]>()
  webSocket.on('open', () => answer.resolve([101, '']))
  webSocket.on('unexpected-response', (_request, response) => {
    let body = ''
    response.on('data', (chunk: Buffer) => (body += chunk.toString()))
    response.on('end', () => answer.resolve([response.statusCode ?? 0, body]))
  })
  webSocket.on('error', () => {})
  try {
    return await answer.promise
  } finally {
    webSocket.terminate()
  }
}

test('a page connects if it is the service’s own or its origin is named, a program without an origin always', async (context) => {
  const url = await serve(context, { allowedOrigins: ['https://app.example.org'], publicHost: 'fg.example.org' })
  const own = url.replace('ws:', 'https:')
  for (const origin of ['https://app.example.org', 'https://fg.example.org', 'https://fg.example.org:8443', own]) {
    assert.equal((await upgrade(url, { origin }))[0], 101, origin)
  }
  assert.equal((await upgrade(url, {}))[0], 101)
})

test('another host’s page is refused, and told by which setting it may connect', async (context) => {
  const url = await serve(context, { allowedOrigins: ['https://app.example.org'], publicHost: 'fg.example.org' })
  for (const origin of [
    'https://evil.example.org',
    'https://app.example.org.evil.org',
    'http://app.example.org',
    'https://127.0.0.1:1',
    'null',
    'file://',
    'x',
  ]) {
    const [status, body] = await upgrade(url, { origin })
    assert.equal(status, 403, origin)
    assert.match(body, /FIELDGATE_ALLOWED_ORIGINS/)
  }
})
