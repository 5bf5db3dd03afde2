/** The commands of the service, wired to its registry, its broker and its network servers. */
import { systemClock } from '../clock.ts'
import type { Registry } from '../identity/registry.ts'
import { forgetOnChange } from '../identity/store/remembered-facts.ts'
import type { CommandRegistry } from '../lorawan/commands/command-registry.ts'
import { Downlinks } from '../lorawan/commands/downlinks.ts'
import { MqttNetworkServer } from '../lorawan/network-servers/mqtt-network-server.ts'
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
  { settings, log, shutdown }: StartContext,
  parts: Needed,
): Pick<Parts, 'downlinks' | 'readerListener'> {
  const { registry, bounds, brokerLink, networkServers, sightings } = parts
  // The commands and the network servers over MQTT need each other: these functions are called when
  // both are there.
  const mqtt = createMqttNetworkServer(parts, () => downlinks)
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
    log: log.child({ room: 'lorawan' }),
  })
  const unsubscribe = followChanges(registry, downlinks)
  shutdown.add('downlinks', () => {
    unsubscribe()
    downlinks.close()
  })
  return { downlinks, readerListener: mqtt }
}

/** Makes the network server that stands for all network servers that are clients of the broker. */
function createMqttNetworkServer(parts: Needed, downlinks: () => Downlinks): MqttNetworkServer {
  const { registry, brokerLink, networkServers, presence } = parts
  return new MqttNetworkServer({
    dispatcher: brokerLink,
    sink: { ready: () => downlinks().ready() },
    organizationOf: (applicationId) => registry.directory.organizationOf(applicationId),
    hasOwn: ownNetworkServers(registry),
    presenceOf: (tenant) => presence.of(tenant),
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

function commandRegistryOf({ applications, devices }: Registry): CommandRegistry {
  return {
    codecOf: async (applicationId) => {
      const application = await applications.get(applicationId)
      return application && { codec: application.payloadCodec, encoderScript: application.payloadEncoderScript }
    },
    variablesOf: async (devEui) => (await devices.get(devEui))?.variables ?? {},
    namesOf: async (devEui) => {
      const device = await devices.get(devEui)
      if (device === undefined) return undefined
      const application = await applications.get(device.applicationId)
      const { applicationId, name: deviceName, deviceProfileName, tags } = device
      return application && { applicationId, applicationName: application.name, deviceName, deviceProfileName, tags }
    },
  }
}

/**
 * Follows the registry. A removed device or application takes its commands with it. A device that
 * moves to another application of its organization keeps them; the registry announces the move as a
 * removal and a creation. A revoked credential may have been the last of its organization: the
 * commands that waited for its network server may go elsewhere.
 */
function followChanges({ changes, devices }: Registry, downlinks: Downlinks): () => void {
  const forgets = forgetOnChange(changes, {
    application: {
      forget: (applicationId) => downlinks.applicationChanged(applicationId),
      forgetAll: () => downlinks.allApplicationsChanged(),
    },
  })
  const follows = changes.subscribe((change) => {
    if (change.kind === 'application_removed') downlinks.applicationRemoved(change.applicationId)
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
