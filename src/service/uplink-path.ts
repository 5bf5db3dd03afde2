/** The way of uplinks, wired to the registry whose codecs it follows. */
import type { Publisher } from '../broker/ports/consumer.ts'
import { systemClock } from '../identity/store/clock.ts'
import type { Change } from '../identity/store/changes.ts'
import type { Registry } from '../identity/registry.ts'
import type { Logger } from '../logger.ts'
import type { Codecs } from '../lorawan/codecs/codecs.ts'
import type { Downlinks } from '../lorawan/commands/downlinks.ts'
import type { UplinkRegistry } from '../lorawan/uplinks/uplink-path-registry.ts'
import { UplinkPath } from '../lorawan/uplinks/uplink-path.ts'

export interface UplinkPathWiring {
  readonly registry: Registry
  readonly codecs: Codecs
  readonly commandEvents: Downlinks['events']
  readonly publisher: Publisher
  readonly log: Logger
}

export interface OpenedUplinkPath {
  readonly uplinkPath: UplinkPath
  /** Holds nothing back any more, and stops following the registry. */
  close(): void
}

/** Puts it together; it follows the registry from here on. */
export function openUplinkPath({
  registry,
  codecs,
  commandEvents,
  publisher,
  log,
}: UplinkPathWiring): OpenedUplinkPath {
  const uplinkPath = new UplinkPath({
    registry: uplinkRegistryOf(registry),
    codecs,
    commandEvents,
    publisher,
    clock: systemClock,
    log,
  })
  const unsubscribe = registry.changes.subscribe((change) => follow(uplinkPath, change))
  const close = (): void => {
    unsubscribe()
    uplinkPath.close()
  }
  return { uplinkPath, close }
}

function uplinkRegistryOf({ applications, devices, directory }: Registry): UplinkRegistry {
  return {
    codecOf: async (applicationId) => {
      const application = await applications.get(applicationId)
      if (application === undefined) return undefined
      const { organizationId, payloadCodec, payloadDecoderScript } = application
      return { organizationId, codec: payloadCodec, decoderScript: payloadDecoderScript }
    },
    hasTags: (devEui) => {
      const place = directory.device(devEui)
      if (!(place instanceof Promise)) return place?.hasTags === true
      // It is looked up again by who needs it.
      place.catch(() => {})
      return undefined
    },
    tagsOf: async (devEui) => (await devices.get(devEui))?.tags ?? {},
    variablesOf: async (devEui) => (await devices.get(devEui))?.variables ?? {},
  }
}

function follow(uplinkPath: UplinkPath, change: Change): void {
  const { kind } = change
  if (kind === 'application_created' || kind === 'application_changed' || kind === 'application_removed') {
    uplinkPath.applicationChanged(change.applicationId)
  }
  if (kind === 'device_created' || kind === 'device_changed' || kind === 'device_removed') {
    uplinkPath.deviceChanged(change.devEui)
  }
  if (kind === 'devices_changed') uplinkPath.devicesChanged()
}
