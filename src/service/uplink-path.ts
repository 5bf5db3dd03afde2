/** The path of uplinks, wired to the registry whose codecs it follows. */
import { systemClock } from '../clock.ts'
import { forgetOnChange } from '../identity/store/remembered-facts.ts'
import type { DeviceProfile } from '../identity/devices/device-profile.ts'
import { decodesPortOf } from '../identity/devices/profile-ports.ts'
import type { Registry } from '../identity/registry.ts'
import type { Application } from '../identity/tenants/applications.ts'
import type { RegisteredCodec, RegisteredProfile, UplinkRegistry } from '../lorawan/uplinks/uplink-path-registry.ts'
import { UplinkPath } from '../lorawan/uplinks/uplink-path.ts'
import type { Parts, StartContext } from './parts.ts'

/** Puts the path together; it follows the registry from here on. */
export function openUplinkPath(
  { log, shutdown }: StartContext,
  { registry, codecs, commandWays, brokerLink }: Pick<Parts, 'registry' | 'codecs' | 'commandWays' | 'brokerLink'>,
): UplinkPath {
  const uplinkPath = new UplinkPath({
    registry: uplinkRegistryOf(registry),
    codecs,
    commandEvents: commandWays.events,
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

function uplinkRegistryOf({ applications, devices, deviceProfiles, directory }: Registry): UplinkRegistry {
  return {
    codecOf(applicationId) {
      const application = applications.look(applicationId)
      return application instanceof Promise ? application.then(registeredCodec) : registeredCodec(application)
    },
    profileIdOf: (devEui) => {
      const place = directory.device(devEui)
      return place instanceof Promise ? place.then((found) => found?.profileId) : place?.profileId
    },
    profileOf: async (profileId) => {
      const profile = await deviceProfiles.get(profileId)
      return profile && registeredProfile(profile)
    },
    hasTags: (devEui) => {
      const place = directory.device(devEui)
      if (!(place instanceof Promise)) return place?.hasTags === true || place?.profileId !== undefined
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

function registeredCodec(application: Application | undefined): RegisteredCodec | undefined {
  if (application === undefined) return undefined
  const { organizationId, payloadCodec: codec, payloadDecoderScript: decoderScript } = application
  const { eventShape, retainsLastEvents } = application
  return { organizationId, codec, decoderScript, eventShape, retainsLastEvents }
}

function registeredProfile(profile: DeviceProfile): RegisteredProfile {
  const { id, organizationId, name, tags, variables, payloadCodec: codec, payloadDecoderScript } = profile
  const decodesPort = decodesPortOf(profile.fPortRules)
  return { id, organizationId, name, tags, variables, codec, decoderScript: payloadDecoderScript, decodesPort }
}
