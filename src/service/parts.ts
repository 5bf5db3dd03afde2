/**
 * The parts of the running service and the context in which they are opened, each listed once: an
 * opener names the parts that it needs by `Pick<Parts, ...>`.
 */
import type { AccessPolicy } from '../access/policy.ts'
import type { Broker } from '../broker/broker.ts'
import type { ReaderListener } from '../broker/ports/consumer.ts'
import type { Engine } from '../broker/ports/engine.ts'
import type { RequestShares } from '../http/shares/request-shares.ts'
import type { DataDirectory } from '../data/data-directory.ts'
import type { Disk } from '../engine/ports/disk.ts'
import type { RetainedSnapshot } from '../broker/ports/retained-snapshot.ts'
import type { Registry } from '../identity/registry.ts'
import type { HandshakeTurns } from '../listeners/handshake-turns.ts'
import type { Codecs } from '../lorawan/codecs/codecs.ts'
import type { Presence } from '../lorawan/commands/command-waits.ts'
import type { CommandWays } from '../lorawan/commands/device-commands.ts'
import type { Downlinks } from '../lorawan/commands/downlinks.ts'
import type { DurableState } from '../lorawan/commands/durable-state.ts'
import type { NetworkServerPresence } from '../lorawan/network-servers/network-server-presence.ts'
import type { NetworkServerEntry } from '../lorawan/network-servers/settings.ts'
import type { UnknownDevices } from '../lorawan/unknown-devices/unknown-devices.ts'
import type { DeviceSightings } from '../lorawan/uplinks/device-sightings.ts'
import type { Webhooks } from '../lorawan/webhooks/webhooks.ts'
import type { UplinkPath } from '../lorawan/uplinks/uplink-path.ts'
import type { BoundsByOrganization } from '../organization-bounds.ts'
import type { Nodes } from '../nodes.ts'
import type { PinoLogger } from '../pino-logger.ts'
import type { Settings } from '../settings/settings.ts'
import type { BrokerLink } from './broker-link.ts'
import type { ServiceFleetWatch } from './fleet.ts'
import type { OpenedInventories } from './inventories.ts'
import type { NearBounds } from './near-bounds.ts'
import type { NetworkServerList } from './network-server-list.ts'
import type { OpenedNetworkServers } from './opened-network-servers.ts'
import type { NatsServerState } from '../engine/nats/server-states.ts'
import type { UsageSource } from './organization-usage.ts'
import type { PublicAddresses } from './public-addresses.ts'
import type { SampledStatus } from './sampled-status.ts'
import type { Shutdown } from './shutdown.ts'

/**
 * Each `openX` gets the context, and adds the step that closes the part to the shutdown. A
 * `createX` makes a part that needs no closing of its own.
 */
export interface StartContext {
  readonly settings: Settings
  /** Each part takes a child of it, with the name of its room. */
  readonly log: PinoLogger
  readonly dataDirectory: DataDirectory
  /** The nodes of the deployment; undefined where the deployment is this one process. */
  readonly nodes?: Nodes | undefined
  /** Keeps the retained messages of all nodes; undefined in a deployment of this one process. */
  readonly retainedSnapshot?: RetainedSnapshot | undefined
  /** Asks the servers of NATS how they are; undefined without them. */
  readonly readNatsServers?: (() => Promise<readonly NatsServerState[]>) | undefined
  /** The disk for the messages. */
  readonly disk: Disk
  readonly shutdown: Shutdown
}

/** The parts of the running service, in the order of the start. */
export interface Parts {
  readonly registry: Registry
  /** The bounds of each organization. */
  readonly bounds: BoundsByOrganization
  /** Gathers when devices were heard of, and writes that to the registry. */
  readonly sightings: DeviceSightings
  readonly engine: Engine
  /** The state of rooms other than the broker, kept by the engine. */
  readonly state: DurableState
  /** Tells which organizations' network servers are connected to the broker. */
  readonly presence: NetworkServerPresence
  /** Keeps the events of devices that are not registered. */
  readonly unknownDevices: UnknownDevices
  readonly policy: AccessPolicy
  readonly codecs: Codecs
  /** The broker for parts that are made before it. */
  readonly brokerLink: BrokerLink
  /** The network servers that are no clients of the broker. The list may grow and shrink. */
  readonly networkServers: NetworkServerList
  readonly downlinks: Downlinks
  /** Whether a tenant's network servers are connected to any node. */
  readonly networkServerPresenceOf: (tenant: string) => Presence | Promise<Presence>
  /** Watches the states of devices. */
  readonly fleetWatch: ServiceFleetWatch
  /** How commands, and events about them, come in. */
  readonly commandWays: CommandWays
  /** Is told by the broker of Sessions that read commands. */
  readonly readerListener: ReaderListener
  readonly uplinkPath: UplinkPath
  /** The webhooks of organizations, to which events go out. */
  readonly webhooks: Webhooks
  readonly broker: Broker
  /** The entries of FIELDGATE_NETWORK_SERVERS_FILE. */
  readonly entriesOfFile: readonly NetworkServerEntry[]
  readonly openedNetworkServers: OpenedNetworkServers
  /** The inventories of network servers, and the organizations that are kept in step with them. */
  readonly openedInventories: OpenedInventories
  /** The use that each organization makes of its bounds. */
  readonly usage: UsageSource
  /** The organizations that are near a bound. */
  readonly nearBounds: NearBounds
  readonly status: SampledStatus
  /** Tells how many requests each organization makes. */
  readonly requestShares: RequestShares
  readonly addresses: PublicAddresses
  /** The turns of all listeners' TLS handshakes. */
  readonly handshakeTurns: HandshakeTurns
}
