/**
 * Connections that come from a chosen address of the loopback network, as those of a proxy do:
 * HTTPS requests, and MQTT over TLS and over WebSocket.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { generate, parser } from 'mqtt-packet'
import type { Packet } from 'mqtt-packet'
import { WebSocket } from 'ws'
import { within } from './bounded-wait.ts'
import type { RunningService } from './running-service.ts'

export interface Origin {
  /** The address of the peer that the service sees. */
  readonly from: string
  /** The bytes before the TLS handshake. */
  readonly prefix?: Buffer
  /** The header `X-Forwarded-For` of HTTP requests and WebSocket upgrades. */
  readonly forwardedFor?: string
}

type Place = Pick<RunningService, 'https' | 'mqttsPort' | 'ca'>

/** Opens a TCP connection from the origin, and sends its prefix. */
export async function connectFrom({ from, prefix }: Origin, port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: from })
  await within(once(socket, 'connect'), 'a TCP connection')
  if (prefix !== undefined) socket.write(prefix)
  return socket
}

/** Does the TLS handshake; rejects when the service ends the connection. */
export async function secure(socket: Socket, { ca }: Pick<Place, 'ca'>): Promise<TLSSocket> {
  const secured = connectTls({ socket, ca, servername: 'localhost' })
  await within(once(secured, 'secureConnect'), 'the TLS handshake')
  return secured
}

/** Resolves when the service has closed or reset the connection. */
export async function ended(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('error', () => {})
  socket.on('close', () => resolve())
  socket.resume()
  await within(promise, 'the end of the connection')
}

/** The port of HTTPS. */
export function httpsPortOf({ https }: Pick<Place, 'https'>): number {
  return Number(new URL(https).port)
}

/** Sends one HTTPS request on a connection of its own. Returns the status of the answer. */
export async function statusOf(service: Place, origin: Origin, path: string, json?: unknown): Promise<number> {
  const socket = await secure(await connectFrom(origin, httpsPortOf(service)), service)
  const body = json === undefined ? '' : JSON.stringify(json)
  const forwarded = origin.forwardedFor === undefined ? '' : `X-Forwarded-For: ${origin.forwardedFor}\r\n`
  socket.write(
    `${json === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${forwarded}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const [answer] = (await within(once(socket, 'data'), 'an HTTP answer')) as [Buffer]
  socket.destroy()
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer.toString())?.[1])
}

/** A CONNECT that is refused, and so makes a line of the log with the client's address. */
const CONNECT: Packet = {
  cmd: 'connect',
  protocolId: 'MQTT',
  protocolVersion: 5,
  clean: true,
  keepalive: 0,
  clientId: 'c',
  username: 'nobody',
  password: Buffer.from('default'),
}

/** Sends a CONNECT without rights over TLS. Returns when its CONNACK has come. */
export async function refusedOverTls(service: Place, origin: Origin): Promise<void> {
  const socket = await secure(await connectFrom(origin, service.mqttsPort), service)
  const connack = Promise.withResolvers<Packet>()
  const reader = parser({ protocolVersion: 5 })
  reader.on('packet', connack.resolve)
  socket.on('data', (chunk: Buffer) => reader.parse(chunk))
  socket.write(generate(CONNECT, { protocolVersion: 5 }))
  await within(connack.promise, 'CONNACK')
  socket.destroy()
}

/** Sends a CONNECT without rights over WebSocket. Returns the HTTP status of the upgrade. */
export async function refusedOverWebSocket(service: Place, origin: Origin): Promise<number> {
  const { promise: status, resolve } = Promise.withResolvers<number>()
  const secured = await secure(await connectFrom(origin, httpsPortOf(service)), service)
  const webSocket = new WebSocket('ws://localhost/mqtt', 'mqtt', {
    createConnection: () => secured,
    ...(origin.forwardedFor === undefined ? {} : { headers: { 'X-Forwarded-For': origin.forwardedFor } }),
  })
  webSocket.on('error', () => {})
  webSocket.on('open', () => webSocket.send(generate(CONNECT, { protocolVersion: 5 })))
  webSocket.on('message', () => resolve(101))
  webSocket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
  const code = await within(status, 'the answer to an upgrade')
  webSocket.terminate()
  return code
}
