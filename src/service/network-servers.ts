/**
 * The network servers that the settings name, wired to the registry, the broker and the downlink
 * queue.
 */
import { readFileSync } from 'node:fs'
import { OrganizationApplications } from '../access/organization-applications.ts'
import type { Publisher } from '../broker/ports/consumer.ts'
import type { Registry } from '../identity/registry.ts'
import type { Logger } from '../logger.ts'
import type { CommandNaming } from '../lorawan/commands/command-naming.ts'
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
import { readNetworkServers } from '../lorawan/network-servers/settings.ts'
import type {
  ChirpStackGrpcEntry,
  ChirpStackHttpEntry,
  MqttBridgeEntry,
  NetworkServerEntry,
  NetworkServersResult,
  TheThingsStackEntry,
} from '../lorawan/network-servers/settings.ts'
import { TheThingsStackDeviceIds } from '../lorawan/network-servers/http/the-things-stack-device-ids.ts'
import { systemTimers } from '../lorawan/network-servers/adapter/timers.ts'
import { WebhookReceiver } from '../lorawan/network-servers/http/webhook-receiver.ts'
import { syncedRegistry } from './synced-registry.ts'

/**
 * The variable of a device that names it to The Things Stack, where that is not `eui-` and its
 * DevEUI.
 */
const DEVICE_ID_VARIABLE = 'theThingsStackDeviceId'

export interface NetworkServersParts {
  readonly entries: readonly NetworkServerEntry[]
  /** Where they are put when they are open, the first that serves an application before others. */
  readonly networkServers: NetworkServer[]
  readonly registry: Registry
  /** Of a broker that has started. */
  readonly publisher: Publisher
  /** The network server can be reached (again). */
  readonly ready: (networkServer: NetworkServer) => void
  /** Which applications' network servers name commands in their events. */
  readonly naming: Pick<CommandNaming, 'names' | 'countsFrames'>
  readonly log: Logger
}

export interface OpenedNetworkServers {
  /** Takes the events that network servers post. */
  readonly webhooks: WebhookReceiver
  readonly counters: NetworkServerCounters
  /** Opens one more, behind the others. */
  open(entry: NetworkServerEntry): Promise<void>
  /** Closes the one of this name; what waits for it goes elsewhere. */
  shut(name: string): Promise<void>
  close(): Promise<void>
}

/** Reads the file of FIELDGATE_NETWORK_SERVERS_FILE, and the files that it names. */
export function readNetworkServersFile(path: string): NetworkServersResult {
  try {
    return readNetworkServers(readText(path), readText)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return { ok: false, faults: [`the file can't be read (${code})`] }
  }
}

function readText(file: string): string {
  return readFileSync(file, 'utf8')
}

/** Opens them all; each connects by itself and goes on trying. */
export async function openNetworkServers(parts: NetworkServersParts): Promise<OpenedNetworkServers> {
  const { registry, publisher, ready, entries, networkServers } = parts
  const counters = createCounters()
  const applications = new OrganizationApplications(registry.directory)
  const unsubscribe = registry.changes.subscribe((change) => applications.changed(change))
  const placeOf = (devEui: string) => registry.directory.device(devEui)
  const inspectionOf = inspections()
  const sinkOf = (organizationId: string | null): EventSink => {
    const inspection = inspectionOf(organizationId)
    const sinkParts = { placeOf, publisher, ready, counters, inspection, monotonicMs, log: parts.log }
    return new DeviceEventSink(sinkParts, organizationId ?? undefined)
  }
  const deviceIds = new TheThingsStackDeviceIds()
  const opening: Opening = { parts, counters, applications, sinkOf, deviceIds }
  const open = async (entry: NetworkServerEntry): Promise<void> => {
    networkServers.push(await openEntry(entry, opening))
  }
  for (const entry of entries) await open(entry)
  return {
    open,
    async shut(name) {
      const place = networkServers.findIndex((networkServer) => networkServer.name === name)
      const [networkServer] = place < 0 ? [] : networkServers.splice(place, 1)
      if (networkServer === undefined) return
      await networkServer.close()
      ready(networkServer)
    },
    webhooks: new WebhookReceiver({ placeOf, sinkOf, deviceIds }),
    counters,
    async close() {
      unsubscribe()
      await Promise.all(networkServers.map((networkServer) => networkServer.close()))
    },
  }
}

interface Opening {
  readonly parts: NetworkServersParts
  readonly counters: NetworkServerCounters
  readonly applications: OrganizationApplications
  readonly sinkOf: (organizationId: string | null) => EventSink
  readonly deviceIds: TheThingsStackDeviceIds
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

/** What every adapter gets. */
const monotonicMs = (): number => performance.now()

/**
 * Looks at the events of each organization's network servers; null is for those of the whole
 * deployment.
 */
function inspections(): (organizationId: string | null) => EventInspection {
  const known = new Map<string | null, EventInspection>()
  return (organizationId) => {
    const inspection = known.get(organizationId) ?? new EventInspection()
    known.set(organizationId, inspection)
    return inspection
  }
}

function common({ parts, counters }: Opening) {
  return { timers: systemTimers, monotonicMs, backoff: RECONNECTING, counters, log: parts.log }
}

async function openBridge(entry: MqttBridgeEntry, opening: Opening): Promise<NetworkServer> {
  const { organizationId } = entry
  const own = organizationId === undefined ? undefined : await opening.applications.of(organizationId)
  return new MqttBridge(entry.bridge, {
    ...common(opening),
    sink: opening.sinkOf(organizationId ?? null),
    mayServe: (applicationId) => own?.has(applicationId) ?? true,
    naming: opening.parts.naming,
    openSocket: () => openBrokerSocket(entry.address),
  })
}

async function openChirpStackGrpc(entry: ChirpStackGrpcEntry, opening: Opening): Promise<NetworkServer> {
  const { name, tenants } = entry
  // Most deployments have none: gRPC and ChirpStack's messages are 10 MB of memory and a good part
  // of the time of a start.
  const [{ ChirpStackApi }, { ChirpStackGrpc }] = await Promise.all([
    import('../lorawan/network-servers/chirpstack/chirpstack-api.ts'),
    import('../lorawan/network-servers/chirpstack/chirpstack-grpc.ts'),
  ])
  const api = new ChirpStackApi(entry.address)
  const registry = syncedRegistry(opening.parts.registry)
  const known = await registry.syncedApplications(externalIdPrefix(name), [...new Set(tenants?.values())])
  const sync = new ChirpStackSync(
    { name, api, registry, tenants, nowMs: () => Date.now(), log: opening.parts.log },
    known,
  )
  const sink = opening.sinkOf(null)
  return new ChirpStackGrpc(name, { ...common(opening), api, sync, sink, syncIntervalMs: entry.syncIntervalMs })
}

async function openRest(
  entry: ChirpStackHttpEntry | TheThingsStackEntry,
  opening: Opening,
  form: RestForm,
): Promise<NetworkServer> {
  const { name, organizationId, applications } = entry
  const own = await opening.applications.of(organizationId)
  return new RestNetworkServer(name, {
    ...common(opening),
    sink: opening.sinkOf(organizationId),
    serves: (applicationId) => own.has(applicationId) && (applications?.includes(applicationId) ?? true),
    client: new HttpClient(entry.target),
    form,
  })
}

function formOfTheThingsStack(entry: TheThingsStackEntry, { parts, deviceIds }: Opening): RestForm {
  return theThingsStackForm({
    applicationId: entry.applicationId,
    webhookId: entry.webhookId,
    async deviceIdOf(devEui) {
      const device = await parts.registry.devices.get(devEui)
      return deviceIds.idOf(devEui, device?.variables[DEVICE_ID_VARIABLE])
    },
  })
}
