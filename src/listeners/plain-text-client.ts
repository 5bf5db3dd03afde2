/**
 * Recognizes clients that speak without TLS at a port that takes TLS alone. They can't be told: the
 * people who look for a silent client can.
 */
import type { Broker } from '../broker/broker.ts'

/**
 * The words of OpenSSL (Node) and of BoringSSL (Bun) for first bytes that are no TLS record, and
 * for first bytes that are an HTTP request.
 */
const NO_TLS = /wrong.version.number|http.request/i

/** Keeps a failed handshake as a refusal if the client spoke without TLS. */
export function noteFailedHandshake(broker: Broker, error: Error | undefined, address: string | undefined): void {
  if (error === undefined || !NO_TLS.test(error.message)) return
  broker.refusedBeforeConnect(
    'tls_missing',
    'the client spoke without TLS at a port that takes TLS only',
    address ?? '',
  )
}
