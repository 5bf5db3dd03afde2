/**
 * The connections of a listening server that have not said yet what they come for: bounded by
 * address, and cut when the server closes.
 */
import type { Server, Socket } from 'node:net'
import { steadyNow } from '../clock.ts'
import type { AddressLimiter } from './address-limiter.ts'

/**
 * What tells a connection apart while it is open. A TLS socket and the TCP socket under it have the
 * same.
 */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort'>

/** From the TCP handshake on, until `settled` is called for it. */
export class Newcomers {
  readonly #limiter: AddressLimiter
  readonly #refused: () => void
  readonly #sockets = new Map<string, Socket>()
  #isClosing = false

  /** `refused` is told of each connection that its address may not have. */
  constructor(limiter: AddressLimiter, refused: () => void) {
    this.#limiter = limiter
    this.#refused = refused
  }

  /** Call it when the server's own listeners are in place. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#came(socket))
  }

  /**
   * The connection is through with what comes first: it is somebody else's to bound, and to end.
   */
  settled(socket: Ends): void {
    const { remoteAddress: address = '', remotePort: port = 0 } = socket
    if (this.#sockets.delete(keyOf(address, port))) this.#limiter.settled(address, port)
  }

  /**
   * Cuts all that are silent now, and all that come: a server that closes waits for its last
   * socket.
   */
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
    if (!this.#limiter.admit(address, port, steadyNow())) {
      this.#refused()
      socket.destroy()
      return
    }
    const key = keyOf(address, port)
    this.#sockets.set(key, socket)
    socket.once('close', () => {
      this.#sockets.delete(key)
      this.#limiter.closed(address, port)
    })
  }
}

function keyOf(address: string, port: number): string {
  return `${address} ${port}`
}
