/** A listener for MQTT over TLS, whatever runtime it runs on. */
import type { HandshakeTurns } from './handshake-turns.ts'
import type { Listener, ListenerOptions } from './listen.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** The only protocol that ALPN accepts here (RFC 7301). */
export const MQTT_PROTOCOL = 'mqtt'

/** Certificate chain and private key in PEM. */
export interface TlsMaterial {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface TlsListener extends Listener {
  /** New connections get the new certificate; open connections keep theirs. */
  setCertificate(material: TlsMaterial): void
}

export interface TlsListenerOptions extends ListenerOptions {
  /** Proxies that may name their clients by the PROXY protocol; absent: none. */
  readonly proxies?: TrustedProxies
  /** The turns of all listeners' TLS handshakes; absent: turns of this listener alone. */
  readonly turns?: HandshakeTurns
}
