/**
 * `bun bare-bun.ts <port> <certificate file> <key file>`: the cost of Bun's TLS by itself. No
 * broker that uses Bun's sockets can cost much less for single packets.
 */
import { readFileSync } from 'node:fs'
import type { BunSocket, SocketHandlers } from '../../src/listeners/bun.ts'
import { BareClient } from './bare-client.ts'

/** The part of Bun's socket API that this peer uses. */
interface BunApi {
  listen(options: {
    readonly hostname: string
    readonly port: number
    readonly tls: { readonly cert: Buffer; readonly key: Buffer }
    readonly socket: SocketHandlers<Connection>
  }): void
}

/** A client, and the bytes that the system has not taken yet, in their order. */
class Connection {
  readonly client: BareClient
  readonly #socket: BunSocket<Connection>
  #unsent: Buffer[] = []

  constructor(socket: BunSocket<Connection>) {
    this.#socket = socket
    this.client = new BareClient((bytes) => this.#write(bytes))
  }

  drained(): void {
    const waiting = this.#unsent
    this.#unsent = []
    for (const bytes of waiting) this.#write(bytes)
  }

  #write(bytes: Buffer): void {
    const taken = this.#unsent.length > 0 ? 0 : Math.max(this.#socket.write(bytes), 0)
    if (taken < bytes.length) this.#unsent.push(bytes.subarray(taken))
  }
}

const { Bun: bun } = globalThis as { readonly Bun?: BunApi }
if (bun === undefined) throw new Error('this program runs on Bun')
const [port, certFile, keyFile] = process.argv.slice(2)
if (port === undefined || certFile === undefined || keyFile === undefined) throw new Error('port, certificate, key')

bun.listen({
  hostname: '127.0.0.1',
  port: Number(port),
  tls: { cert: readFileSync(certFile), key: readFileSync(keyFile) },
  socket: {
    open: (socket) => {
      socket.data = new Connection(socket)
    },
    data: ({ data: { client } }, chunk) => client.received(chunk),
    drain: ({ data: connection }) => connection.drained(),
    end: (socket) => socket.shutdown(),
    close: () => {},
    // The load may end its connections in any way.
    error: () => {},
  },
})
