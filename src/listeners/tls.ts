/** MQTT over TLS, by the sockets of the runtime. */
import type { Broker } from '../broker/broker.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { bun } from './bun.ts'
import { listenBunTls } from './bun-tls.ts'
import { listenNodeTls } from './node-tls.ts'
import type { TlsListener, TlsListenerOptions, TlsMaterial } from './tls-listener.ts'

/** Listens for TLS 1.2 and 1.3. Throws the system's error when the port can't be bound. */
export function listenTls(
  broker: Broker,
  material: TlsMaterial,
  limiter: AddressLimiter,
  options: TlsListenerOptions,
): Promise<TlsListener> {
  const listen = bun === undefined ? listenNodeTls : listenBunTls
  return listen(broker, material, limiter, options)
}
