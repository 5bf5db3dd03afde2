/** The devices that are not registered, for tests of routes: kept in memory alone. */
import type { Clock } from '../../clock.ts'
import type { Registry } from '../../identity/registry.ts'
import { UnknownDevices } from '../../lorawan/unknown-devices/unknown-devices.ts'

/** Opens them over a registry. Their events go nowhere. */
export function openTestUnknownDevices(
  { directory }: Pick<Registry, 'directory'>,
  clock: Pick<Clock, 'now'>,
): UnknownDevices {
  return new UnknownDevices({
    process: 'one',
    state: { write: async () => {}, load: async function* () {} },
    publisher: { publish: async () => {} },
    places: directory,
    limits: { keptMs: 60_000, events: 1_000, bytes: 1_000_000 },
    clock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
}
