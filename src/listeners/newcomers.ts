/**
 * The connections of a listening server before their first request: bounded by address, and cut
 * when the server closes.
 */
import type { Server, Socket } from 'node:net'
import { steadyNow } from '../clock.ts'
import type { AddressLimiter } from './address-limiter.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** Identifies an open connection. A TLS socket and the TCP socket under it have the same values. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort'>

interface NewcomersOptions {
  /** Proxies whose own addresses have no bounds. */
  readonly unbounded?: TrustedProxies
}

/** Holds each connection from its TCP handshake until `settled` is called for it. */
export class Newcomers {
  readonly #limiter: AddressLimiter
  readonly #refused: () => void
  readonly #unbounded: TrustedProxies | undefined
  readonly #sockets = new Map<string, Socket>()
  #isClosing = false

  /** `refused` is called for each connection beyond the bounds of its address. */
  constructor(limiter: AddressLimiter, refused: () => void, { unbounded }: NewcomersOptions = {}) {
    this.#limiter = limiter
    this.#refused = refused
    this.#unbounded = unbounded
  }

  /** To be called when the server's own listeners are in place. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#came(socket))
  }

  /** The connection has finished its first step. From now on another part bounds and ends it. */
  settled(socket: Ends): void {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket
    if (this.#sockets.delete(keyOf(address, port))) this.#limiter.settled(address, port)
  }

  /** Cuts all silent connections, and every new one: a closing server waits for its last socket. */
  close(): void {
    this.#isClosing = true
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #came(socket: Socket): void {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket
    if (this.#isClosing) {
      socket.destroy()
      return
    }
    const isBounded = this.#unbounded?.has(address) !== true
    if (isBounded && !this.#limiter.admit(address, port, steadyNow())) {
      this.#refused()
      socket.destroy()
      return
    }
    const key = keyOf(address, port)
    this.#sockets.set(key, socket)
    socket.once('close', () => {
      this.#sockets.delete(key)
      if (isBounded) this.#limiter.closed(address, port)
    })
  }
}

function keyOf(address: string, port: number): string {
  return `${address} ${port}`
}
