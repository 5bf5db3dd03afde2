/** Gives the broker a TCP or TLS socket as a duplex of bytes. */
import type { Socket } from 'node:net'
import type { BytesPart, Transport, TransportHandlers } from '../broker/ports/transport.ts'
import { heldBytes } from './held-bytes.ts'
import { LINGER_BYTES, LINGER_MS } from './linger.ts'

/**
 * A class and no closures: a hundred thousand idle connections share its methods, and closures took
 * 1 KB for each connection.
 */
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

  write(part: BytesPart, isLent: boolean): void {
    if (!this.#socket.destroyed) this.#socket.write(heldBytes(part, isLent))
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
    // Nobody reads the bytes that come now.
    let bytes = 0
    this.#handlers = undefined
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > LINGER_BYTES) socket.pause()
    })
    socket.end()
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

/** The client has closed its end, so this side closes too. */
function endSocket(this: Socket): void {
  this.end()
}
