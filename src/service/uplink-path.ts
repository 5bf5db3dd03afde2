/** The path of uplinks, wired to the registry whose codecs it follows. */
import { systemClock } from '../clock.ts'
import { forgetOnChange } from '../identity/store/remembered-facts.ts'
import type { Registry } from '../identity/registry.ts'
import type { UplinkRegistry } from '../lorawan/uplinks/uplink-path-registry.ts'
import { UplinkPath } from '../lorawan/uplinks/uplink-path.ts'
import type { Parts, StartContext } from './parts.ts'

/** Puts the path together; it follows the registry from here on. */
export function openUplinkPath(
  { log, shutdown }: StartContext,
  { registry, codecs, downlinks, brokerLink }: Pick<Parts, 'registry' | 'codecs' | 'downlinks' | 'brokerLink'>,
): UplinkPath {
  const uplinkPath = new UplinkPath({
    registry: uplinkRegistryOf(registry),
    codecs,
    commandEvents: downlinks.events,
    publisher: brokerLink,
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  const unsubscribe = forgetOnChange(registry.changes, uplinkPath.memories)
  shutdown.add('uplinks', () => {
    unsubscribe()
    uplinkPath.close()
  })
  return uplinkPath
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
      // A failed look-up is repeated by the code that needs the tags.
      place.catch(() => {})
      return undefined
    },
    get devicesVersion() {
      return directory.devicesVersion
    },
    tagsOf: async (devEui) => (await devices.get(devEui))?.tags ?? {},
    variablesOf: async (devEui) => (await devices.get(devEui))?.variables ?? {},
  }
}
