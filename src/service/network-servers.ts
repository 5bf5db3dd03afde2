/**
 * The network servers that are no clients of the broker, wired to the registry, the path of uplinks
 * and the commands.
 */
import { systemClock } from '../clock.ts'
import type { Registry } from '../identity/registry.ts'
import type { Logger } from '../logger.ts'
import type { Downlinks } from '../lorawan/commands/downlinks.ts'
import type { EventSink, NetworkServer } from '../lorawan/commands/network-server.ts'
import { EventInspection } from '../lorawan/uplinks/event-inspection.ts'
import { RECONNECTING } from '../lorawan/network-servers/adapter/backoff.ts'
import { openBrokerSocket } from '../lorawan/network-servers/bridge/broker-socket.ts'
import { KnownApplications } from '../lorawan/network-servers/chirpstack/known-applications.ts'
import { ChirpStackSync, externalIdPrefix } from '../lorawan/network-servers/chirpstack/chirpstack-sync.ts'
import { createCounters } from '../lorawan/network-servers/adapter/counters.ts'
import type { NetworkServerCounters } from '../lorawan/network-servers/adapter/counters.ts'
import { DeviceEventSink } from '../lorawan/network-servers/adapter/device-event-sink.ts'
import { HttpClient } from '../lorawan/network-servers/http/http-request.ts'
import { applicationsOfBridge, MqttBridge } from '../lorawan/network-servers/bridge/mqtt-bridge.ts'
import { chirpStackForm, theThingsStackForm } from '../lorawan/network-servers/http/rest-forms.ts'
import { RestNetworkServer } from '../lorawan/network-servers/http/rest-network-server.ts'
import type { RestForm } from '../lorawan/network-servers/http/rest-network-server.ts'
import type {
  ChirpStackGrpcEntry,
  ChirpStackHttpEntry,
  MqttBridgeEntry,
  NetworkServerEntry,
  TheThingsStackEntry,
} from '../lorawan/network-servers/settings.ts'
import { TheThingsStackDeviceIds } from '../lorawan/network-servers/http/the-things-stack-device-ids.ts'
import { DEVICE_ID_VARIABLE } from '../lorawan/network-servers/http/the-things-stack-inventory.ts'
import { NetworkServersOfNodes } from '../lorawan/network-servers/nodes/network-servers-of-nodes.ts'
import { WebhookReceiver } from '../lorawan/network-servers/http/webhook-receiver.ts'
import { readEntriesOfRegistry } from './network-server-entries.ts'
import type { OpenedNetworkServers } from './opened-network-servers.ts'
import type { Parts, StartContext } from './parts.ts'
import { syncedRegistry } from './synced-registry.ts'

/** How often a ChirpStack without synchronisation looks for applications that were imported. */
const KNOWN_APPLICATIONS_MS = 60_000

/** How often a node of several looks for network servers that another node has added. */
const FOLLOW_EVERY_MS = 60_000

type Needed = Pick<Parts, 'registry' | 'unknownDevices' | 'uplinkPath' | 'downlinks' | 'networkServers'>

/**
 * Opens the network servers of the settings file and of the registry. Each connects by itself, and
 * goes on trying.
 */
export async function openNetworkServers(
  context: StartContext,
  parts: Needed,
  entriesOfFile: readonly NetworkServerEntry[],
): Promise<OpenedNetworkServers> {
  const { shutdown } = context
  const { downlinks, networkServers } = parts
  const log = context.log.child({ room: 'lorawan' })
  let following = Promise.resolve()
  const follow = (): void => {
    following = following
      .then(() => followRegistry())
      .catch((error: unknown) => log.error({ error }, 'network_server.list_not_read'))
  }
  const ofNodes = networkServersOfNodes(context, downlinks, follow, log)
  const opening = openingOf(parts, ofNodes, log)
  const { counters, deviceIds, placeOf, sinkOf } = opening
  // Another node's call may get lost.
  const polling = ofNodes && setInterval(follow, FOLLOW_EVERY_MS)
  shutdown.add('network servers', () => {
    clearInterval(polling)
    return networkServers.close()
  })
  const open = async (entry: NetworkServerEntry): Promise<void> => networkServers.add(await openEntry(entry, opening))
  const shut = async (name: string): Promise<void> => {
    const networkServer = networkServers.take(name)
    await networkServer?.close()
    if (networkServer !== undefined) downlinks.ready()
  }
  /** Opens and closes what another node has added to the registry, or removed from it. */
  const followRegistry = async (): Promise<void> => {
    const wanted = await readEntriesOfRegistry(context, { ...parts, entriesOfFile })
    const ofFile = new Set(entriesOfFile.map(({ name }) => name))
    const names = new Set(wanted.map(({ name }) => name))
    for (const name of networkServers.names()) if (!ofFile.has(name) && !names.has(name)) await shut(name)
    for (const entry of wanted) if (!networkServers.names().includes(entry.name)) await open(entry)
  }
  for (const entry of [...entriesOfFile, ...(await readEntriesOfRegistry(context, { ...parts, entriesOfFile }))]) {
    await open(entry)
  }
  return {
    async open(entry) {
      await open(entry)
      ofNodes?.changed()
    },
    async shut(name) {
      await shut(name)
      ofNodes?.changed()
    },
    webhooks: new WebhookReceiver({ placeOf, sinkOf: (organizationId) => sinkOf(organizationId, 'http'), deviceIds }),
    counters,
  }
}

/** The network servers of which one node runs each; undefined in a deployment of one node. */
function networkServersOfNodes(
  { nodes }: StartContext,
  downlinks: Downlinks,
  onChanged: () => void,
  log: Logger,
): NetworkServersOfNodes | undefined {
  if (nodes === undefined) return undefined
  return new NetworkServersOfNodes({ nodes, clock: systemClock, onReady: () => downlinks.ready(), onChanged, log })
}

/** The common parts of all network servers. */
interface Opening {
  readonly ofNodes: NetworkServersOfNodes | undefined
  readonly registry: Registry
  /** Tells which applications' network servers name commands in their events. */
  readonly naming: Downlinks['naming']
  readonly log: Logger
  readonly counters: NetworkServerCounters
  readonly placeOf: Registry['directory']['device']
  /** Where the events of a network server go; null is for one of the whole deployment. */
  readonly sinkOf: (organizationId: string | null, networkServer: string) => EventSink
  readonly deviceIds: TheThingsStackDeviceIds
}

function openingOf(
  { registry, unknownDevices, uplinkPath, downlinks }: Needed,
  ofNodes: NetworkServersOfNodes | undefined,
  log: Logger,
): Opening {
  const counters = createCounters()
  const placeOf = (devEui: string) => registry.directory.device(devEui)
  const inspectionOf = inspections()
  const sinkParts = {
    placeOf,
    organizationOf: (applicationId: string) => registry.directory.organizationOf(applicationId),
    publisher: uplinkPath,
    unknownDevices,
    ready: () => {
      downlinks.ready()
      ofNodes?.ready()
    },
    counters,
    clock: systemClock,
    log,
  }
  return {
    ofNodes,
    registry,
    naming: downlinks.naming,
    log,
    counters,
    placeOf,
    sinkOf: (organizationId, networkServer) => {
      const parts = { ...sinkParts, networkServer, inspection: inspectionOf(organizationId) }
      return new DeviceEventSink(parts, organizationId ?? undefined)
    },
    deviceIds: new TheThingsStackDeviceIds(),
  }
}

function openEntry(entry: NetworkServerEntry, opening: Opening): Promise<NetworkServer> {
  switch (entry.kind) {
    case 'mqtt-bridge':
      return openBridge(entry, opening)
    case 'chirpstack-grpc':
      return openChirpStackGrpc(entry, opening)
    case 'chirpstack-http':
      return openRest(entry, opening, chirpStackForm(entry.version))
    case 'the-things-stack':
      return openRest(entry, opening, formOfTheThingsStack(entry, opening))
  }
}

/**
 * Keeps one inspection of events for each organization's network servers; null is for the network
 * servers of the whole deployment.
 */
function inspections(): (organizationId: string | null) => EventInspection {
  const known = new Map<string | null, EventInspection>()
  return (organizationId) => {
    const inspection = known.get(organizationId) ?? new EventInspection()
    known.set(organizationId, inspection)
    return inspection
  }
}

/** Names an entry among the network servers whose events are kept. */
function entryName({ name }: { readonly name: string }): string {
  return `entry:${name}`
}

/** The parts that each adapter gets. */
function common({ counters, log }: Opening) {
  return { clock: systemClock, backoff: RECONNECTING, counters, log }
}

async function openBridge(entry: MqttBridgeEntry, opening: Opening): Promise<NetworkServer> {
  const { organizationId, bridge } = entry
  const { ofNodes } = opening
  const own = organizationId === undefined ? undefined : await opening.registry.directory.applicationsOf(organizationId)
  const mayServe = (applicationId: string): boolean => own?.has(applicationId) ?? true
  const open = (): NetworkServer =>
    new MqttBridge(bridge, {
      ...common(opening),
      sink: opening.sinkOf(organizationId ?? null, entryName(bridge)),
      mayServe,
      naming: opening.naming,
      openSocket: () => openBrokerSocket(entry.address),
    })
  if (ofNodes === undefined) return open()
  const mayTake = applicationsOfBridge(bridge)
  const serves = (applicationId: string): boolean => mayTake(applicationId) && mayServe(applicationId)
  return ofNodes.add({ name: bridge.name, serves, flushes: false, open: async () => open() })
}

async function openChirpStackGrpc(entry: ChirpStackGrpcEntry, opening: Opening): Promise<NetworkServer> {
  const { name, tenants } = entry
  const { ofNodes } = opening
  if (ofNodes === undefined) return connectChirpStackGrpc(entry, opening)
  const registry = syncedRegistry(opening.registry)
  const look = async (): Promise<ReadonlySet<string>> =>
    new Set(await registry.syncedApplications(externalIdPrefix(name), [...new Set(tenants?.values())]))
  let known = await look()
  return ofNodes.add({
    name,
    judges: true,
    givesIds: true,
    takesObjects: true,
    flushes: true,
    serves: (applicationId) => known.has(applicationId),
    async refresh() {
      known = await look()
    },
    open: () => connectChirpStackGrpc(entry, opening),
  })
}

async function connectChirpStackGrpc(entry: ChirpStackGrpcEntry, opening: Opening): Promise<NetworkServer> {
  const { name, tenants } = entry
  // gRPC and ChirpStack's messages take 10 MB of memory and a good part of the time of a start.
  // Most deployments have no such network server, so the modules are loaded here.
  const [{ ChirpStackApi }, { ChirpStackGrpc }] = await Promise.all([
    import('../lorawan/network-servers/chirpstack/chirpstack-api.ts'),
    import('../lorawan/network-servers/chirpstack/chirpstack-grpc.ts'),
  ])
  const api = new ChirpStackApi(entry.address)
  const registry = syncedRegistry(opening.registry)
  const known = await registry.syncedApplications(externalIdPrefix(name), [...new Set(tenants?.values())])
  const look = () => registry.syncedApplications(externalIdPrefix(name), [...new Set(tenants?.values())])
  const sync =
    entry.syncIntervalMs === 0
      ? new KnownApplications(look, known)
      : new ChirpStackSync({ name, api, registry, tenants, clock: systemClock, log: opening.log }, known)
  const sink = opening.sinkOf(null, entryName(entry))
  const syncIntervalMs = entry.syncIntervalMs === 0 ? KNOWN_APPLICATIONS_MS : entry.syncIntervalMs
  return new ChirpStackGrpc(name, { ...common(opening), api, sync, sink, syncIntervalMs })
}

async function openRest(
  entry: ChirpStackHttpEntry | TheThingsStackEntry,
  opening: Opening,
  form: RestForm,
): Promise<NetworkServer> {
  const { name, organizationId, applications } = entry
  const own = await opening.registry.directory.applicationsOf(organizationId)
  return new RestNetworkServer(name, {
    ...common(opening),
    sink: opening.sinkOf(organizationId, entryName(entry)),
    serves: (applicationId) => own.has(applicationId) && (applications?.includes(applicationId) ?? true),
    client: new HttpClient(entry.target),
    form,
  })
}

function formOfTheThingsStack(entry: TheThingsStackEntry, { registry, deviceIds }: Opening): RestForm {
  return theThingsStackForm({
    applicationId: entry.applicationId,
    webhookId: entry.webhookId,
    async deviceIdOf(devEui) {
      const device = await registry.devices.get(devEui)
      return deviceIds.idOf(devEui, device?.variables[DEVICE_ID_VARIABLE])
    },
  })
}
