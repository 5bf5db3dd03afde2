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
import type { Drain } from '../http/operation/drain.ts'
import type { Registry } from '../identity/registry.ts'
import { HandshakeTurns } from '../listeners/handshake-turns.ts'
import { durableStateOf } from '../lorawan/commands/durable-state.ts'
import type { UplinkPath } from '../lorawan/uplinks/uplink-path.ts'
import type { PinoLogger } from '../pino-logger.ts'
import type { Settings } from '../settings/settings.ts'
import { BrokerLink } from './broker-link.ts'
import { createEngine, openBroker, openPolicy, openPresence } from './broker.ts'
import { openCertificates } from './certificates.ts'
import { openCodecs } from './codecs.ts'
import { openDownlinks } from './downlinks.ts'
import { openInventories } from './inventories.ts'
import { openFleetWatch, profileLimitsOf } from './fleet.ts'
import { createHttp, createRequestShares } from './http.ts'
import { openListeners } from './listeners.ts'
import { readEntriesOfFile } from './network-server-entries.ts'
import { NetworkServerList } from './network-server-list.ts'
import { openNetworkServers } from './network-servers.ts'
import { createNodeDrain } from './node-drain.ts'
import { joinNodes } from './nodes.ts'
import type { JoinedNodes } from './nodes.ts'
import { createNearBounds, openBounds } from './organization-bounds.ts'
import { createOrganizationUsage } from './organization-usage.ts'
import type { Parts, StartContext } from './parts.ts'
import { PublicAddresses } from './public-addresses.ts'
import { openRegistry, openSightings } from './registry.ts'
import { Shutdown } from './shutdown.ts'
import { StartFailure } from './start-failure.ts'
import { openStatus } from './status.ts'
import { openUnknownDevices } from './unknown-devices.ts'
import { openUplinkPath } from './uplink-path.ts'
import { openWebhooks } from './webhooks.ts'
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
  /**
   * Told when another node or process has taken the place of this one: this process has to end. It
   * may be told more than once.
   */
  readonly replaced?: () => void
  /** Told when an admin has asked to drain, and the clients are gone: this process has to end. */
  readonly drained?: () => void
  /** The disk for the messages; the machine's file system when not given. */
  readonly disk?: Disk
}

/**
 * Starts the service. Throws StartFailure when something outside the program prevents that; all
 * parts that were opened are closed then.
 */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const { log, disk = nodeDisk, showFirstAdminPassword = () => {}, replaced = () => {}, drained = () => {} } = options
  const opened = await openDataDirectory(settings.dataDirectory, { purpose: 'serve', clock: systemClock })
  if (!opened.ok) throw new StartFailure(opened.message)
  const { dataDirectory } = opened
  const shutdown = new Shutdown()
  shutdown.add('data directory', () => dataDirectory.release())
  try {
    const joined = settings.engine === 'nats' ? await joinNodes({ settings, log, shutdown }, replaced) : undefined
    const context: StartContext = { settings, log, dataDirectory, disk, shutdown, ...ofNodes(joined) }
    const parts = await openMessaging(context, joined)
    const setReady = (isReady: boolean): void => {
      if (joined !== undefined) joined.nodes.isReady = isReady
    }
    const refuseClients = (): void => setReady(false)
    const drain = createNodeDrain({ broker: parts.broker, log, refuseClients, drained })
    const service = await openToPublic(context, parts, drain, showFirstAdminPassword)
    setReady(!parts.broker.isDraining)
    return service
  } catch (error) {
    await shutdown.run()
    throw error
  }
}

function ofNodes(
  joined: JoinedNodes | undefined,
): Pick<StartContext, 'nodes' | 'retainedSnapshot' | 'readNatsServers'> {
  return { nodes: joined?.nodes, retainedSnapshot: joined?.retainedSnapshot, readNatsServers: joined?.readServers }
}

type Messaging = Omit<Parts, 'status' | 'addresses' | 'handshakeTurns' | 'usage' | 'nearBounds'>

/**
 * The first half of a start: the messages that were kept can be delivered, but nobody can yet
 * connect.
 */
async function openMessaging(context: StartContext, joined: JoinedNodes | undefined): Promise<Messaging> {
  const entriesOfFile = readEntriesOfFile(context)

  const registry = await openRegistry(context, joined && (() => joined.engine.timeOfLog()))
  const bounds = await openBounds(context, { registry })
  const requestShares = createRequestShares(context.settings, bounds)
  const profileLimits = profileLimitsOf(registry)
  const sightings = openSightings(context, { registry, profileLimits })

  const engine = joined?.engine ?? createEngine(context, { registry, bounds })
  const state = durableStateOf(engine, tenantOf)
  const presence = openPresence(context, { state })
  const unknownDevices = openUnknownDevices(context, { registry, state }, () => uplinkPath)
  const policy = openPolicy(context, { registry, presence, unknownDevices })

  const brokerLink = new BrokerLink()
  const networkServers = new NetworkServerList()
  const codecs = openCodecs(context, { registry, bounds })
  const beforeCommands = { registry, bounds, sightings, state, presence, brokerLink, networkServers, codecs }
  const opened = openDownlinks(context, beforeCommands)
  const { downlinks, commandWays, readerListener } = opened
  const uplinkPath: UplinkPath = openUplinkPath(context, { registry, codecs, commandWays, brokerLink })

  const fleetWatch = openFleetWatch(context, { ...beforeCommands, ...opened, uplinkPath, profileLimits })
  const webhooks = openWebhooks(context, { registry, engine, state, commandWays })

  const beforeBroker = {
    policy,
    engine,
    sightings,
    unknownDevices,
    downlinks,
    commandWays,
    readerListener,
    uplinkPath,
    brokerLink,
    webhooks,
  }
  const broker = await openBroker(context, { ...beforeBroker, registry, bounds })

  const forNetworkServers = { registry, unknownDevices, uplinkPath, downlinks, networkServers }
  const openedNetworkServers = await openNetworkServers(context, forNetworkServers, entriesOfFile)
  const openedInventories = openInventories(context, { registry, codecs, entriesOfFile })
  await presence.load((prefix) => state.load(prefix))
  await downlinks.load((prefix) => state.load(prefix))
  await webhooks.load((prefix) => state.load(prefix))
  await unknownDevices.load((prefix) => state.load(prefix))
  await joined?.nodes.begin(joined.engine)
  await webhooks.open()

  return {
    ...beforeCommands,
    ...opened,
    ...beforeBroker,
    fleetWatch,
    requestShares,
    broker,
    entriesOfFile,
    openedNetworkServers,
    openedInventories,
  }
}

/** The second half of a start: the listeners open, and the service is ready. */
async function openToPublic(
  context: StartContext,
  messaging: Messaging,
  drain: Drain,
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
  const http = await createHttp(context, certificates, parts, drain)
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
  parts: Pick<
    Parts,
    | 'broker'
    | 'nearBounds'
    | 'status'
    | 'downlinks'
    | 'uplinkPath'
    | 'unknownDevices'
    | 'webhooks'
    | 'fleetWatch'
    | 'openedInventories'
  >,
): void {
  const { broker, nearBounds, status, downlinks, uplinkPath, unknownDevices, webhooks, fleetWatch, openedInventories } =
    parts
  const ticking = setInterval(() => {
    broker.tick()
    nearBounds.tick()
    status.tick()
    downlinks.tick()
    uplinkPath.tick()
    unknownDevices.tick()
    webhooks.tick()
    fleetWatch.tick()
    openedInventories.steps.tick()
  }, TICK_MS)
  shutdown.add('ticks', () => clearInterval(ticking))
}
