/**
 * The PROXY protocol in front of a TLS server: reads the header that a trusted proxy sends before
 * the client's TLS handshake, and gives the connection the client's address.
 */
import type { Server, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { takeConnections } from './listen.ts'
import { readProxyHeader } from './proxy-header.ts'
import type { ClientEnd } from './proxy-header.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/**
 * Until the end of the TLS handshake, with the header before it. Stops connections that never send
 * a whole header.
 */
const DEADLINE_MS = 10_000

const NOTHING: Buffer = Buffer.alloc(0)

export class ProxiedConnections {
  readonly #proxies: TrustedProxies
  /** Connections of trusted proxies whose first bytes have not come yet. */
  readonly #waiting = new Set<Socket>()
  /** By the ends of the TCP connection: the named clients whose TLS handshake is not over. */
  readonly #shakingHands = new Map<string, Handshake>()
  /** The sockets of connections that began with a header. */
  readonly #forwarded = new WeakSet<Socket>()
  #isClosing = false

  constructor(proxies: TrustedProxies) {
    this.#proxies = proxies
  }

  /**
   * Puts the reading of headers before all listeners that the server has for a new connection.
   * Connections of peers that are no trusted proxies pass at once.
   */
  standBefore(server: Server): void {
    const pass = takeConnections(server)
    server.on('connection', (socket: Socket) => {
      if (this.#isClosing || !this.#proxies.has(socket.remoteAddress)) pass(socket)
      else this.#read(socket, pass)
    })
    // Before the listeners that read the address of the socket.
    server.prependListener('secureConnection', (socket: TLSSocket) => this.#shookHands(socket))
    server.prependListener('tlsClientError', (_error: Error, socket: TLSSocket) => this.#shookHands(socket))
  }

  /** Whether the connection began with a header: its client is then elsewhere. */
  isForwarded(socket: Socket): boolean {
    return this.#forwarded.has(socket)
  }

  /**
   * Cuts the connections whose first bytes have not come yet. Later connections pass at once, to
   * listeners that refuse them.
   */
  close(): void {
    this.#isClosing = true
    for (const socket of this.#waiting) socket.destroy()
  }

  #read(socket: Socket, pass: (socket: Socket) => void): void {
    const ends = endsOf(socket)
    const deadline = setTimeout(() => socket.destroy(), DEADLINE_MS)
    const destroy = (): void => void socket.destroy()
    this.#waiting.add(socket)
    socket.on('error', destroy)
    socket.once('end', destroy)
    socket.once('close', () => {
      clearTimeout(deadline)
      this.#waiting.delete(socket)
      this.#shakingHands.delete(ends)
    })
    let bytes = NOTHING
    const readable = (): void => {
      let header: ReturnType<typeof readProxyHeader>
      // The stream tells of bytes once, and gives them chunk by chunk.
      do {
        const chunk = socket.read() as Buffer | null
        if (chunk === null) return
        bytes = Buffer.concat([bytes, chunk])
        header = readProxyHeader(bytes)
      } while (header.kind === 'incomplete')
      socket.off('readable', readable)
      socket.off('end', destroy)
      this.#waiting.delete(socket)
      if (header.kind === 'malformed') {
        socket.destroy()
        return
      }
      const { client, length } = header.kind === 'header' ? header : { client: undefined, length: 0 }
      this.#shakingHands.set(ends, { deadline, client, isForwarded: header.kind === 'header' })
      if (header.kind === 'header') this.#forwarded.add(socket)
      showClient(socket, client)
      const rest = bytes.subarray(length)
      // The listeners of this connection would keep the bytes for as long as it lives.
      bytes = NOTHING
      if (rest.length > 0) socket.unshift(rest)
      pass(socket)
    }
    socket.on('readable', readable)
  }

  /**
   * Gives the TLS socket the client's address, when the handshake has succeeded or failed. Before,
   * it has the ends of the TCP connection: the proxy's address.
   */
  #shookHands(socket: TLSSocket): void {
    const ends = endsOf(socket)
    const handshake = this.#shakingHands.get(ends)
    if (handshake === undefined) return
    clearTimeout(handshake.deadline)
    this.#shakingHands.delete(ends)
    if (handshake.isForwarded) this.#forwarded.add(socket)
    showClient(socket, handshake.client)
  }
}

interface Handshake {
  readonly deadline: NodeJS.Timeout
  readonly client: ClientEnd | undefined
  readonly isForwarded: boolean
}

/** Identifies an open TCP connection. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}

/** From now on the socket says that it comes from the client. */
function showClient(socket: Socket, client: ClientEnd | undefined): void {
  if (client === undefined) return
  Object.defineProperties(socket, {
    remoteAddress: { value: client.address },
    remotePort: { value: client.port },
    remoteFamily: { value: client.address.includes(':') ? 'IPv6' : 'IPv4' },
  })
}
