/** The carrier for a deployment whose service does not run: it runs the routes in this process. */
import { organizationBounds } from '../../settings/bounds.ts'
import type { Settings } from '../../settings/settings.ts'
import { createHttpServer } from '../../http/server.ts'
import { WorkTurns } from '../../http/shares/work-turns.ts'
import { systemClock } from '../../clock.ts'
import { Codecs } from '../../lorawan/codecs/codecs.ts'
import type { Registry } from '../../identity/registry.ts'
import { createPinoLogger } from '../../pino-logger.ts'
import { createNetworkServerSetups } from '../../service/network-server-setups.ts'
import { given } from '../../given.ts'
import type { Carrier } from './api-client.ts'

/** Carries requests to the routes in this process. No port listens, and no connection is live. */
export async function createInProcessCarrier(registry: Registry, settings: Settings, jwt: string): Promise<Carrier> {
  const log = createPinoLogger({ level: 'error', format: 'text' })
  // Scripts and their test vectors are tried as by a service. The processes start with the first.
  const codecs = new Codecs({
    organizationOf: async (applicationId) => registry.directory.organizationOf(applicationId),
    clock: systemClock,
    log,
  })
  const server = await createHttpServer({
    registry,
    codecs,
    clock: systemClock,
    turns: new WorkTurns(systemClock),
    log,
    settings: {
      baseUrl: `https://${settings.publicHost}:${settings.httpsPort}`,
      brokerTokenDefaultTtlSeconds: settings.brokerTokenDefaultTtlSeconds,
      brokerTokenMaximumTtlSeconds: settings.brokerTokenMaximumTtlSeconds,
    },
    organizationBounds: { deployment: organizationBounds(settings), usageOf: () => ({}) },
    networkServers: createNetworkServerSetups({ registry, ofFile: [], running: undefined }),
    deployment: {
      mqtts: () => ({ host: settings.publicHost, port: settings.mqttsPort }),
      certificateAuthority: undefined,
    },
  })
  return {
    send: async (method, path, body) => {
      const answer = await server.inject({
        method,
        url: path,
        headers: {
          accept: 'application/json',
          'grpc-metadata-authorization': `Bearer ${jwt}`,
          ...given({ 'content-type': body?.type }),
        },
        ...given({ payload: body?.content }),
      })
      return { status: answer.statusCode, body: answer.rawPayload }
    },
    async close() {
      await server.close()
      await codecs.close()
    },
  }
}
