/** The commands of a service, wired to its registry, its broker and its network servers. */
import type { Dispatcher, Publisher, ReaderListener } from '../broker/ports/consumer.ts'
import { systemClock } from '../identity/store/clock.ts'
import type { Registry } from '../identity/registry.ts'
import type { Logger } from '../logger.ts'
import type { CommandRegistry, DownlinkEncoder } from '../lorawan/commands/command-registry.ts'
import { createDownlinks } from '../lorawan/commands/downlinks.ts'
import type { Downlinks } from '../lorawan/commands/downlinks.ts'
import type { DurableState } from '../lorawan/commands/durable-state.ts'
import { MqttNetworkServer } from '../lorawan/network-servers/mqtt-network-server.ts'
import type { MqttNetworkServerOptions } from '../lorawan/network-servers/mqtt-network-server.ts'
import type { NetworkServer } from '../lorawan/commands/network-server.ts'

export interface DownlinksParts {
  readonly registry: Registry
  readonly state: DurableState
  readonly broker: Publisher & Dispatcher
  readonly encoder: DownlinkEncoder
  /**
   * Those of the settings; all other applications are served by clients of the broker. May still
   * grow.
   */
  readonly networkServers: readonly NetworkServer[]
  /** When the device was last heard of; undefined when that was long ago, or never. */
  readonly heardAtMs: (devEui: string) => number | undefined
  /** When network servers of a tenant were connected last. */
  readonly presenceOf: MqttNetworkServerOptions['presenceOf']
  /** How long a network server may say nothing of a command that it has taken. */
  readonly wordWaitMs: number
  readonly log: Logger
}

export interface OpenedDownlinks {
  readonly downlinks: Downlinks
  /** To be told by the broker of Sessions that read commands. */
  readonly readerListener: ReaderListener
  /** Stops following the registry and offering commands. */
  close(): void
}

/** Puts them together; `downlinks.load` is for when the broker has started. */
export function openDownlinks(parts: DownlinksParts): OpenedDownlinks {
  const { registry, state, broker, encoder, networkServers, log } = parts
  const isServedElsewhere = (applicationId: string): boolean => networkServers.some((one) => one.serves(applicationId))
  const sink = { ready: () => downlinks.ready() }
  const organizationOf = (applicationId: string) => registry.directory.organizationOf(applicationId)
  const hasOwn = ownNetworkServers(registry)
  const naming: MqttNetworkServerOptions['naming'] = {
    names: (applicationId) => downlinks.naming.names(applicationId),
    countsFrames: (applicationId) => downlinks.naming.countsFrames(applicationId),
  }
  const options = { sink, organizationOf, hasOwn, presenceOf: parts.presenceOf, isServedElsewhere, naming }
  const mqtt = new MqttNetworkServer({ dispatcher: broker, ...options })
  const downlinks: Downlinks = createDownlinks({
    state,
    publisher: broker,
    serverOf: (applicationId) => networkServers.find((one) => one.serves(applicationId)) ?? mqtt,
    places: registry.directory,
    registry: commandRegistryOf(registry),
    encoder,
    clock: systemClock,
    monotonicMs: () => performance.now(),
    heardAtMs: parts.heardAtMs,
    wordWaitMs: parts.wordWaitMs,
    log,
    defer: (run) => void setImmediate(run),
    after: (ms, run) => {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })
  const unsubscribe = followChanges(registry, downlinks)
  const close = (): void => {
    unsubscribe()
    downlinks.close()
  }
  return { downlinks, readerListener: mqtt, close }
}

/**
 * Whether an organization has a service credential. Asked of the registry each time, for it tells
 * of none that is made; those who ask while it is being looked up share the answer.
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
 * What is removed takes its commands with it; a device that moves to another application is told as
 * removed and created. A revoked credential may have been its organization's last: what waited for
 * its network server may go elsewhere.
 */
function followChanges({ changes, devices }: Registry, downlinks: Downlinks): () => void {
  return changes.subscribe((change) => {
    if (change.kind === 'application_changed') downlinks.applicationChanged(change.applicationId)
    if (change.kind === 'application_removed') downlinks.applicationRemoved(change.applicationId)
    if (change.kind === 'service_credential_revoked') downlinks.ready()
    if (change.kind !== 'device_removed') return
    const { devEui, organizationId } = change
    devices.get(devEui).then(
      (device) => {
        if (device?.organizationId !== organizationId) downlinks.deviceRemoved(devEui)
      },
      () => downlinks.deviceRemoved(devEui),
    )
  })
}
