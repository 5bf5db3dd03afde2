/**
 * Connects the engine to the servers of a deployment, and refuses servers that would break its
 * promise. The service loads this file, and so the client's library, when the settings ask for it.
 */
import { readFile } from 'node:fs/promises'
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Logger } from '../../logger.ts'
import { NatsEngine } from './nats-engine.ts'
import type { NatsEngineOptions } from './nats-engine.ts'
import { checkServers } from './server-checks.ts'

export interface NatsDeployment extends Omit<NatsEngineOptions, 'connect' | 'replicas'> {
  readonly urls: readonly string[]
  readonly monitoringUrls: readonly string[]
  readonly credentialsFile: string | undefined
  readonly caFile: string | undefined
  /** One server is enough, and it is not checked. */
  readonly isDevelopment: boolean
  readonly logger: Logger
}

/** The engine of a deployment. Its `open` throws a sentence for people. */
export function createNatsEngine(deployment: NatsDeployment): NatsEngine {
  const { urls, monitoringUrls, credentialsFile, caFile, isDevelopment, logger, ...options } = deployment
  const open = async (): Promise<NatsConnection> => {
    if (isDevelopment) {
      const cost = 'A power cut, or the loss of the one server’s disk, loses acknowledged messages.'
      logger.warn({ cost }, 'log.development_server')
    } else await checkServers(monitoringUrls)
    const authenticator =
      credentialsFile === undefined ? {} : { authenticator: credsAuthenticator(await readFile(credentialsFile)) }
    return await connect({
      servers: [...urls],
      name: `fieldgate ${options.node}`,
      // A paused server takes TCP connections and never answers.
      timeout: 2_000,
      pingInterval: 1_000,
      maxPingOut: 2,
      reconnectTimeWait: 100,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      ...authenticator,
      ...(caFile === undefined ? {} : { tls: { caFile } }),
    })
  }
  return new NatsEngine({ ...options, logger, connect: open, replicas: isDevelopment ? 1 : 3 })
}
