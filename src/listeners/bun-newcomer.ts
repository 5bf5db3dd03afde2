/** A connection under Bun, from its arrival until it has come through; see `BunFront`. */
import type { Transport } from '../broker/ports/transport.ts'
import { BunDuplex } from './bun-duplex.ts'
import type { BunFront } from './bun-front.ts'
import { BunTransport } from './bun-transport.ts'
import type { WaitingHandshake } from './handshake-turns.ts'
import { readProxyHeader } from './proxy-header.ts'
import type { ClientEnd } from './proxy-header.ts'
import type { CountingStream } from './http-connections.ts'
import { NOBODY, TLS_HANDLERS } from './socket-owner.ts'
import type { OwnedSocket, SocketOwner } from './socket-owner.ts'
import { beginTlsOverStream } from './stream-tls.ts'
import type { StreamTls } from './stream-tls.ts'
import { SocketTransport } from './socket-transport.ts'

const NOTHING: Buffer = Buffer.alloc(0)
/** The processor time of a full handshake; see `WaitingHandshake.laterMs`. */
const HANDSHAKE_MS = 0.25

export class BunNewcomer implements SocketOwner, WaitingHandshake {
  /**
   * The client's end of the connection: of the client that a trusted proxy has named, if it has.
   */
  client: ClientEnd
  /** True when a trusted proxy opened the connection for a client of its own, and said so. */
  isForwarded = false
  /** True when the connection counts in the bounds of its address. */
  isBounded = false
  isOver = false
  readonly #front: BunFront
  #socket: OwnedSocket
  /** The bytes of a header of the PROXY protocol, and those that came with it. */
  #bytes = NOTHING
  #isShakingHands = false
  /** TLS over a stream: its first bytes came together with the header. */
  #stream: StreamTls | undefined = undefined

  constructor(front: BunFront, socket: OwnedSocket) {
    this.#front = front
    this.#socket = socket
    this.client = { address: socket.remoteAddress, port: socket.remotePort }
    socket.data = this
  }

  /** The connection is a trusted proxy's: its first bytes may name the client. */
  readHeader(): void {
    this.#front.readsHeader(this)
  }

  /** Bun handles the ClientHello when it next reads sockets. */
  get laterMs(): number {
    return HANDSHAKE_MS
  }

  /** Begins TLS. Called in its turn. */
  begin(): void {
    const { tls } = this.#front
    if (tls === undefined) return
    this.#front.shakesHands(this)
    if (this.#bytes.length > 0) {
      this.#beginOverStream()
      return
    }
    this.#isShakingHands = true
    const upgrade = { isServer: true, tls, data: this as SocketOwner, socket: TLS_HANDLERS } as const
    const [beneath, socket] = this.#socket.upgradeTLS(upgrade)
    beneath.data = NOBODY
    this.#socket = socket
    socket.resume()
  }

  /** The connection has finished its first step: it is silent no longer. */
  settle(): void {
    this.#front.settled(this)
  }

  /** The connection for the broker, which owns it from now on. */
  toTransport(): Transport {
    return this.#stream === undefined ? new BunTransport(this.#socket, this) : new SocketTransport(this.#stream.socket)
  }

  /** The connection for an HTTP server, which owns it from now on. */
  toStream(): CountingStream {
    if (this.#stream !== undefined) return this.#stream.socket
    const encrypted = this.#front.tls !== undefined
    const stream = new BunDuplex(this.#socket, this.client, { encrypted, newcomer: this })
    if (this.#bytes.length > 0) stream.unshift(this.#takeBytes())
    return stream
  }

  cut(): void {
    this.#stream?.socket.destroy()
    this.#socket.terminate()
  }

  shookHands(succeeded: boolean, error: Error | undefined): void {
    if (succeeded) {
      this.#isShakingHands = false
      this.#front.secured(this)
      return
    }
    this.#front.options.handshakeFailed(error, this.client.address)
    if (this.#stream !== undefined) this.cut()
    // A reset could overtake the alert that tells the client the reason. The deadline of the
    // handshake cuts a connection that stays open.
    else this.#socket.shutdown()
  }

  received(chunk: Buffer): void {
    if (this.#isShakingHands) {
      // Nobody could read them: the owner comes with the end of the handshake.
      this.cut()
      return
    }
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    const header = readProxyHeader(this.#bytes)
    if (header.kind === 'incomplete') return
    if (header.kind === 'malformed') {
      this.cut()
      return
    }
    this.#socket.pause()
    if (header.kind === 'header') {
      this.isForwarded = true
      this.#bytes = this.#bytes.subarray(header.length)
      this.client = header.client ?? this.client
    }
    this.#front.admit(this)
  }

  drained(): void {}

  /** Nothing has been said yet that could be answered. */
  ended(): void {
    this.cut()
  }

  socketClosed(): void {
    this.left()
  }

  /** The connection is closed, whoever owned it. */
  left(): void {
    if (this.isOver) return
    this.isOver = true
    this.#front.left(this)
  }

  #beginOverStream(): void {
    const { tls } = this.#front
    if (tls === undefined) return
    const beneath = new BunDuplex(this.#socket, this.client, { encrypted: false, newcomer: this })
    beneath.unshift(this.#takeBytes())
    this.#stream = beginTlsOverStream(beneath, this.client, tls, (error) => this.shookHands(error === undefined, error))
  }

  #takeBytes(): Buffer {
    const bytes = this.#bytes
    this.#bytes = NOTHING
    return bytes
  }
}
