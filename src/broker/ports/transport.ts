/** A duplex of bytes that a listener hands over: the broker never sees a socket. */
export interface TransportHandlers {
  /** Bytes in order; the chunk is the receiver's to keep. */
  data(chunk: Buffer): void
  /** What was buffered by `write` has gone out. */
  drained(): void
  /** The other end has closed, or the duplex failed; called once, and nothing after it. */
  closed(error: Error | undefined): void
}

export interface Transport {
  attach(handlers: TransportHandlers): void
  /** Takes ownership of the bytes. */
  write(bytes: Buffer): void
  /** Bytes written that the other end's socket has not taken yet. */
  readonly bufferedBytes: number
  /** Stops and goes on with reading. */
  pause(): void
  resume(): void
  /** Sends what is buffered, then closes; gives up after a bounded time. */
  end(): void
  /** Closes at once. */
  destroy(): void
}
