/**
 * The composition root: makes one running service out of its settings. The only place where all
 * rooms meet.
 */
import { tenantOf } from '../access/holders.ts'
import { systemClock } from '../clock.ts'
import { openDataDirectory } from '../data/data-directory.ts'
import type { Disk } from '../engine/ports/disk.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import { ensureFirstAdmin } from '../identity/first-admin.ts'
import type { Registry } from '../identity/registry.ts'
import { HandshakeTurns } from '../listeners/handshake-turns.ts'
import { durableStateOf } from '../lorawan/commands/durable-state.ts'
import type { PinoLogger } from '../pino-logger.ts'
import type { Settings } from '../settings/settings.ts'
import { BrokerLink } from './broker-link.ts'
import { createEngine, openBroker, openPolicy, openPresence } from './broker.ts'
import { openCertificates } from './certificates.ts'
import { openCodecs } from './codecs.ts'
import { openDownlinks } from './downlinks.ts'
import { createHttp, createRequestShares } from './http.ts'
import { openListeners } from './listeners.ts'
import { readEntriesOfFile, readEntriesOfRegistry } from './network-server-entries.ts'
import { NetworkServerList } from './network-server-list.ts'
import { openNetworkServers } from './network-servers.ts'
import { createNearBounds, openBounds } from './organization-bounds.ts'
import { createOrganizationUsage } from './organization-usage.ts'
import type { Parts, StartContext } from './parts.ts'
import { PublicAddresses } from './public-addresses.ts'
import { openRegistry, openSightings } from './registry.ts'
import { Shutdown } from './shutdown.ts'
import { StartFailure } from './start-failure.ts'
import { openStatus } from './status.ts'
import { openUplinkPath } from './uplink-path.ts'
import { runtime, version } from '../version.ts'

/** How often the parts look at their deadlines. */
const TICK_MS = 1_000

/** A running service. */
export interface Service {
  readonly addresses: {
    /** `https://<public host>:<port>`. */
    readonly https: string
    readonly mqtts: { readonly host: string; readonly port: number }
  }
  /** The certificate that clients must trust; undefined when the certificate is configured. */
  readonly caFile: string | undefined
  readonly registry: Registry
  /**
   * Ends all connections with their reason, waits for requests under way, and writes all data that
   * is pending. A second call waits for the first.
   */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly log: PinoLogger
  /**
   * Shows the password of the first admin, if the service made it up, before that admin is made.
   * Without this function nobody learns the password.
   */
  readonly showFirstAdminPassword?: (password: string) => void
  /** The disk for the messages; the machine's file system when not given. */
  readonly disk?: Disk
}

/**
 * Starts the service. Throws StartFailure when something outside the program prevents that; all
 * parts that were opened are closed then.
 */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const { log, disk = nodeDisk, showFirstAdminPassword = () => {} } = options
  const opened = await openDataDirectory(settings.dataDirectory, { purpose: 'serve', clock: systemClock })
  if (!opened.ok) throw new StartFailure(opened.message)
  const { dataDirectory } = opened
  const shutdown = new Shutdown()
  shutdown.add('data directory', () => dataDirectory.release())
  const context: StartContext = { settings, log, dataDirectory, disk, shutdown }
  try {
    const parts = await openMessaging(context)
    return await openToPublic(context, parts, showFirstAdminPassword)
  } catch (error) {
    await shutdown.run()
    throw error
  }
}

type Messaging = Omit<Parts, 'status' | 'addresses' | 'handshakeTurns' | 'usage' | 'nearBounds'>

/**
 * The first half of a start: the messages that were kept can be delivered, but nobody can yet
 * connect.
 */
async function openMessaging(context: StartContext): Promise<Messaging> {
  const entriesOfFile = readEntriesOfFile(context)

  const registry = await openRegistry(context)
  const bounds = await openBounds(context, { registry })
  const requestShares = createRequestShares(context.settings, bounds)
  const sightings = openSightings(context, { registry })

  const engine = await createEngine(context, { registry, bounds })
  const state = durableStateOf(engine, tenantOf)
  const presence = openPresence(context, { state })
  const policy = openPolicy(context, { registry, presence })

  const brokerLink = new BrokerLink()
  const networkServers = new NetworkServerList()
  const codecs = openCodecs(context, { registry, bounds })
  const beforeCommands = { registry, bounds, sightings, state, presence, brokerLink, networkServers, codecs }
  const { downlinks, readerListener } = openDownlinks(context, beforeCommands)
  const uplinkPath = openUplinkPath(context, { registry, codecs, downlinks, brokerLink })

  const beforeBroker = { policy, engine, sightings, downlinks, readerListener, uplinkPath, brokerLink }
  const broker = await openBroker(context, { ...beforeBroker, registry, bounds })

  const entries = [...entriesOfFile, ...(await readEntriesOfRegistry(context, { registry, entriesOfFile }))]
  const forNetworkServers = { registry, uplinkPath, downlinks, networkServers }
  const openedNetworkServers = await openNetworkServers(context, forNetworkServers, entries)
  await presence.load()
  await downlinks.load()

  return { ...beforeCommands, ...beforeBroker, requestShares, broker, entriesOfFile, openedNetworkServers }
}

/** The second half of a start: the listeners open, and the service is ready. */
async function openToPublic(
  context: StartContext,
  messaging: Messaging,
  showFirstAdminPassword: (password: string) => void,
): Promise<Service> {
  const { settings, log, dataDirectory, shutdown } = context
  const { registry, broker } = messaging
  const addresses = new PublicAddresses(settings)
  const usage = createOrganizationUsage(messaging)
  const nearBounds = createNearBounds(context, { ...messaging, usage })
  const status = openStatus(context, { ...messaging, nearBounds })
  const handshakeTurns = new HandshakeTurns(systemClock)
  const parts: Parts = { ...messaging, usage, nearBounds, status, addresses, handshakeTurns }
  openTicks(context, parts)

  const certificates = await openCertificates(context)
  const http = await createHttp(context, certificates, parts)
  const ports = await openListeners(context, parts, http, certificates)
  addresses.opened(ports)

  // The first admin is made only after the listeners are open: a start that fails before must not
  // make an admin whose password is shown to nobody.
  await ensureFirstAdmin(registry, settings.adminPassword, showFirstAdminPassword)
  const { certFile, caFile } = certificates
  await dataDirectory.announce({ host: settings.host, port: ports.httpsPort, certFile })
  const { https, mqtts } = addresses
  log.info({ version, runtime, console: https, ...ports, dataDirectory: dataDirectory.path }, 'service.started')

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    log.info({ connections: broker.counters.connections }, 'service.stopping')
    await shutdown.run()
    log.info({}, 'service.stopped')
  }
  return { addresses: { https, mqtts }, caFile, registry, close: () => (closing ??= close()) }
}

function openTicks(
  { shutdown }: StartContext,
  parts: Pick<Parts, 'broker' | 'nearBounds' | 'status' | 'downlinks' | 'uplinkPath'>,
): void {
  const { broker, nearBounds, status, downlinks, uplinkPath } = parts
  const ticking = setInterval(() => {
    broker.tick()
    nearBounds.tick()
    status.tick()
    downlinks.tick()
    uplinkPath.tick()
  }, TICK_MS)
  shutdown.add('ticks', () => clearInterval(ticking))
}
