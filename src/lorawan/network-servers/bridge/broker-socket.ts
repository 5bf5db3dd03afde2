/** Opens a socket to another broker: TCP or TLS. */
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { given } from '../../../given.ts'

export interface BrokerAddress {
  readonly host: string
  readonly port: number
  readonly tls: TlsSettings | undefined
}

export interface TlsSettings {
  /** PEM of the certificate authorities to trust, in the place of the system's. */
  readonly ca: string | undefined
  /** PEM of this side's certificate, for a broker that asks for one; `key` is its private key. */
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** How long the TCP connection and the TLS handshake may take. */
const OPEN_MS = 15_000

/**
 * Resolves with an open socket; rejects with the reason in words. TLS certificates are always
 * verified, with the name.
 */
export function openBrokerSocket({ host, port, tls }: BrokerAddress): Promise<Socket> {
  const socket =
    tls === undefined
      ? connectTcp({ host, port })
      : connectTls({
          host,
          port,
          ...(isIpAddress(host) ? {} : { servername: host }),
          ...given({ ca: tls.ca, cert: tls.cert, key: tls.key }),
        })
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  socket.setNoDelay(true)
  socket.setTimeout(OPEN_MS, () => socket.destroy(new Error(`no connection within ${OPEN_MS / 1000} seconds`)))
  socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
    socket.setTimeout(0)
    socket.off('error', reject)
    resolve(socket)
  })
  socket.once('error', reject)
  return promise
}

function isIpAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(':')
}
