/** The commands of the service, wired to its registry, its broker and its network servers. */
import type { ReaderListener } from '../broker/ports/consumer.ts'
import { systemClock } from '../clock.ts'
import type { Registry } from '../identity/registry.ts'
import { forgetOnChange } from '../identity/store/remembered-facts.ts'
import type { CommandRegistry } from '../lorawan/commands/command-registry.ts'
import { Downlinks } from '../lorawan/commands/downlinks.ts'
import type { QueueHomes } from '../lorawan/commands/nodes/queue-homes.ts'
import { tellNaming, waysOfNodes } from '../lorawan/commands/nodes/ways-of-nodes.ts'
import { LocalReaders } from '../lorawan/network-servers/downlink-readers.ts'
import type { DownlinkReaders } from '../lorawan/network-servers/downlink-readers.ts'
import { MqttNetworkServer } from '../lorawan/network-servers/mqtt-network-server.ts'
import type { MqttNetworkServerOptions } from '../lorawan/network-servers/mqtt-network-server.ts'
import { PresenceOfNodes } from '../lorawan/network-servers/nodes/presence-of-nodes.ts'
import { ReadersOfNodes } from '../lorawan/network-servers/nodes/readers-of-nodes.ts'
import type { Parts, StartContext } from './parts.ts'

type Needed = Pick<
  Parts,
  'registry' | 'bounds' | 'state' | 'brokerLink' | 'codecs' | 'networkServers' | 'presence' | 'sightings'
>

/**
 * Puts the commands together; they follow the registry from here on. `downlinks.load` is for after
 * the broker's start.
 */
export function openDownlinks(
  { settings, log, shutdown, nodes }: StartContext,
  parts: Needed,
): Pick<Parts, 'downlinks' | 'commandWays' | 'readerListener' | 'networkServerPresenceOf'> {
  const { registry, bounds, brokerLink, networkServers, sightings } = parts
  // The commands and the network servers over MQTT need each other: these functions are called when
  // both are there.
  const readers = readersOf(nodes, parts, () => downlinks.ready())
  const mqtt = createMqttNetworkServer(parts, readers, () => downlinks)
  const downlinks: Downlinks = new Downlinks({
    state: parts.state,
    publisher: brokerLink,
    serverOf: (applicationId) => networkServers.serverOf(applicationId) ?? mqtt,
    places: registry.directory,
    registry: commandRegistryOf(registry),
    encoder: parts.codecs,
    maximumWaitingOf: (organizationId) => bounds.of(organizationId).waitingCommands,
    clock: systemClock,
    heardAtMs: (devEui) => sightings.heardAtMs(devEui),
    wordWaitMs: settings.commandWordSeconds * 1_000,
    ...(nodes && { onNaming: (applicationId, isNamed) => tellNaming(nodes.bus, { applicationId, isNamed }) }),
    log: log.child({ room: 'lorawan' }),
  })
  const ways = nodes === undefined ? undefined : waysOfNodes(downlinks, { nodes, clock: systemClock })
  shutdown.add('command queues', () => ways?.homes.end())
  const unsubscribe = followChanges(registry, downlinks, ways?.homes)
  shutdown.add('downlinks', () => {
    unsubscribe()
    downlinks.close()
  })
  const readerListener: ReaderListener = {
    readerReady(topicFilters) {
      if (mqtt.readerReady(topicFilters)) readers.readerReady()
    },
  }
  const { presenceOf: networkServerPresenceOf } = readers
  return { downlinks, commandWays: ways ?? downlinks.ways(), readerListener, networkServerPresenceOf }
}

/** The network servers that are clients of the brokers of this deployment. */
interface Readers extends DownlinkReaders, Pick<MqttNetworkServerOptions, 'presenceOf'> {
  /** A network server at this node can take downlinks: tells the other nodes. */
  readerReady(): void
}

function readersOf(
  nodes: StartContext['nodes'],
  { brokerLink, presence }: Pick<Needed, 'brokerLink' | 'presence'>,
  onReady: () => void,
): Readers {
  const here = new LocalReaders(brokerLink)
  if (nodes === undefined) {
    return {
      offer: (downlink, tenant) => here.offer(downlink, tenant),
      presenceOf: (tenant) => presence.of(tenant),
      readerReady: () => {},
    }
  }
  const everywhere = new ReadersOfNodes({ nodes, here, clock: systemClock, onReady })
  const presences = new PresenceOfNodes({ bus: nodes.bus, here: presence, clock: systemClock })
  nodes.onInherited((inheritance) => presence.load((prefix) => inheritance.load(prefix)))
  return {
    offer: (downlink, tenant) => everywhere.offer(downlink, tenant),
    presenceOf: (tenant) => presences.of(tenant),
    readerReady: () => everywhere.readerReady(),
  }
}

/** Makes the network server that stands for all network servers that are clients of the broker. */
function createMqttNetworkServer(
  { registry, networkServers }: Needed,
  readers: Readers,
  downlinks: () => Downlinks,
): MqttNetworkServer {
  return new MqttNetworkServer({
    readers,
    sink: { ready: () => downlinks().ready() },
    organizationOf: (applicationId) => registry.directory.organizationOf(applicationId),
    hasOwn: ownNetworkServers(registry),
    presenceOf: readers.presenceOf,
    isServedElsewhere: (applicationId) => networkServers.serverOf(applicationId) !== undefined,
    naming: {
      names: (applicationId) => downlinks().naming.names(applicationId),
      countsFrames: (applicationId) => downlinks().naming.countsFrames(applicationId),
    },
  })
}

/**
 * Tells whether an organization has a service credential. The registry is asked each time, because
 * it does not announce a new credential. Questions during a look-up share its answer.
 */
function ownNetworkServers({ serviceCredentials }: Registry): (organizationId: string) => Promise<boolean> {
  const asked = new Map<string, Promise<boolean>>()
  const look = async (organizationId: string): Promise<boolean> => {
    try {
      return (await serviceCredentials.list({ limit: 0, offset: 0, organizationId })).totalCount > 0
    } finally {
      asked.delete(organizationId)
    }
  }
  return (organizationId) => {
    const answer = asked.get(organizationId) ?? look(organizationId)
    asked.set(organizationId, answer)
    return answer
  }
}

function commandRegistryOf({ applications, devices, deviceProfiles, directory }: Registry): CommandRegistry {
  return {
    codecOf: async (applicationId) => {
      const application = await applications.get(applicationId)
      if (application === undefined) return undefined
      const { payloadCodec: codec, payloadEncoderScript: encoderScript, objectCommands } = application
      return { codec, encoderScript, passesObjects: objectCommands === 'NETWORK_SERVER' }
    },
    profileIdOf: async (devEui) => (await directory.device(devEui))?.profileId,
    profileCodecOf: async (profileId) => {
      const profile = await deviceProfiles.get(profileId)
      return (
        profile && {
          codec: profile.payloadCodec,
          encoderScript: profile.payloadEncoderScript,
          profile: { id: profile.id, organizationId: profile.organizationId },
        }
      )
    },
    variablesOf: async (devEui) => {
      const profileId = (await directory.device(devEui))?.profileId
      const profile = profileId === undefined ? undefined : await deviceProfiles.get(profileId)
      return { ...profile?.variables, ...(await devices.get(devEui))?.variables }
    },
    namesOf: async (devEui) => {
      const device = await devices.get(devEui)
      if (device === undefined) return undefined
      const application = await applications.get(device.applicationId)
      if (application === undefined) return undefined
      const { applicationId, name: deviceName, tags } = device
      const profileId = (await directory.device(devEui))?.profileId
      const profile = profileId === undefined ? undefined : await deviceProfiles.get(profileId)
      const deviceProfileName = profile?.name ?? device.deviceProfileName
      const { name: applicationName, eventShape } = application
      return { applicationId, applicationName, deviceName, deviceProfileName, tags, eventShape }
    },
  }
}

/**
 * Follows the registry. A removed device or application takes its commands with it. A device that
 * moves to another application of its organization keeps them; the registry announces the move as a
 * removal and a creation. A revoked credential may have been the last of its organization: the
 * commands that waited for its network server may go elsewhere.
 */
function followChanges(
  { changes, devices }: Registry,
  downlinks: Downlinks,
  homes: Pick<QueueHomes, 'release'> | undefined,
): () => void {
  const forgets = forgetOnChange(changes, {
    application: {
      forget: (applicationId) => downlinks.applicationChanged(applicationId),
      forgetAll: () => downlinks.allApplicationsChanged(),
    },
    deviceProfile: {
      forget: (profileId) => downlinks.profileChanged(profileId),
      forgetAll: () => downlinks.allProfilesChanged(),
    },
  })
  const follows = changes.subscribe((change) => {
    if (change.kind === 'application_removed') {
      downlinks.applicationRemoved(change.applicationId)
      homes?.release(change.applicationId)
    }
    if (change.kind === 'service_credential_revoked' || change.kind === 'resynchronized') downlinks.ready()
    if (change.kind !== 'device_removed') return
    const { devEui, organizationId } = change
    devices.get(devEui).then(
      (device) => {
        if (device?.organizationId !== organizationId) downlinks.deviceRemoved(devEui)
      },
      () => downlinks.deviceRemoved(devEui),
    )
  })
  return () => {
    forgets()
    follows()
  }
}
