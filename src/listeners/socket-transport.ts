/** A TCP or TLS socket as the broker's duplex of bytes. */
import type { Socket } from 'node:net'
import type { Transport, TransportHandlers } from '../broker/transport.ts'

/** Time for what was written to reach a client that we close on; one that does not read is cut off then. */
const LINGER_MS = 5_000

/** A class, so that a hundred thousand idle connections share its methods: as closures they took 1 KB each. */
export class SocketTransport implements Transport {
  readonly #socket: Socket
  #handlers: TransportHandlers | undefined = undefined
  #closed = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#handlers?.data(chunk))
    socket.on('drain', () => this.#handlers?.drained())
    socket.on('error', (error) => this.#close(error))
    socket.on('end', endSocket)
    socket.on('close', () => this.#close(undefined))
  }

  attach(handlers: TransportHandlers): void {
    this.#handlers = handlers
  }

  write(bytes: Buffer): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  end(): void {
    const socket = this.#socket
    this.#closed = true
    socket.end()
    // Reads on, so that a reset does not overtake our last packet; what comes is nobody's.
    this.#handlers = undefined
    socket.resume()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    timer.unref()
    socket.once('close', () => clearTimeout(timer))
  }

  destroy(): void {
    this.#closed = true
    this.#socket.destroy()
  }

  #close(error: Error | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#handlers?.closed(error)
  }
}

/** The client has said its last: so do we. */
function endSocket(this: Socket): void {
  this.end()
}
