/**
 * TLS of a server over a stream of bytes, for connections whose first bytes have been read already:
 * a proxy may send its header together with the client's ClientHello.
 */
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { BunTlsOptions } from './bun.ts'
import type { ClientEnd } from './proxy-header.ts'

export interface StreamTls {
  readonly socket: TLSSocket
}

/**
 * Begins the handshake. `shookHands` is called once when it is over, with the error of a handshake
 * that failed.
 */
export function beginTlsOverStream(
  beneath: Duplex,
  { address, port }: ClientEnd,
  { cert, key, ALPNProtocols }: BunTlsOptions,
  shookHands: (error: Error | undefined) => void,
): StreamTls {
  const options = { isServer: true, cert, key, minVersion: 'TLSv1.2', ...(ALPNProtocols && { ALPNProtocols }) } as const
  const socket = new TLSSocket(beneath, options)
  Object.defineProperties(socket, { remoteAddress: { value: address }, remotePort: { value: port } })
  let isOver = false
  const tell = (error: Error | undefined): void => {
    if (isOver) return
    isOver = true
    shookHands(error)
  }
  socket.once('secure', () => tell(undefined))
  socket.on('error', (error) => tell(error))
  socket.once('close', () => tell(new Error('the connection is closed')))
  return { socket }
}
