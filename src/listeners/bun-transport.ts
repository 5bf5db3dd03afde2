/** Gives the broker a socket of Bun as a duplex of bytes. */
import type { BytesPart, Transport, TransportHandlers } from '../broker/ports/transport.ts'
import { heldBytes } from './held-bytes.ts'
import { LINGER_BYTES, LINGER_MS } from './linger.ts'
import type { OwnedSocket, SocketOwner } from './socket-owner.ts'

export class BunTransport implements Transport, SocketOwner {
  readonly #socket: OwnedSocket
  readonly #left: { left(): void } | undefined
  #handlers: TransportHandlers | undefined = undefined
  /** Bytes that the system has not taken yet, in their order. */
  #unsent: Buffer[] | undefined = undefined
  #unsentBytes = 0
  /** True from the moment that this side shall send its end. */
  #isEnding = false
  #closed = false
  /** Bytes that nobody reads any more; counted from `end` on. */
  #ignoredBytes = 0
  #lingering: NodeJS.Timeout | undefined = undefined

  /** Becomes the owner of the socket. `newcomer` is told when the socket is closed. */
  constructor(socket: OwnedSocket, newcomer?: { left(): void }) {
    this.#socket = socket
    this.#left = newcomer
    socket.data = this
  }

  attach(handlers: TransportHandlers): void {
    this.#handlers = handlers
  }

  write({ bytes, start, end }: BytesPart, isLent: boolean): void {
    if (this.#closed) return
    const length = end - start
    const taken = this.#unsent === undefined ? Math.max(this.#socket.write(bytes, start, length), 0) : 0
    if (taken === length) return
    this.#unsent ??= []
    this.#unsent.push(heldBytes({ bytes, start: start + taken, end }, isLent))
    this.#unsentBytes += length - taken
  }

  get bufferedBytes(): number {
    return this.#unsentBytes
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  end(): void {
    if (this.#closed) return
    this.#closed = true
    this.#handlers = undefined
    this.#socket.resume()
    this.#lingering = setTimeout(() => this.#socket.terminate(), LINGER_MS)
    this.#lingering.unref()
    this.#sendEnd()
  }

  destroy(): void {
    this.#closed = true
    this.#socket.terminate()
  }

  received(chunk: Buffer): void {
    if (!this.#closed) {
      this.#handlers?.data(chunk)
      return
    }
    this.#ignoredBytes += chunk.length
    if (this.#ignoredBytes > LINGER_BYTES) this.#socket.pause()
  }

  drained(): void {
    const waiting = this.#unsent
    if (waiting === undefined) return
    this.#unsent = undefined
    this.#unsentBytes = 0
    let isFull = false
    for (const bytes of waiting) {
      const taken = isFull ? 0 : Math.max(this.#socket.write(bytes), 0)
      if (taken < bytes.length) {
        isFull = true
        this.#unsent ??= []
        this.#unsent.push(bytes.subarray(taken))
        this.#unsentBytes += bytes.length - taken
      }
    }
    if (isFull) return
    if (this.#isEnding) this.#socket.shutdown()
    else this.#handlers?.drained()
  }

  /** The client has closed its end, so this side closes too. */
  ended(): void {
    this.#sendEnd()
  }

  socketClosed(error: Error | undefined): void {
    clearTimeout(this.#lingering)
    this.#left?.left()
    if (this.#closed) return
    this.#closed = true
    this.#handlers?.closed(error)
  }

  /** Sends the end of this side behind the bytes that wait. */
  #sendEnd(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    if (this.#unsent === undefined) this.#socket.shutdown()
  }
}
