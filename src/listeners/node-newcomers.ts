/**
 * The connections of a listening server of Node before their first request: bounded by address, and
 * cut when the server closes.
 */
import type { Server, Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { steadyNow, systemClock } from '../clock.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { Arrivals } from './arrivals.ts'
import { HandshakeTurns } from './handshake-turns.ts'
import { takeConnections } from './listen.ts'
import { ProxiedConnections } from './proxied-connections.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** Identifies an open connection. A TLS socket and the TCP socket under it have the same values. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort'>

export interface NodeNewcomersOptions {
  /**
   * Proxies that name their clients by the PROXY protocol. The bounds then hold for the address of
   * the client.
   */
  readonly proxies?: TrustedProxies
  /** Whether the bounds hold for the address of a proxy that names no client; true by default. */
  readonly boundsProxies?: boolean
  /** The turns of all listeners' TLS handshakes; absent: turns of this listener alone. */
  readonly turns?: HandshakeTurns
}

/** Holds each connection from its TCP handshake until `settled` is called for it. */
export class NodeNewcomers {
  readonly speaksTls = false
  readonly #limiter: AddressLimiter
  readonly #refused: () => void
  readonly #unbounded: TrustedProxies | undefined
  readonly #proxied: ProxiedConnections | undefined
  readonly #arrivals: Arrivals
  readonly #sockets = new Map<string, Socket>()
  #isClosing = false

  /** `refused` is called for each connection beyond the bounds of its address. */
  constructor(limiter: AddressLimiter, refused: () => void, options: NodeNewcomersOptions = {}) {
    const { proxies, boundsProxies = true, turns = new HandshakeTurns(systemClock) } = options
    this.#limiter = limiter
    this.#refused = refused
    this.#unbounded = boundsProxies ? undefined : proxies
    this.#proxied = proxies && new ProxiedConnections(proxies)
    this.#arrivals = new Arrivals({ turns, clock: systemClock, refused })
  }

  /**
   * Stands before the listeners that the server has for a new connection, so it is to be called
   * when these are in place. A connection beyond the bounds costs no TLS.
   */
  watch(server: Server): void {
    const pass = takeConnections(server)
    const speaksTls = server instanceof TlsServer
    server.on('connection', (socket: Socket) => {
      if (!this.#admits(socket)) socket.destroy()
      else if (speaksTls) this.#arrivals.enter(socket, socket.remoteAddress ?? '', () => pass(socket))
      else pass(socket)
    })
    server.on('secureConnection', (socket: TLSSocket) => {
      const { remoteAddress = '', remotePort = 0 } = socket
      const beneath = this.#sockets.get(keyOf(remoteAddress, remotePort))
      if (beneath !== undefined) this.#arrivals.secured(beneath)
    })
    this.#proxied?.standBefore(server)
  }

  /** The server does the TLS itself. */
  setCertificate(): void {}

  /** The connection has finished its first step. From now on another part bounds and ends it. */
  settled(socket: Ends): void {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket
    if (this.#sockets.delete(keyOf(address, port))) this.#limiter.settled(address, port)
  }

  /** Whether a proxy in front of the server opened the connection for a client of its own. */
  isForwarded(socket: Socket): boolean {
    return this.#proxied?.isForwarded(socket) === true
  }

  /** Cuts all silent connections, and every new one: a closing server waits for its last socket. */
  close(): void {
    this.#isClosing = true
    this.#proxied?.close()
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #admits(socket: Socket): boolean {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket
    if (this.#isClosing) return false
    const isBounded = this.#unbounded?.has(address) !== true
    if (isBounded && !this.#limiter.admit(address, port, steadyNow())) {
      this.#refused()
      return false
    }
    const key = keyOf(address, port)
    this.#sockets.set(key, socket)
    socket.once('close', () => {
      // A client may have the same port behind two proxies.
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key)
      if (isBounded) this.#limiter.closed(address, port)
    })
    return true
  }
}

function keyOf(address: string, port: number): string {
  return `${address} ${port}`
}
