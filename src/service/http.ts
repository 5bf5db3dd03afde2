/** The HTTP server, wired to all parts that it shows or changes. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { History } from '../broker/delivery/history.ts'
import { ForeignBrokers } from '../access/foreign-brokers.ts'
import { backupOf } from '../data/backup.ts'
import { EmbeddedEngine } from '../engine/embedded.ts'
import type { BrokerViews } from '../http/operation/broker-views.ts'
import type { Drain } from '../http/operation/drain.ts'
import { createHttpServer } from '../http/server.ts'
import { RequestShares } from '../http/shares/request-shares.ts'
import { WorkTurns } from '../http/shares/work-turns.ts'
import { systemClock } from '../clock.ts'
import { AddressLimiter } from '../listeners/address-limiter.ts'
import { createNewcomers } from '../listeners/newcomers.ts'
import type { Newcomers } from '../listeners/newcomers.ts'
import { TrustedProxies } from '../listeners/trusted-proxies.ts'
import { given } from '../given.ts'
import { builtFolder } from '../installation.ts'
import type { BoundsByOrganization } from '../organization-bounds.ts'
import { createWaitingDevices } from '../lorawan/unknown-devices/waiting-devices.ts'
import { EventHistory } from '../lorawan/uplinks/event-history.ts'
import type { Settings } from '../settings/settings.ts'
import { createBrokerViews } from './broker-views.ts'
import type { OpenedCertificates } from './certificates.ts'
import { createMetrics } from './metrics.ts'
import { createNetworkServerSetups } from './network-server-setups.ts'
import type { Parts, StartContext } from './parts.ts'
import { readinessOf } from './readiness.ts'
import { createSessionViews } from './session-views.ts'
import { statusOfNodes } from './status-of-nodes.ts'
import { createWaitingOfNodes } from './waiting-of-nodes.ts'
import { usageOfNodes } from './usage-of-nodes.ts'
import { createViewsOfNodes } from './views-of-nodes.ts'
import { createWebhookViews } from './webhooks.ts'

/**
 * The built pages are beside this file's own build, or in `dist/` when this runs from its source.
 */
const CONSOLE_DIRECTORY = builtPages('console')
const DOCUMENTATION_DIRECTORY = builtPages('docs')

export type HttpServer = Awaited<ReturnType<typeof createHttpServer>>

/** Makes the HTTP server; it does not listen yet. */
export async function createHttp(
  { settings, log, dataDirectory, nodes }: StartContext,
  certificates: OpenedCertificates,
  parts: Omit<Parts, 'sightings' | 'state' | 'readerListener' | 'brokerLink' | 'networkServers'>,
  drain: Drain,
): Promise<HttpServer> {
  const { registry, engine, policy, broker, commandWays, openedNetworkServers, addresses, bounds, usage } = parts
  const { requestShares } = parts
  const { cert, key, caFile } = certificates
  const proxies = TrustedProxies.of(settings.trustedProxies)
  const isTrustedProxy = proxies && ((address: string) => proxies.has(address))
  return createHttpServer({
    registry,
    clock: systemClock,
    shares: requestShares,
    turns: new WorkTurns(systemClock),
    log: log.child({ room: 'http' }),
    settings: {
      baseUrl: addresses.https,
      brokerTokenDefaultTtlSeconds: settings.brokerTokenDefaultTtlSeconds,
      brokerTokenMaximumTtlSeconds: settings.brokerTokenMaximumTtlSeconds,
      allowedOrigins: settings.allowedOrigins,
      strictTransportSecurity: settings.strictTransportSecurity === 'true',
      ...given({ isTrustedProxy }),
    },
    https: { cert, key },
    broker: { health: () => readinessOf(parts, nodes) },
    brokerViews: viewsOf(nodes, { broker, policy }),
    sessionViews: createSessionViews({ broker, presence: parts.presence, bus: nodes?.bus }),
    status: nodes === undefined ? parts.status : statusOfNodes(parts.status, nodes),
    organizationBounds: { deployment: bounds.deployment, usageOf: usageOfNodes(usage, nodes?.bus) },
    commands: commandWays.commands,
    networkServers: createNetworkServerSetups({ registry, ofFile: parts.entriesOfFile, running: openedNetworkServers }),
    inventories: parts.openedInventories.inventories,
    networkServerEvents: openedNetworkServers.webhooks,
    brokerHooks: {
      judge: new ForeignBrokers({ policy, changes: registry.changes }),
      secrets: settings.brokerHookSecrets,
    },
    codecs: parts.codecs,
    unknownDevices:
      nodes === undefined
        ? createWaitingDevices(parts.unknownDevices)
        : createWaitingOfNodes(parts.unknownDevices, nodes.bus),
    history: new EventHistory(new History(engine)),
    backups: {
      make: () =>
        backupOf(dataDirectory.path, engine instanceof EmbeddedEngine ? engine : undefined, {
          nowMs: systemClock.now(),
          isRegistryElsewhere: settings.databaseUrl !== undefined,
          areMessagesElsewhere: settings.engine === 'nats',
        }),
    },
    drain,
    webhooks: createWebhookViews(parts, nodes),
    metrics: createMetrics(parts, nodes, log),
    newcomers: newcomersOf(settings, parts, proxies),
    deployment: {
      mqtts: () => addresses.mqtts,
      certificateAuthority: caFile === undefined ? undefined : await readFile(caFile, 'utf8'),
    },
    consoleDirectory: CONSOLE_DIRECTORY,
    documentationDirectory: DOCUMENTATION_DIRECTORY,
  })
}

/** The connections and refusals of this node, or of all nodes. */
function viewsOf(nodes: StartContext['nodes'], parts: Pick<Parts, 'broker' | 'policy'>): BrokerViews {
  if (nodes === undefined) return createBrokerViews({ ...parts, processId: randomBytes(6).toString('hex') })
  const { bus } = nodes
  return createViewsOfNodes(createBrokerViews({ ...parts, processId: bus.self.incarnation }), bus)
}

/**
 * Requests of each organization, person and address in a second. A person who is asked for no
 * organization, or for several, has the bound of one organization. Global admins are no tenants:
 * their bound only keeps a program that has gone wild from the others.
 */
export function createRequestShares(settings: Settings, bounds: BoundsByOrganization): RequestShares {
  const { maximumHttpRequestsPerAddress: perAddress } = settings
  return new RequestShares(systemClock, {
    organization: (id) => bounds.of(id).httpRequestsPerSecond,
    networkServer: (id) => bounds.of(id).publishesPerSecond,
    person: () => bounds.deployment.httpRequestsPerSecond,
    globalAdmin: () => GLOBAL_ADMIN_REQUESTS_PER_SECOND,
    network: () => (perAddress === 0 ? Infinity : perAddress),
  })
}

const GLOBAL_ADMIN_REQUESTS_PER_SECOND = 1000

/**
 * A trusted proxy that names no client has no bounds itself: its connections carry the requests of
 * all clients.
 */
function newcomersOf(
  settings: Settings,
  { broker, handshakeTurns: turns }: Pick<Parts, 'broker' | 'handshakeTurns'>,
  proxies: TrustedProxies | undefined,
): Newcomers {
  const limiter = new AddressLimiter({
    attemptsPerSecond: settings.maximumHttpsConnectsPerAddress,
    openPerAddress: settings.maximumHttpsConnectionsPerAddress,
    pendingPerAddress: settings.maximumSilentHttpsConnectionsPerAddress,
  })
  const refused = (): void => {
    broker.counters.connectionsRefused += 1
  }
  return createNewcomers(limiter, refused, { ...given({ proxies }), boundsProxies: false, turns })
}

function builtPages(name: 'console' | 'docs'): string {
  return fileURLToPath(builtFolder(name))
}
