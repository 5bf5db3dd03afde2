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
import { ChirpStackSync, externalIdPrefix } from '../lorawan/network-servers/chirpstack/chirpstack-sync.ts'
import { createCounters } from '../lorawan/network-servers/adapter/counters.ts'
import type { NetworkServerCounters } from '../lorawan/network-servers/adapter/counters.ts'
import { DeviceEventSink } from '../lorawan/network-servers/adapter/device-event-sink.ts'
import { HttpClient } from '../lorawan/network-servers/http/http-request.ts'
import { MqttBridge } from '../lorawan/network-servers/bridge/mqtt-bridge.ts'
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
import { WebhookReceiver } from '../lorawan/network-servers/http/webhook-receiver.ts'
import type { OpenedNetworkServers } from './opened-network-servers.ts'
import type { Parts, StartContext } from './parts.ts'
import { syncedRegistry } from './synced-registry.ts'

/**
 * The variable of a device with its device id in The Things Stack. Without the variable, the id is
 * `eui-` and the DevEUI.
 */
const DEVICE_ID_VARIABLE = 'theThingsStackDeviceId'

type Needed = Pick<Parts, 'registry' | 'uplinkPath' | 'downlinks' | 'networkServers'>

/** Opens the network servers of the entries. Each connects by itself, and goes on trying. */
export async function openNetworkServers(
  { log, shutdown }: StartContext,
  parts: Needed,
  entries: readonly NetworkServerEntry[],
): Promise<OpenedNetworkServers> {
  const { downlinks, networkServers } = parts
  const opening = openingOf(parts, log.child({ room: 'lorawan' }))
  const { counters, deviceIds, placeOf, sinkOf } = opening
  shutdown.add('network servers', () => networkServers.close())
  const open = async (entry: NetworkServerEntry): Promise<void> => networkServers.add(await openEntry(entry, opening))
  for (const entry of entries) await open(entry)
  return {
    open,
    async shut(name) {
      const networkServer = networkServers.take(name)
      await networkServer?.close()
      if (networkServer !== undefined) downlinks.ready()
    },
    webhooks: new WebhookReceiver({ placeOf, sinkOf, deviceIds }),
    counters,
  }
}

/** The common parts of all network servers. */
interface Opening {
  readonly registry: Registry
  /** Tells which applications' network servers name commands in their events. */
  readonly naming: Downlinks['naming']
  readonly log: Logger
  readonly counters: NetworkServerCounters
  readonly placeOf: Registry['directory']['device']
  /** Where an organization's events go; null is for a network server of the whole deployment. */
  readonly sinkOf: (organizationId: string | null) => EventSink
  readonly deviceIds: TheThingsStackDeviceIds
}

function openingOf({ registry, uplinkPath, downlinks }: Needed, log: Logger): Opening {
  const counters = createCounters()
  const placeOf = (devEui: string) => registry.directory.device(devEui)
  const inspectionOf = inspections()
  const sinkParts = {
    placeOf,
    publisher: uplinkPath,
    ready: () => downlinks.ready(),
    counters,
    clock: systemClock,
    log,
  }
  return {
    registry,
    naming: downlinks.naming,
    log,
    counters,
    placeOf,
    sinkOf: (organizationId) =>
      new DeviceEventSink({ ...sinkParts, inspection: inspectionOf(organizationId) }, organizationId ?? undefined),
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

/** The parts that each adapter gets. */
function common({ counters, log }: Opening) {
  return { clock: systemClock, backoff: RECONNECTING, counters, log }
}

async function openBridge(entry: MqttBridgeEntry, opening: Opening): Promise<NetworkServer> {
  const { organizationId } = entry
  const own = organizationId === undefined ? undefined : await opening.registry.directory.applicationsOf(organizationId)
  return new MqttBridge(entry.bridge, {
    ...common(opening),
    sink: opening.sinkOf(organizationId ?? null),
    mayServe: (applicationId) => own?.has(applicationId) ?? true,
    naming: opening.naming,
    openSocket: () => openBrokerSocket(entry.address),
  })
}

async function openChirpStackGrpc(entry: ChirpStackGrpcEntry, opening: Opening): Promise<NetworkServer> {
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
  const sync = new ChirpStackSync({ name, api, registry, tenants, clock: systemClock, log: opening.log }, known)
  const sink = opening.sinkOf(null)
  return new ChirpStackGrpc(name, { ...common(opening), api, sync, sink, syncIntervalMs: entry.syncIntervalMs })
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
    sink: opening.sinkOf(organizationId),
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
