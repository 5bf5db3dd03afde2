/** The states of devices, wired to the registry, the broker and the nodes. */
import { tenantOf } from '../access/holders.ts'
import { BoundedCache } from '../bounded-cache.ts'
import { later, systemClock } from '../clock.ts'
import type { SteadyMs } from '../clock.ts'
import type { DueDevice, UntoldDevice } from '../identity/devices/device-states.ts'
import type { Registry } from '../identity/registry.ts'
import { forgetOnChange } from '../identity/store/remembered-facts.ts'
import type { Presence } from '../lorawan/commands/command-waits.ts'
import { ProfileLimits } from '../lorawan/fleet/profile-limits.ts'
import type { StateLimits } from '../lorawan/fleet/profile-limits.ts'
import { FleetWatch } from '../lorawan/fleet/fleet-watch.ts'
import type { Nodes } from '../nodes.ts'
import type { Parts, StartContext } from './parts.ts'

/** The one watch of a deployment, as a thing that has a home. */
const WATCH = 'fleet/watch'
const FIND_MS = 4_000
/** How long it counts that an organization was heard, or was not. */
const HEARD_KNOWN_MS = 60_000
const MAXIMUM_KNOWN = 10_000

/** The watch, as the service has it. */
export type ServiceFleetWatch = FleetWatch<DueDevice, UntoldDevice>

/**
 * Opens the watch of the devices' states. A device that is removed takes along all that was learned
 * of it. `tick` is for after the broker's start.
 */
export function openFleetWatch(
  { log, shutdown, nodes }: StartContext,
  {
    registry,
    sightings,
    profileLimits,
    brokerLink,
    uplinkPath,
    networkServerPresenceOf,
  }: Pick<Parts, 'registry' | 'sightings' | 'brokerLink' | 'uplinkPath' | 'networkServerPresenceOf'> & {
    readonly profileLimits: ProfileLimits
  },
): ServiceFleetWatch {
  const watch = new FleetWatch({
    states: registry.deviceStates,
    presenceOf: absencesOf(networkServerPresenceOf, (organizationId, sinceMs) =>
      registry.deviceStates.wasHeardSince(organizationId, sinceMs),
    ),
    expectedIntervalSecondsOf: (devEui) => profileLimits.expectedIntervalSecondsOf(devEui),
    isWatcher: nodes === undefined ? () => Promise.resolve(true) : () => isHome(nodes, WATCH),
    tenantOf,
    retainsLastEvents: (applicationId) => uplinkPath.retainsLastEvents(applicationId),
    publisher: brokerLink,
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  const unsubscribe = registry.changes.subscribe((change) => {
    if (change.kind === 'device_removed') sightings.forgetLearned(change.devEui)
  })
  shutdown.add('fleet', () => {
    unsubscribe()
    return watch.close()
  })
  return watch
}

/** The limits of the registry's device profiles, forgotten when their profile changes. */
export function profileLimitsOf({ changes, directory, deviceProfiles }: Registry): ProfileLimits {
  const limits = new ProfileLimits({
    profileIdOf: (devEui) => {
      const place = directory.device(devEui)
      return place instanceof Promise ? place.then((found) => found?.profileId) : place?.profileId
    },
    limitsOf: async (profileId) => {
      const profile = await deviceProfiles.get(profileId)
      // The rest of the profile, such as its scripts, is not to stay in memory.
      return profile && pickLimits(profile)
    },
  })
  forgetOnChange(changes, { deviceProfile: limits.memory })
  return limits
}

function pickLimits({ expectedIntervalSeconds, batteryLimitPercent, marginLimitDb }: StateLimits): StateLimits {
  return { expectedIntervalSeconds, batteryLimitPercent, marginLimitDb }
}

/**
 * The absence of an organization's network server. An organization that was heard since then gets
 * its events in another way, such as a bridge.
 */
function absencesOf(
  presenceOf: Parts['networkServerPresenceOf'],
  wasHeardSince: (organizationId: string, sinceMs: number) => Promise<boolean>,
): (organizationId: string) => Promise<Presence> {
  const known = new BoundedCache<{ readonly wasHeard: boolean; readonly until: SteadyMs }>(MAXIMUM_KNOWN)
  return async (organizationId) => {
    const presence = (await presenceOf(tenantOf(organizationId))) ?? (await presenceOf('deployment'))
    if (typeof presence !== 'number') return presence
    const now = systemClock.steady()
    const key = `${organizationId} ${presence}`
    let answer = known.get(key)
    if (answer === undefined || answer.until <= now) {
      // The last events before the end may be written after it.
      const wasHeard = await wasHeardSince(organizationId, presence + HEARD_KNOWN_MS)
      answer = { wasHeard, until: later(now, HEARD_KNOWN_MS) }
      known.set(key, answer)
    }
    return answer.wasHeard ? 'connected' : presence
  }
}

/** True in the node that does a work of the deployment. When it dies, its heir goes on. */
export async function isHome({ homes, bus }: Nodes, work: string): Promise<boolean> {
  if ((await homes.areHere([work])).has(work)) return true
  const found = await homes.find(work, FIND_MS)
  if (found.node === undefined) return homes.take(work, found)
  return found.node.incarnation === bus.self.incarnation
}
