/**
 * MQTT over TLS under Node: after its handshake, a socket becomes a duplex of bytes with a peer,
 * and is given to the broker.
 */
import { createServer } from 'node:tls'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Broker } from '../broker/broker.ts'
import { given } from '../given.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { HANDSHAKE_TIMEOUT_MS } from './arrivals.ts'
import { listen } from './listen.ts'
import { NodeNewcomers } from './node-newcomers.ts'
import { noteFailedHandshake } from './plain-text-client.ts'
import { SocketTransport } from './socket-transport.ts'
import { MQTT_PROTOCOL } from './tls-listener.ts'
import type { TlsListener, TlsListenerOptions } from './tls-listener.ts'

/** Listens for TLS 1.2 and 1.3. Throws the system's error when the port can't be bound. */
export async function listenNodeTls(
  broker: Broker,
  context: SecureContextOptions,
  limiter: AddressLimiter,
  options: TlsListenerOptions,
): Promise<TlsListener> {
  const server = createServer({
    ...context,
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    ALPNCallback: chooseProtocol,
    noDelay: true,
  })
  const refused = (): void => {
    broker.counters.connectionsRefused += 1
  }
  const newcomers = new NodeNewcomers(limiter, refused, given({ proxies: options.proxies, turns: options.turns }))
  newcomers.watch(server)
  server.on('secureConnection', (socket: TLSSocket) => {
    newcomers.settled(socket)
    broker.accept(new SocketTransport(socket), { address: socket.remoteAddress ?? '', listener: 'tls' })
  })
  // The handshake is not over, so no packet can carry a reason.
  server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
    broker.log.debug({ err: error, peer: socket.remoteAddress }, 'handshake.failed')
    noteFailedHandshake(broker, error, socket.remoteAddress)
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
 * Ends the handshake of a client that names protocols without ours, so that no page can lead a
 * browser here. A function is used because a list in the options would be copied for each
 * connection.
 */
function chooseProtocol({ protocols }: { readonly protocols: readonly string[] }): string | undefined {
  return protocols.includes(MQTT_PROTOCOL) ? MQTT_PROTOCOL : undefined
}
