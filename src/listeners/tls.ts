/**
 * MQTT over TLS: a socket that has shaken hands becomes a duplex of bytes and a peer, then the
 * broker's.
 */
import { createServer } from 'node:tls'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Broker } from '../broker/broker.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { listen } from './listen.ts'
import type { Listener, ListenerOptions } from './listen.ts'
import { Newcomers } from './newcomers.ts'
import { SocketTransport } from './socket-transport.ts'

/** Time for a TLS handshake; then the socket is closed. Stops half-open handshakes. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/** The one protocol of ALPN here (RFC 7301). */
const PROTOCOL = 'mqtt'

export interface TlsListener extends Listener {
  /** New connections get the new certificate; the ones that are open stay. */
  setCertificate(context: SecureContextOptions): void
}

/** Listens for TLS 1.2 and 1.3. Throws the system's error when the port can't be had. */
export async function listenTls(
  broker: Broker,
  context: SecureContextOptions,
  limiter: AddressLimiter,
  options: ListenerOptions,
): Promise<TlsListener> {
  const server = createServer({
    ...context,
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    ALPNCallback: chooseProtocol,
    noDelay: true,
  })
  const newcomers = new Newcomers(limiter, () => {
    broker.counters.connectionsRefused += 1
  })
  newcomers.watch(server)
  server.on('secureConnection', (socket: TLSSocket) => {
    newcomers.settled(socket)
    broker.accept(new SocketTransport(socket), { address: socket.remoteAddress ?? '', listener: 'tls' })
  })
  // Before the handshake is over there is nobody to tell.
  server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
    broker.log.debug({ err: error, peer: socket.remoteAddress }, 'handshake.failed')
    socket.destroy()
  })
  const listener = await listen(server, options)
  return {
    port: listener.port,
    close: () => {
      const closed = listener.close()
      newcomers.close()
      return closed
    },
    setCertificate: (next) => server.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
  }
}

/**
 * A client that names protocols must name ours, or its handshake ends: so nobody leads a browser
 * here. A list in the options would be copied for each connection.
 */
function chooseProtocol({ protocols }: { readonly protocols: readonly string[] }): string | undefined {
  return protocols.includes(PROTOCOL) ? PROTOCOL : undefined
}
