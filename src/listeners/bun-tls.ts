/** MQTT over TLS under Bun. */
import type { Broker } from '../broker/broker.ts'
import { systemClock } from '../clock.ts'
import { given } from '../given.ts'
import type { AddressLimiter } from './address-limiter.ts'
import type { BunTlsOptions } from './bun.ts'
import { BunFront } from './bun-front.ts'
import { HandshakeTurns } from './handshake-turns.ts'
import { noteFailedHandshake } from './plain-text-client.ts'
import { MQTT_PROTOCOL } from './tls-listener.ts'
import type { TlsListener, TlsListenerOptions, TlsMaterial } from './tls-listener.ts'

/** The list of protocols of ALPN (RFC 7301 §3.1), which refuses every other protocol. */
const PROTOCOLS = Buffer.from([MQTT_PROTOCOL.length, ...Buffer.from(MQTT_PROTOCOL)])

function tlsOf({ cert, key }: TlsMaterial): BunTlsOptions {
  return { cert, key, ALPNProtocols: PROTOCOLS }
}

/** Listens for TLS 1.2 and 1.3. Throws the system's error when the port can't be bound. */
export async function listenBunTls(
  broker: Broker,
  material: TlsMaterial,
  limiter: AddressLimiter,
  { proxies, turns, ...address }: TlsListenerOptions,
): Promise<TlsListener> {
  const front = new BunFront({
    limiter,
    ...given({ proxies }),
    boundsProxies: true,
    tls: tlsOf(material),
    turns: turns ?? new HandshakeTurns(systemClock),
    clock: systemClock,
    refused: () => {
      broker.counters.connectionsRefused += 1
    },
    // The handshake is not over, so no packet can carry a reason.
    handshakeFailed: (error, peer) => {
      broker.log.debug({ err: error, peer }, 'handshake.failed')
      noteFailedHandshake(broker, error, peer)
    },
    accept: (newcomer) => {
      newcomer.settle()
      broker.accept(newcomer.toTransport(), { address: newcomer.client.address, listener: 'tls' })
    },
  })
  await front.listen(address)
  return {
    port: front.port,
    close: () => front.close(),
    setCertificate: (next) => {
      front.tls = tlsOf(next)
    },
  }
}
