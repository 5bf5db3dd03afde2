/**
 * All kinds of peers at once that could keep a service from ending: silent, half finished, slow,
 * busy, or many.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http2'
import type { Http2Server } from 'node:http2'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { Administration } from './administration.ts'
import type { RunningService } from './running-service.ts'
import { HALF_A_HELLO, SilentConnections } from './silent-connections.ts'
import { WireClient } from './wire-client.ts'
import type { Login } from './wire-client.ts'

const ENDLESS_DECODER = 'function Decode() { for (;;) {} }'
/** More than all buffers between the service and a reader that does not read. */
const FLOOD_BYTES = 24 * 1024 * 1024
const FLOOD_MESSAGE_BYTES = 64 * 1024
/** Handshakes under way at the same time. */
const AT_ONCE = 20

/** A network server that speaks HTTP/2, and answers no call of gRPC. */
export class SilentGrpc {
  readonly #server: Http2Server

  /**
   * Opens the server, and writes a file for FIELDGATE_NETWORK_SERVERS_FILE that names it into the
   * folder.
   */
  static async open(folder: string): Promise<{ readonly grpc: SilentGrpc; readonly file: string }> {
    const grpc = new SilentGrpc()
    grpc.#server.listen(0, '127.0.0.1')
    await once(grpc.#server, 'listening')
    const { port } = grpc.#server.address() as AddressInfo
    const entry = {
      name: 'silent',
      kind: 'chirpstack-grpc',
      url: `http://127.0.0.1:${port}`,
      apiKey: 'key',
      tenants: { '52f14cd4-c6f1-4fbd-8f87-4025e1d49242': '1' },
    }
    const file = join(folder, 'network-servers.json')
    await writeFile(file, JSON.stringify({ networkServers: [entry] }))
    return { grpc, file }
  }

  private constructor() {
    this.#server = createServer()
    this.#server.on('stream', (stream) => stream.on('error', () => {}))
    this.#server.on('sessionError', () => {})
  }

  close(): void {
    this.#server.close()
  }
}

export class Crowd {
  readonly #service: RunningService
  readonly #sockets: TLSSocket[] = []
  readonly #silent: SilentConnections[] = []
  readonly #clients: WireClient[] = []
  readonly #prefix = randomBytes(4).toString('hex')
  #uploading: NodeJS.Timeout | undefined = undefined

  /** Resolves when all peers are connected. */
  static async open(service: RunningService, mqttClients: number): Promise<Crowd> {
    const crowd = new Crowd(service)
    const administration = new Administration(service)
    const organizationId = await administration.organization(`crowd-${randomUUID()}`)
    const decoder = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: ENDLESS_DECODER }
    const applicationId = await administration.application(organizationId, decoder)
    const quietId = await administration.application(organizationId)
    const { userName, password } = await administration.serviceCredential(organizationId)
    const networkServer = { username: userName, password }
    const integrator = {
      username: await administration.brokerToken(service.adminSession, organizationId),
      password: 'default',
    }
    await crowd.#beSilent()
    await crowd.#connectClients(integrator, mqttClients)
    await crowd.#keepCodecBusy(networkServer, applicationId, await deviceOf(administration, applicationId))
    await crowd.#readSlowly(networkServer, integrator, quietId, await deviceOf(administration, quietId))
    await crowd.#upload(quietId)
    return crowd
  }

  private constructor(service: RunningService) {
    this.#service = service
  }

  close(): void {
    clearInterval(this.#uploading)
    for (const silent of this.#silent) silent.destroy()
    for (const socket of this.#sockets) socket.destroy()
    for (const client of this.#clients) client.destroy()
  }

  async #beSilent(): Promise<void> {
    const httpsPort = Number(new URL(this.#service.https).port)
    const { mqttsPort } = this.#service
    for (const port of [httpsPort, mqttsPort]) {
      for (const firstBytes of [Buffer.alloc(0), HALF_A_HELLO])
        this.#silent.push(await SilentConnections.open({ port, count: 20, address: '127.0.2.1', firstBytes }))
      await this.#socket(port)
    }
    const unfinished = await this.#socket(httpsPort)
    unfinished.write('POST /api/internal/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n')
    unfinished.write('Content-Length: 1000\r\n\r\n{"username":')
  }

  /** A socket after its handshake. */
  async #socket(port: number): Promise<TLSSocket> {
    const socket = connect({ host: 'localhost', port, ca: this.#service.ca })
    socket.on('error', () => {})
    this.#sockets.push(socket)
    await once(socket, 'secureConnect')
    return socket
  }

  async #connectClients(login: Login, count: number): Promise<void> {
    for (let connected = 0; connected < count; connected += AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - connected) }, () => this.#client(login)))
  }

  async #client(login: Login): Promise<WireClient> {
    const client = await WireClient.open(this.#service, 5)
    this.#clients.push(client)
    const code = await client.connect(login)
    if (code !== 0) throw new Error(`CONNECT was answered with ${code}`)
    return client
  }

  async #keepCodecBusy(login: Login, applicationId: string, devEui: string): Promise<void> {
    const client = await this.#client(login)
    const topicName = `application/${applicationId}/device/${devEui}/event/up`
    for (let fCnt = 0; fCnt < 5; fCnt += 1)
      client.send(client.publishPacket(topicName, JSON.stringify({ devEUI: devEui, fCnt, fPort: 2, data: 'AQ==' }), 1))
  }

  async #readSlowly(publisher: Login, reader: Login, applicationId: string, devEui: string): Promise<void> {
    const topicName = `application/${applicationId}/device/${devEui}/event/up`
    const slow = await this.#client(reader)
    await slow.subscribe(topicName, 0)
    slow.socket.pause()
    const client = await this.#client(publisher)
    const payload = JSON.stringify({ filler: 'x'.repeat(FLOOD_MESSAGE_BYTES) })
    for (let sent = 0; sent < FLOOD_BYTES; sent += FLOOD_MESSAGE_BYTES)
      client.send(client.publishPacket(topicName, payload, 0))
    await client.ping()
  }

  /** An import that never ends: a row every few milliseconds. */
  async #upload(applicationId: string): Promise<void> {
    const socket = await this.#socket(Number(new URL(this.#service.https).port))
    socket.write(
      `POST /api/devices/import?applicationID=${applicationId} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n` +
        `Grpc-Metadata-Authorization: Bearer ${this.#service.adminSession}\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ndevEUI\n\r\n`,
    )
    let row = 0
    this.#uploading = setInterval(() => {
      row += 1
      if (!socket.destroyed) socket.write(`11\r\n${this.#prefix}${row.toString(16).padStart(8, '0')}\n\r\n`)
    }, 5)
  }
}

/**
 * A device of the application. A service that outlives one crowd still has the devices of earlier
 * crowds.
 */
async function deviceOf(administration: Administration, applicationId: string): Promise<string> {
  const devEui = randomBytes(8).toString('hex')
  await administration.must('POST', '/api/devices', { device: { devEUI: devEui, applicationID: applicationId } })
  return devEui
}
