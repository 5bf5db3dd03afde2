/**
 * The owner of a socket under Bun. A socket has one owner at a time: first the part that lets it
 * in, then the part that speaks its protocol.
 */
import type { BunSocket, SocketHandlers } from './bun.ts'

export type OwnedSocket = BunSocket<SocketOwner>

export interface SocketOwner {
  /** Takes bytes in their order; the chunk is the owner's. */
  received(chunk: Buffer): void
  /** The system takes bytes again. */
  drained(): void
  /** The other side has sent its end. */
  ended(): void
  /** The socket is closed. Called once, and nothing is called after it. */
  socketClosed(error: Error | undefined): void
  /** The TLS handshake is over. */
  shookHands?(succeeded: boolean, error: Error | undefined): void
}

/** Passes each event to the owner that the socket has at that moment. */
export const TLS_HANDLERS: SocketHandlers<SocketOwner> = {
  open: () => {},
  data: ({ data: owner }, chunk) => owner.received(chunk),
  drain: ({ data: owner }) => owner.drained(),
  end: ({ data: owner }) => owner.ended(),
  close: ({ data: owner }, error) => owner.socketClosed(error),
  // `close` follows.
  error: () => {},
  handshake: ({ data: owner }, succeeded, error) => owner.shookHands?.(succeeded, error ?? undefined),
}

/**
 * The handlers of TCP sockets. `open` must give the socket its owner. The handlers are called for
 * the TCP socket under TLS as well, whose owner is told by the TLS socket. Without `readsData` the
 * owners of TCP sockets get no bytes: Bun then makes no buffer of the bytes beneath TLS.
 */
export function tcpHandlers(open: (socket: OwnedSocket) => void, readsData: boolean): SocketHandlers<SocketOwner> {
  const { data: _data, ...others } = TLS_HANDLERS
  return readsData ? { ...TLS_HANDLERS, open } : { ...others, open }
}

/** The owner of a TCP socket under TLS. */
export const NOBODY: SocketOwner = {
  received: () => {},
  drained: () => {},
  ended: () => {},
  socketClosed: () => {},
}
