/**
 * The composition root: one running service out of its settings. The only place where all rooms
 * meet.
 */
import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { AccessPolicy } from '../access/policy.ts'
import { backupOf } from '../data/backup.ts'
import { Broker } from '../broker/broker.ts'
import { systemClock as brokerClock } from '../clock.ts'
import type { Engine } from '../broker/ports/engine.ts'
import { History } from '../broker/delivery/history.ts'
import type { Settings } from '../settings/settings.ts'
import { messagesIn, openDataDirectory, registryFileIn } from '../data/data-directory.ts'
import type { DataDirectory } from '../data/data-directory.ts'
import type { Disk } from '../engine/ports/disk.ts'
import { EmbeddedEngine } from '../engine/embedded.ts'
import { MemoryEngine } from '../engine/memory/memory.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import type { BrokerView } from '../http/operation/operation.ts'
import { createHttpServer } from '../http/server.ts'
import { systemClock } from '../identity/store/clock.ts'
import { ensureFirstAdmin } from '../identity/first-admin.ts'
import { openRegistry } from '../identity/registry.ts'
import type { Registry } from '../identity/registry.ts'
import { AddressLimiter, HTTPS_ADDRESS_LIMITS, MQTT_ADDRESS_LIMITS } from '../listeners/address-limiter.ts'
import { loadCertificates } from '../listeners/certificates.ts'
import type { Certificates } from '../listeners/certificates.ts'
import { Newcomers } from '../listeners/newcomers.ts'
import { listenTls } from '../listeners/tls.ts'
import { serveWebSocket } from '../listeners/websocket.ts'
import type { PinoLogger } from '../pino-logger.ts'
import { Codecs } from '../lorawan/codecs/codecs.ts'
import { systemPoolClock } from '../lorawan/codecs/pool-clock.ts'
import { DeviceSightings } from '../lorawan/uplinks/device-sightings.ts'
import { CURRENT_DOWNLINK_NUMBERS } from '../lorawan/commands/downlinks.ts'
import { durableStateOf } from '../lorawan/commands/durable-state.ts'
import { EventHistory } from '../lorawan/uplinks/event-history.ts'
import { NetworkServerPresence } from '../lorawan/network-servers/network-server-presence.ts'
import { parseTopic } from '../lorawan/topics.ts'
import type { UplinkPath } from '../lorawan/uplinks/uplink-path.ts'
import { openBrokerViews } from './broker-views.ts'
import { openDownlinks } from './downlinks.ts'
import type { OpenedDownlinks } from './downlinks.ts'
import { openStatus } from './status.ts'
import { openUplinkPath } from './uplink-path.ts'
import type { NetworkServer } from '../lorawan/commands/network-server.ts'
import type { NetworkServerEntry } from '../lorawan/network-servers/settings.ts'
import { createNetworkServerSetups, setUpEntries } from './network-server-setups.ts'
import { openNetworkServers, readNetworkServersFile } from './network-servers.ts'
import { listening, StartFailure } from './start-failure.ts'
import { createTelemetry } from '../telemetry.ts'

/**
 * Where the build puts the pages: beside this file's own build, or below `dist/` when this runs
 * from its source.
 */
const CONSOLE_DIRECTORY = builtPages('console')
const DOCUMENTATION_DIRECTORY = builtPages('docs')
/** How often deadlines of connections and Sessions are looked at. */
const TICK_MS = 1_000
/** How often it is written when devices were last seen. */
const SIGHTINGS_FLUSH_MS = 5_000
/** How often what has expired is forgotten in the registry. */
const PRUNE_MS = 3_600_000
const DAY_MS = 86_400_000
/** By which MQTT 5 readers learn the id of an event, the same as in the history. */
const EVENT_ID_PROPERTY = 'event-id'
/** Of each partition, where the log is in memory: enough for the console and for short absences. */
const MEMORY_HISTORY_MESSAGES = 1_000
/** Counters of the broker that are a current state. */
const CURRENT_COUNTERS = ['connections', 'sessions', 'subscriptions']

/** A running service. */
export interface Service {
  readonly addresses: {
    /** `https://<public host>:<port>`. */
    readonly https: string
    readonly mqtts: { readonly host: string; readonly port: number }
  }
  /** What clients must trust; undefined when the certificate is configured. */
  readonly caFile: string | undefined
  readonly registry: Registry
  /**
   * Ends all connections with their reason, waits for requests under way, writes what is pending. A
   * second call waits for the first.
   */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly log: PinoLogger
  /**
   * Shows the password of the first admin, where it had to be made up, before that admin is made.
   * Without it nobody learns the password.
   */
  readonly showFirstAdminPassword?: (password: string) => void
  /** What messages are kept on; the machine's file system when not given. */
  readonly disk?: Disk
}

/**
 * Starts the service. Throws StartFailure when something outside is in the way; nothing stays
 * behind then.
 */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const opened = await openDataDirectory(settings.dataDirectory, { purpose: 'serve', clock: systemClock })
  if (!opened.ok) throw new StartFailure(opened.message)
  const cleanups: Cleanup[] = [() => opened.dataDirectory.release()]
  try {
    return await compose(settings, options, opened.dataDirectory, cleanups)
  } catch (error) {
    await runCleanups(cleanups)
    throw error
  }
}

type Cleanup = () => Promise<void> | void

/** Last opened, first closed; one that fails does not keep the others from being closed. */
async function runCleanups(cleanups: Cleanup[]): Promise<void> {
  const errors: unknown[] = []
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) {
    try {
      await cleanup()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

async function compose(
  settings: Settings,
  options: ServiceOptions,
  directory: DataDirectory,
  cleanups: Cleanup[],
): Promise<Service> {
  const { log } = options
  const entries = networkServerEntries(settings)
  await requireRegistry(directory.path)
  const registry = await openRegistry({
    file: registryFileIn(directory.path),
    clock: systemClock,
    log: log.child({ room: 'identity' }),
    sessionTtlSeconds: settings.sessionTtlSeconds,
  })
  cleanups.push(() => registry.close())
  keepPruning(registry, log, cleanups)

  const sightings = gatherSightings(registry, log, cleanups)
  const engine = createEngine(settings, options, directory)
  const state = durableStateOf(engine)
  const presence = new NetworkServerPresence({ state, clock: systemClock, log: log.child({ room: 'lorawan' }) })
  const policy = new AccessPolicy(registry, undefined, presence)
  cleanups.push(() => policy.close())
  const codecs = openCodecs(registry, log, cleanups)
  const networkServers: NetworkServer[] = []
  const opened = openDownlinks({
    registry,
    state,
    broker: {
      publish: (message) => broker.publish(message),
      dispatch: (message, watcher, isFor) => broker.dispatch(message, watcher, isFor),
    },
    encoder: codecs,
    networkServers,
    presenceOf: (tenant) => presence.of(tenant),
    heardAtMs: (devEui) => sightings.heardAtMs(devEui),
    wordWaitMs: settings.commandWordSeconds * 1_000,
    log: log.child({ room: 'lorawan' }),
  })
  const { downlinks } = opened
  const uplinks = openUplinkPath({
    registry,
    codecs,
    commandEvents: downlinks.events,
    publisher: { publish: (message) => broker.publish(message) },
    log: log.child({ room: 'lorawan' }),
  })
  const { uplinkPath } = uplinks
  const broker: Broker = createBroker(settings, log, { policy, sightings, engine, opened, uplinkPath })
  await broker.start()
  cleanups.push(() => broker.close())
  cleanups.push(() => uplinks.close())
  const setUp = await setUpEntries(registry, entries, log.child({ room: 'lorawan' }))
  const ofSettings = await openNetworkServers({
    entries: [...entries, ...setUp],
    networkServers,
    registry,
    publisher: uplinkPath,
    ready: () => downlinks.ready(),
    naming: downlinks.naming,
    log: log.child({ room: 'lorawan' }),
  })
  cleanups.push(() => ofSettings.close())
  await presence.load()
  await downlinks.load()
  cleanups.push(() => opened.close())
  const openedStatus = openStatus({ settings, dataDirectory: directory.path, registry, broker })
  const { status } = openedStatus
  cleanups.push(() => openedStatus.close())
  const ticking = setInterval(() => {
    broker.tick()
    status.tick()
    downlinks.tick()
    uplinkPath.tick()
  }, TICK_MS)
  cleanups.push(() => clearInterval(ticking))

  const telemetry = createTelemetry()
  telemetry.registerNumbers('broker', () => ({ ...broker.counters }), CURRENT_COUNTERS)
  telemetry.registerCounts('broker', 'refusals', () => broker.refusals)
  telemetry.registerNumbers('commands', () => downlinks.numbers(), CURRENT_DOWNLINK_NUMBERS)
  telemetry.registerCounts('commands', 'refusals', () => downlinks.refusals)
  telemetry.registerNumbers('network_servers', () => ({ ...ofSettings.counters }))
  telemetry.registerNumbers('uplinks', () => uplinkPath.numbers(), ['held'])
  telemetry.registerNumbers('codecs', () => codecs.counters, ['waiting', 'workers'])
  const { certificates, onChange } = await openCertificates(settings, log, directory, cleanups)

  // Known for sure when the listener is open; a port of 0 becomes a real one then.
  let { mqttsPort } = settings
  const http = await createHttpServer({
    registry,
    clock: systemClock,
    log: log.child({ room: 'http' }),
    settings: {
      baseUrl: urlOf(settings, settings.httpsPort),
      brokerTokenDefaultTtlSeconds: settings.brokerTokenDefaultTtlSeconds,
      brokerTokenMaximumTtlSeconds: settings.brokerTokenMaximumTtlSeconds,
      allowedOrigins: settings.allowedOrigins,
      strictTransportSecurity: settings.strictTransportSecurity === 'true',
    },
    https: { cert: certificates.cert, key: certificates.key },
    broker: { health: () => healthOf(broker, engine, registry) },
    brokerViews: openBrokerViews(broker, policy, randomBytes(6).toString('hex')),
    status,
    commands: downlinks.commands,
    networkServers: createNetworkServerSetups({ registry, ofFile: entries, running: ofSettings }),
    networkServerEvents: ofSettings.webhooks,
    codecs,
    history: new EventHistory(new History(engine)),
    backups: {
      make: () => backupOf(directory.path, engine instanceof EmbeddedEngine ? engine : undefined, systemClock.now()),
    },
    metrics: telemetry.registry,
    newcomers: new Newcomers(new AddressLimiter(HTTPS_ADDRESS_LIMITS), () => {
      broker.counters.connectionsRefused += 1
    }),
    deployment: {
      mqtts: () => ({ host: settings.publicHost, port: mqttsPort }),
      certificateAuthority: certificates.caFile === undefined ? undefined : await readFile(certificates.caFile, 'utf8'),
    },
    consoleDirectory: CONSOLE_DIRECTORY,
    documentationDirectory: DOCUMENTATION_DIRECTORY,
  })
  let httpClosed: Promise<void> | undefined
  const closeHttp = (): Promise<void> => (httpClosed ??= http.close())
  cleanups.push(closeHttp)
  const limiter = new AddressLimiter(MQTT_ADDRESS_LIMITS)
  const { allowedOrigins, publicHost } = settings
  serveWebSocket(http.server, broker, limiter, { allowedOrigins, publicHost })
  const httpsAddress = await listening('FIELDGATE_HTTPS_PORT', settings.httpsPort, () =>
    http.listen({
      host: settings.host,
      port: settings.httpsPort,
      // Fastify does not see that its server speaks TLS.
      listenTextResolver: (address) => `listening at ${address.replace(/^http:/, 'https:')}`,
    }),
  )
  const httpsPort = Number(new URL(httpsAddress).port)
  const mqtts = await listening('FIELDGATE_MQTTS_PORT', settings.mqttsPort, () =>
    listenTls(broker, certificates, limiter, {
      host: settings.host,
      port: settings.mqttsPort,
    }),
  )
  mqttsPort = mqtts.port
  cleanups.push(async () => {
    // No new connections, then none at all: the listeners are closed when the last one is.
    const closed = Promise.all([mqtts.close(), closeHttp()])
    // What waits for its codec goes on while the broker can still own it.
    uplinks.close()
    presence.close()
    await broker.close()
    await closed
  })
  onChange.push((pair) => {
    http.setSecureContext(pair)
    mqtts.setCertificate(pair)
  })
  // Only now: a start that ends before it listens must not make an admin whose password nobody is
  // shown.
  await ensureFirstAdmin(registry, settings.adminPassword, options.showFirstAdminPassword ?? (() => {}))
  await directory.announce({ host: settings.host, port: httpsPort, certFile: certificates.certFile })
  log.info(
    { console: urlOf(settings, httpsPort), httpsPort, mqttsPort: mqtts.port, dataDirectory: directory.path },
    'service.started',
  )

  let closing: Promise<void> | undefined
  return {
    addresses: {
      https: urlOf(settings, httpsPort),
      mqtts: { host: settings.publicHost, port: mqtts.port },
    },
    caFile: certificates.caFile,
    registry,
    close: () => (closing ??= shutDown(broker, log, cleanups)),
  }
}

/** Where people and programs reach this service, by the name that they know it by. */
function urlOf({ publicHost }: Settings, port: number): string {
  return `https://${isIP(publicHost) === 6 ? `[${publicHost}]` : publicHost}:${port}`
}

/** What is gathered until the broker has closed is written before the registry closes. */
function gatherSightings(registry: Registry, log: PinoLogger, cleanups: Cleanup[]): DeviceSightings {
  const sightings = new DeviceSightings({
    recordSeen: (seen) => registry.devices.recordSeen(seen),
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  const flushing = setInterval(() => void sightings.flush(), SIGHTINGS_FLUSH_MS)
  cleanups.push(() => {
    clearInterval(flushing)
    return sightings.close()
  })
  return sightings
}

/** A new registry beside messages that are there would know none of their devices, and would let somebody else in as the first admin. */
async function requireRegistry(directory: string): Promise<void> {
  if ((await fileBytes(registryFileIn(directory))) > 0) return
  const hasMessages = (await nodeDisk.list(messagesIn(directory))).includes('format')
  if (!hasMessages) return
  throw new StartFailure(
    `${registryFileIn(directory)} is missing or empty, though there are messages. Restore a backup into a new directory by \`fieldgate restore\`.`,
  )
}

/** 0 where there is no such file. */
function fileBytes(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

/** What FIELDGATE_NETWORK_SERVERS_FILE names; a StartFailure tells all that is wrong with it. */
function networkServerEntries({ networkServersFile }: Settings): readonly NetworkServerEntry[] {
  if (networkServersFile === undefined) return []
  const result = readNetworkServersFile(networkServersFile)
  if (result.ok) return result.entries
  throw new StartFailure(`FIELDGATE_NETWORK_SERVERS_FILE=${networkServersFile}:\n${result.faults.join('\n')}`)
}

interface BrokerParts {
  readonly policy: AccessPolicy
  readonly sightings: DeviceSightings
  readonly engine: Engine
  readonly opened: OpenedDownlinks
  readonly uplinkPath: UplinkPath
}

/** Threads for tenants' scripts start with the first of them. */
function openCodecs(registry: Registry, log: PinoLogger, cleanups: Cleanup[]): Codecs {
  const codecs = new Codecs({
    organizationOf: async (applicationId) => registry.directory.organizationOf(applicationId),
    clock: systemPoolClock,
    log: log.child({ room: 'lorawan' }),
  })
  cleanups.push(() => codecs.close())
  return codecs
}

function createEngine(settings: Settings, { log, disk }: ServiceOptions, directory: DataDirectory): Engine {
  if (settings.engine === 'memory') return new MemoryEngine({ retainedMessages: MEMORY_HISTORY_MESSAGES })
  return new EmbeddedEngine({
    disk: disk ?? nodeDisk,
    directory: messagesIn(directory.path),
    retentionMs: settings.retentionDays * DAY_MS,
    retentionBytes: settings.retentionBytes,
    logger: log.child({ room: 'engine' }),
  })
}

function healthOf(broker: Broker, engine: Engine, registry: Registry): ReturnType<BrokerView['health']> {
  if (broker.isClosing) return { ready: false, reason: 'shutting down' }
  const { canWrite, reason } = engine.health()
  const fault = registry.health()
  return { ready: canWrite && fault === '', reason: canWrite ? fault : reason }
}

function createBroker(settings: Settings, log: PinoLogger, parts: BrokerParts): Broker {
  const { policy, sightings, engine, opened, uplinkPath } = parts
  const keepsQoS0 = settings.keepQoS0Events === 'true'
  return new Broker({
    policy,
    engine,
    consumers: opened.downlinks.consumers,
    readerListener: opened.readerListener,
    transformer: uplinkPath,
    observer: sightings,
    idProperty: EVENT_ID_PROPERTY,
    keepsQoS0: (topicName) => keepsQoS0 && parseTopic(topicName)?.kind === 'event',
    clock: brokerClock,
    log: log.child({ room: 'broker' }),
    limits: {
      maximumPacketSizeBytes: settings.maximumPacketSizeBytes,
      maximumConnectionsPerTenant: settings.maximumConnectionsPerOrganization,
      maximumConnectionsPerIdentity: settings.maximumConnectionsPerUser,
      maximumSessionExpirySeconds: settings.sessionExpiryMaximumSeconds,
      // Being behind costs nothing where retention bounds the log itself.
      ...(engine.isDurable ? { maximumQueuedMessages: Infinity, maximumQueuedBytes: Infinity } : {}),
    },
  })
}

function keepPruning(registry: Registry, log: PinoLogger, cleanups: Cleanup[]): void {
  const prune = (): void => {
    registry.pruneExpired().catch((error: unknown) => log.error({ error }, 'registry.prune_failed'))
  }
  const pruning = setInterval(prune, PRUNE_MS)
  cleanups.push(() => clearInterval(pruning))
}

type OnCertificate = (pair: { readonly cert: string; readonly key: string }) => void

async function openCertificates(
  settings: Settings,
  log: PinoLogger,
  directory: DataDirectory,
  cleanups: Cleanup[],
): Promise<{ readonly certificates: Certificates; readonly onChange: OnCertificate[] }> {
  const onChange: OnCertificate[] = []
  const certificates = await loadCertificates({
    certFile: settings.tlsCertFile,
    keyFile: settings.tlsKeyFile,
    dataDirectory: directory.path,
    hostNames: [settings.publicHost, hostname(), 'localhost', '127.0.0.1', '::1'],
    clock: systemClock,
    log: log.child({ room: 'listeners' }),
    onChange: (pair) => {
      for (const listener of onChange) listener(pair)
    },
  })
  cleanups.push(() => certificates.close())
  return { certificates, onChange }
}

async function shutDown(broker: Broker, log: PinoLogger, cleanups: Cleanup[]): Promise<void> {
  log.info({ connections: broker.counters.connections }, 'service.stopping')
  await runCleanups(cleanups)
  log.info({}, 'service.stopped')
}

function builtPages(name: 'console' | 'docs'): string {
  return fileURLToPath(new URL(`${import.meta.url.endsWith('.ts') ? '../../dist' : '..'}/${name}/`, import.meta.url))
}
