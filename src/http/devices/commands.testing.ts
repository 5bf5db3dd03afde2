/**
 * The commands of a test's deployment: a queue in memory, before network servers that never come.
 */
import { systemClock } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import type { Registry } from '../../identity/registry.ts'
import { deviceCommandsOf } from '../../lorawan/commands/device-commands.ts'
import type { DeviceCommands } from '../../lorawan/commands/device-commands.ts'
import { MemoryState, openTestDownlinks } from '../../lorawan/commands/downlinks.testing.ts'

/** Commands of the registry's devices. */
export async function openTestCommands(registry: Registry, clock: Pick<Clock, 'now'>): Promise<DeviceCommands> {
  const downlinks = await openTestDownlinks({
    state: new MemoryState(),
    serverOf: () => undefined,
    places: registry.directory,
    registry: {
      codecOf: async (applicationId) => {
        const application = await registry.applications.get(applicationId)
        return application && { codec: application.payloadCodec, encoderScript: application.payloadEncoderScript }
      },
      profileIdOf: () => undefined,
      profileCodecOf: async () => undefined,
      variablesOf: async () => ({}),
      namesOf: async () => undefined,
    },
    clock: { ...systemClock, now: () => clock.now() },
  })
  registry.changes.subscribe((change) => {
    if (change.kind === 'application_changed') downlinks.applicationChanged(change.applicationId)
  })
  return deviceCommandsOf(downlinks.commands)
}
