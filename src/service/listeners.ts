/** The listeners: HTTPS with MQTT over WebSocket, and MQTT over TLS. */
import { given } from '../given.ts'
import { AddressLimiter } from '../listeners/address-limiter.ts'
import { listenTls } from '../listeners/tls.ts'
import { TrustedProxies } from '../listeners/trusted-proxies.ts'
import { serveWebSocket } from '../listeners/websocket.ts'
import type { OpenedCertificates } from './certificates.ts'
import type { HttpServer } from './http.ts'
import type { Parts, StartContext } from './parts.ts'
import type { Shutdown } from './shutdown.ts'
import { listening } from './start-failure.ts'

/** Listens for HTTPS, and then for MQTT over TLS; resolves with the real ports. */
export async function openListeners(
  { settings, shutdown }: StartContext,
  { broker, handshakeTurns: turns }: Pick<Parts, 'broker' | 'handshakeTurns'>,
  http: HttpServer,
  certificates: OpenedCertificates,
): Promise<{ readonly httpsPort: number; readonly mqttsPort: number }> {
  const { host, httpsPort, mqttsPort, allowedOrigins, publicHost } = settings
  const servers: Closable[] = [http]
  closeInTwoSteps(servers, shutdown)
  const limiter = new AddressLimiter({
    attemptsPerSecond: settings.maximumMqttConnectsPerAddress,
    openPerAddress: settings.maximumMqttConnectionsPerAddress,
    pendingPerAddress: settings.maximumSilentMqttConnectionsPerAddress,
  })
  const proxies = TrustedProxies.of(settings.trustedProxies)
  serveWebSocket(http.server, broker, limiter, { pages: { allowedOrigins, publicHost }, proxies })
  const httpsAddress = await listening('FIELDGATE_HTTPS_PORT', httpsPort, () =>
    http.listen({
      host,
      port: httpsPort,
      // Fastify does not see that its server speaks TLS.
      listenTextResolver: (address) => `listening at ${address.replace(/^http:/, 'https:')}`,
    }),
  )
  const mqtts = await listening('FIELDGATE_MQTTS_PORT', mqttsPort, () =>
    listenTls(broker, certificates, limiter, { host, port: mqttsPort, turns, ...given({ proxies }) }),
  )
  servers.push(mqtts)
  certificates.follow((pair) => {
    http.setSecureContext(pair)
    mqtts.setCertificate(pair)
  })
  return { httpsPort: Number(new URL(httpsAddress).port), mqttsPort: mqtts.port }
}

interface Closable {
  close(): Promise<unknown>
}

/**
 * A server that closes takes no new connections at once, and is closed when its last connection
 * ends. The broker ends the connections between the two steps.
 */
function closeInTwoSteps(servers: readonly Closable[], shutdown: Shutdown): void {
  let closed: Promise<unknown> | undefined
  shutdown.add('admission', () => {
    closed = Promise.all(servers.toReversed().map((server) => server.close()))
    // The second step reports the error.
    closed.catch(() => {})
  })
  shutdown.add('listeners', () => closed)
}
