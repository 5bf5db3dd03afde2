/**
 * The parts of a bad neighbour: an organization with devices and credentials, and its clients.
 */
import { connect as connectTcp } from 'node:net'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { generate } from 'mqtt-packet'
import type { Packet } from 'mqtt-packet'
import type { HttpsClient } from '../support/https-client.ts'
import type { Login } from '../support/wire-client.ts'

/** The message that starts the process of a bad neighbour. */
export interface Beginning {
  readonly profile: string
  readonly https: string
  readonly ca: string
  readonly mqttsPort: number
  readonly organizationId: string
  readonly applicationIds: readonly string[]
  readonly devices: readonly { readonly applicationId: string; readonly devEui: string }[]
  /** A session of an admin of the organization. */
  readonly session: string
  /** A broker-access token of that admin. */
  readonly token: string
  readonly networkServer: { readonly username: string; readonly password: string }
}

/** A profile: how one organization is bad to the others. */
export interface Profile {
  readonly name: string
  /** A sentence for the report. */
  readonly title: string
  /** Applications of the organization, and devices of each. */
  readonly applications?: number
  readonly devices?: number
  /** Script of each application; makes their codec CUSTOM_JS. */
  readonly script?: (application: number) => string
  /** Resolves when it has nothing more to do; the process is killed otherwise. */
  readonly attack: (context: Context) => Promise<void>
}

/** A profile's means. */
export interface Context extends Beginning {
  readonly http: HttpsClient
}

export function eventTopic({ devices }: Beginning, index: number, kind = 'up'): string {
  const { applicationId, devEui } = devices[index % devices.length] as Beginning['devices'][number]
  return `application/${applicationId}/device/${devEui}/event/${kind}`
}

export function commandTopic({ devices }: Beginning, index: number): string {
  const { applicationId, devEui } = devices[index % devices.length] as Beginning['devices'][number]
  return `application/${applicationId}/device/${devEui}/command/down`
}

let opened = 0

/** A connection that only writes: all that comes is read and dropped. */
export class RawClient {
  readonly socket: TLSSocket
  readonly #closed: Promise<void>
  isClosed = false
  /** Bytes of the answers that came. */
  receivedBytes = 0

  constructor({ mqttsPort: port, ca }: Beginning, options: { readonly reads?: boolean } = {}) {
    opened += 1
    const localAddress = `127.0.2.${1 + (opened % 200)}`
    this.socket = connect({
      socket: connectTcp({ port, host: '127.0.0.1', localAddress }),
      servername: 'localhost',
      ca,
    })
    this.#closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.isClosed = true
        resolve()
      })
    })
    this.socket.on('error', () => {})
    if (options.reads !== false) this.socket.on('data', (chunk: Buffer) => (this.receivedBytes += chunk.length))
  }

  /** CONNECT of MQTT 5; resolves when it is written. */
  async connect(login: Login, fields: Record<string, unknown> = {}): Promise<void> {
    await this.write([
      {
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 5,
        clean: true,
        keepalive: 0,
        clientId: `bad-${process.pid}-${opened}`,
        ...(login.username === undefined ? {} : { username: login.username }),
        ...(login.password === undefined ? {} : { password: Buffer.from(login.password) }),
        ...fields,
      },
    ])
  }

  /** Resolves when the kernel has taken it, or the connection is closed. */
  async write(packets: readonly Packet[] | Buffer): Promise<void> {
    if (this.isClosed) return
    const bytes = Buffer.isBuffer(packets)
      ? packets
      : Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: 5 })))
    const written = new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()))
    await Promise.race([written, this.#closed])
  }

  /** Until so many bytes have come since, or the connection is closed, or the time is over. */
  async received(bytes: number, ms = 1_000): Promise<void> {
    const wanted = this.receivedBytes + bytes
    const endsAtMs = performance.now() + ms
    while (this.receivedBytes < wanted && !this.isClosed && performance.now() < endsAtMs) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}

/**
 * Runs the same work on so many connections at once, for ever; a connection that ends is replaced.
 */
export async function each(count: number, work: (index: number) => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      for (;;) {
        await work(index)
        // An organization that is refused at once would spin without end.
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }),
  )
}
