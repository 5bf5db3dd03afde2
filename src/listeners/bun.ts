/**
 * The part of Bun's socket API that the listeners use. Bun has one set of handlers for all sockets
 * of a listener, and `data` tells whose socket it is: an idle connection costs a fraction of a
 * stream with its emitters.
 */

/** A TCP or TLS socket. `Owner` gets its events; see `SocketHandlers`. */
export interface BunSocket<Owner> {
  data: Owner
  readonly remoteAddress: string
  readonly remotePort: number
  /**
   * Writes the bytes, or `length` of them from `start` on. Returns the number of bytes that the
   * system has taken; -1 on a closed socket.
   */
  write(bytes: Uint8Array, start?: number, length?: number): number
  /** Sends the end of this side (for TLS with close_notify), and goes on reading. */
  shutdown(): void
  /** Closes both sides at once, with a reset. */
  terminate(): void
  pause(): void
  resume(): void
  /**
   * Begins TLS on a TCP socket. Returns the socket beneath and the TLS socket. Afterwards only the
   * TLS socket is to be used: the socket beneath can't be closed.
   */
  upgradeTLS<TlsOwner>(options: {
    readonly isServer: true
    readonly tls: BunTlsOptions
    readonly data: TlsOwner
    readonly socket: SocketHandlers<TlsOwner>
  }): readonly [beneath: BunSocket<Owner>, tls: BunSocket<TlsOwner>]
}

/** Bun keeps one TLS context for options of the same content, so sessions can be resumed. */
export interface BunTlsOptions {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** The protocols of ALPN in the form of RFC 7301 §3.1: each with its length before it. */
  readonly ALPNProtocols?: Buffer
}

/**
 * The handlers of all sockets of a listener. A socket without `data` or without `end` is not told
 * of these events.
 */
export interface SocketHandlers<Owner> {
  readonly open: (socket: BunSocket<Owner>) => void
  /** Takes bytes in their order. Each chunk is a buffer of its own. */
  readonly data?: (socket: BunSocket<Owner>, chunk: Buffer) => void
  /** The system takes bytes again. */
  readonly drain: (socket: BunSocket<Owner>) => void
  /** The other side has sent its end. */
  readonly end: (socket: BunSocket<Owner>) => void
  readonly close: (socket: BunSocket<Owner>, error?: Error) => void
  readonly error: (socket: BunSocket<Owner>, error: Error) => void
  /** The TLS handshake is over; `succeeded` is false when it failed. */
  readonly handshake?: (socket: BunSocket<Owner>, succeeded: boolean, error: Error | null) => void
}

interface BunListener {
  readonly port: number
  /** Takes no further connections. With `true` the open ones are closed. */
  stop(closesConnections: boolean): void
}

interface BunApi {
  /** Throws the system's error when the port can't be bound. */
  listen<Owner>(options: {
    readonly hostname: string
    readonly port: number
    /** True: a socket whose other side has ended can still be written to. */
    readonly allowHalfOpen: true
    readonly socket: SocketHandlers<Owner>
  }): BunListener
}

/** Bun's API; undefined under Node. */
export const bun: BunApi | undefined = (globalThis as { readonly Bun?: BunApi }).Bun
