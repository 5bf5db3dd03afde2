/**
 * Connects to the servers of a deployment, and refuses servers that would break its promise. The
 * service loads this file, and so the client's library, when the settings ask for it.
 */
import { readFile } from 'node:fs/promises'
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import { given } from '../../given.ts'
import type { Logger } from '../../logger.ts'
import { anotherServer } from './another-server.ts'
import { checkServers } from './server-checks.ts'

/** The servers of a deployment. */
export interface NatsDeployment {
  readonly urls: readonly string[]
  readonly monitoringUrls: readonly string[]
  readonly credentialsFile: string | undefined
  readonly caFile: string | undefined
  /** One server is enough, and it is not checked. */
  readonly isDevelopment: boolean
  /** The name of the node. */
  readonly node: string
  readonly logger: Logger
}

/** Opens connections to the servers. The first one rejects with a sentence for wrong servers. */
export function connectorTo(deployment: NatsDeployment): () => Promise<NatsConnection> {
  const { urls, monitoringUrls, credentialsFile, caFile, isDevelopment, node, logger } = deployment
  let isChecked = false
  return async () => {
    if (!isChecked && isDevelopment) {
      const cost = 'A power cut, or the loss of the one server’s disk, loses acknowledged messages.'
      logger.warn({ cost }, 'log.development_server')
    } else if (!isChecked) await checkServers(monitoringUrls)
    isChecked = true
    const authenticator =
      credentialsFile === undefined ? {} : { authenticator: credsAuthenticator(await readFile(credentialsFile)) }
    return await connect({
      servers: [...urls],
      name: `fieldgate ${node}`,
      // A paused server takes TCP connections and never answers.
      timeout: 2_000,
      pingInterval: 1_000,
      maxPingOut: 2,
      reconnectTimeWait: 100,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      reconnectToServer: anotherServer,
      ...authenticator,
      ...(isByTls(deployment) ? { tls: given({ caFile }) } : {}),
    })
  }
}

/**
 * One address with `tls://` asks for TLS, for the client may be led to any of the servers. Without
 * it, the library speaks in clear text to a server that does not ask for TLS itself.
 */
function isByTls({ urls, caFile }: NatsDeployment): boolean {
  return caFile !== undefined || urls.some((url) => url.startsWith('tls://'))
}

/** Servers that have each message, and each record. */
export function replicasOf({ isDevelopment }: Pick<NatsDeployment, 'isDevelopment'>): number {
  return isDevelopment ? 1 : 3
}
