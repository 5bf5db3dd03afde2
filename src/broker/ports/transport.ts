/** A duplex of bytes that a listener hands over: the broker never sees a socket. */
export interface TransportHandlers {
  /** Takes bytes in their order; the receiver may keep the chunk. */
  data(chunk: Buffer): void
  /** The bytes that `write` had buffered have gone out. */
  drained(): void
  /**
   * The other end has closed, or the duplex failed. Called once, and no other method is called
   * after it.
   */
  closed(error: Error | undefined): void
}

/** Bytes to write: those of a buffer from `start` up to `end`. The rest may be of other clients. */
export interface BytesPart {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

export interface Transport {
  attach(handlers: TransportHandlers): void
  /**
   * Writes the bytes. Nobody changes them afterwards, unless they are lent: then the caller uses
   * their memory, and the object, again after the call.
   */
  write(part: BytesPart, isLent: boolean): void
  /** Bytes written that the other end's socket has not taken yet. */
  readonly bufferedBytes: number
  /** Stops reading; `resume` goes on with it. */
  pause(): void
  resume(): void
  /** Sends the buffered bytes, then closes; gives up after a bounded time. */
  end(): void
  /** Closes at once. */
  destroy(): void
}
