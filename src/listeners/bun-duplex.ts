/** A socket of Bun as a stream: for the HTTP server, and for TLS over a stream. */
import { Duplex } from 'node:stream'
import { LINGER_BYTES, LINGER_MS } from './linger.ts'
import type { ClientEnd } from './proxy-header.ts'
import type { OwnedSocket, SocketOwner } from './socket-owner.ts'

type Callback = (error?: Error | null) => void

/** Bytes that the system has not taken yet, and the stream's callback for them. */
interface UnsentBytes {
  readonly bytes: Buffer
  readonly done: Callback
}

export class BunDuplex extends Duplex implements SocketOwner {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly remoteFamily: 'IPv4' | 'IPv6'
  /** Fastify reads the request's scheme from it. */
  readonly encrypted: boolean
  bytesRead = 0
  bytesWritten = 0
  readonly #socket: OwnedSocket
  readonly #newcomer: { left(): void } | undefined
  #unsent: UnsentBytes | undefined = undefined
  #hasShutDown = false
  #ignoredBytes = 0
  #lingering: NodeJS.Timeout | undefined = undefined
  #isClosed = false

  /** Becomes the owner of the socket. `newcomer` is told when the socket is closed. */
  constructor(
    socket: OwnedSocket,
    { address, port }: ClientEnd,
    { encrypted, newcomer }: { readonly encrypted: boolean; readonly newcomer?: { left(): void } },
  ) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#newcomer = newcomer
    this.remoteAddress = address
    this.remotePort = port
    this.remoteFamily = address.includes(':') ? 'IPv6' : 'IPv4'
    this.encrypted = encrypted
    socket.data = this
    // Without a listener, the failure of one connection would end the process.
    this.on('error', () => {})
  }

  received(chunk: Buffer): void {
    this.bytesRead += chunk.length
    if (this.destroyed) {
      this.#ignoredBytes += chunk.length
      if (this.#ignoredBytes > LINGER_BYTES) this.#socket.pause()
    } else if (!this.push(chunk)) this.#socket.pause()
  }

  drained(): void {
    const unsent = this.#unsent
    if (unsent === undefined) return
    this.#unsent = undefined
    this._write(unsent.bytes, 'buffer', unsent.done)
  }

  ended(): void {
    if (!this.destroyed) this.push(null)
  }

  socketClosed(error: Error | undefined): void {
    this.#isClosed = true
    clearTimeout(this.#lingering)
    this.#newcomer?.left()
    this.destroy(error)
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(bytes: Buffer, _encoding: string, done: Callback): void {
    const taken = Math.max(this.#socket.write(bytes), 0)
    this.bytesWritten += taken
    if (taken === bytes.length) done()
    else this.#unsent = { bytes: bytes.subarray(taken), done }
  }

  override _final(done: Callback): void {
    this.#hasShutDown = true
    this.#socket.shutdown()
    done()
  }

  /**
   * A socket that has sent its end stays open for a moment, so that a reset does not overtake the
   * last bytes.
   */
  override _destroy(error: Error | null, done: Callback): void {
    const unsent = this.#unsent
    this.#unsent = undefined
    if (!this.#isClosed) {
      if (this.#hasShutDown && error === null) this.#linger()
      else this.#socket.terminate()
    }
    done(error)
    unsent?.done(error ?? new Error('the connection is closed'))
  }

  /** The functions of a net.Socket that an HTTP server calls. Bun's sockets don't delay bytes. */
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setTimeout(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy()
    else this.end(() => this.destroy())
  }

  #linger(): void {
    this.#socket.resume()
    this.#lingering = setTimeout(() => this.#socket.terminate(), LINGER_MS)
    this.#lingering.unref()
  }
}
