/** The events of devices that are not registered, wired to the registry that devices come to. */
import type { Publisher } from '../broker/ports/consumer.ts'
import { systemClock } from '../clock.ts'
import { RegistrationByRule } from '../lorawan/unknown-devices/registration-by-rule.ts'
import { UnknownDevices } from '../lorawan/unknown-devices/unknown-devices.ts'
import type { Parts, StartContext } from './parts.ts'

const DAY_MS = 86_400_000

/**
 * Opens the keeping of events; it follows the registry from here on. `publisher` is asked for when
 * the first event goes out. `load` is for after the broker's start.
 */
export function openUnknownDevices(
  { settings, log, shutdown, nodes }: StartContext,
  { registry, state }: Pick<Parts, 'registry' | 'state'>,
  publisher: () => Publisher,
): UnknownDevices {
  const unknownDevices = new UnknownDevices({
    state,
    process: nodes?.bus.self.incarnation ?? 'alone',
    publisher: { publish: (message) => publisher().publish(message) },
    places: registry.directory,
    limits: {
      keptMs: settings.unknownDeviceDays * DAY_MS,
      events: settings.unknownDeviceEvents,
      bytes: settings.unknownDeviceBytes,
    },
    onKept: (organizationId, devEui) => byRule.kept(organizationId, devEui),
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  const byRule = new RegistrationByRule({
    waiting: unknownDevices,
    rules: () => registry.registrationRules.all(),
    register: (devices) => registry.devices.createMany(devices, { userId: null }),
    log: log.child({ room: 'lorawan' }),
  })
  const unfollow = registry.changes.subscribe((change) => {
    const { kind } = change
    if (kind === 'device_created' || kind === 'device_changed') unknownDevices.release(change.devEui)
    if (kind === 'devices_changed') for (const devEui of change.devEuis) unknownDevices.release(devEui)
    if (kind === 'resynchronized') unknownDevices.releaseAll()
    if (kind === 'resynchronized' || kind === 'registration_rules_changed') byRule.rulesChanged()
    if (kind === 'organization_removed') unknownDevices.organizationRemoved(change.organizationId)
  })
  nodes?.onInherited((inheritance) => unknownDevices.load((prefix) => inheritance.load(prefix)))
  shutdown.add('unknown devices', () => {
    unfollow()
    byRule.close()
    unknownDevices.close()
  })
  return unknownDevices
}
