/**
 * The registry of the deployment, kept free of expired rows, and the sightings written to it.
 */
import { stat } from 'node:fs/promises'
import { systemClock } from '../clock.ts'
import { messagesIn, registryFileIn } from '../data/data-directory.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import { openRegistry as openRegistryAt } from '../identity/registry.ts'
import type { Registry } from '../identity/registry.ts'
import { DeviceSightings } from '../lorawan/uplinks/device-sightings.ts'
import type { Parts, StartContext } from './parts.ts'
import { registryPlaceOf } from './registry-place.ts'
import { StartFailure } from './start-failure.ts'

/** How often expired rows are removed from the registry. */
const PRUNE_MS = 3_600_000
/** How often the times at which devices were last heard of are written. */
const SIGHTINGS_FLUSH_MS = 5_000

/** Opens the registry, or makes a new one in a new data directory. */
export async function openRegistry({ settings, log, dataDirectory, shutdown }: StartContext): Promise<Registry> {
  const place = registryPlaceOf(settings)
  if ('file' in place) await requireRegistry(dataDirectory.path)
  const registry = await openRegistryAt({
    ...place,
    clock: systemClock,
    log: log.child({ room: 'identity' }),
    sessionTtlSeconds: settings.sessionTtlSeconds,
  })
  shutdown.add('registry', () => registry.close())
  if ('postgres' in place) await requireUsers(registry, dataDirectory.path)
  const pruning = setInterval(() => {
    registry.pruneExpired().catch((error: unknown) => log.error({ error }, 'registry.prune_failed'))
  }, PRUNE_MS)
  shutdown.add('pruning', () => clearInterval(pruning))
  return registry
}

/** Opens the writer of sightings: the time, the battery and the margin of devices, in batches. */
export function openSightings(
  { log, shutdown }: StartContext,
  { registry }: Pick<Parts, 'registry'>,
): Parts['sightings'] {
  const sightings = new DeviceSightings({
    recordSeen: (seen) => registry.devices.recordSeen(seen),
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  const flushing = setInterval(() => void sightings.flush(), SIGHTINGS_FLUSH_MS)
  shutdown.add('sightings', () => {
    clearInterval(flushing)
    return sightings.close()
  })
  return sightings
}

/**
 * Refuses a data directory that has messages and no registry. A new registry would know none of
 * their devices, and a stranger could become its first admin.
 */
async function requireRegistry(directory: string): Promise<void> {
  const file = registryFileIn(directory)
  if ((await fileBytes(file)) > 0) return
  if (!(await hasMessages(directory))) return
  throw new StartFailure(
    `${file} is missing or empty, though there are messages. Restore a backup into a new directory by \`fieldgate restore\`.`,
  )
}

/** Refuses a database without users for a data directory that has messages, for the same reason. */
async function requireUsers({ users }: Registry, directory: string): Promise<void> {
  if (!(await hasMessages(directory))) return
  const { totalCount } = await users.list({ limit: 0, offset: 0 })
  if (totalCount > 0) return
  throw new StartFailure(
    `The registry in PostgreSQL is empty, though ${directory} has messages. Take the registry of the directory over by \`fieldgate migrate-registry\`, or use a new directory.`,
  )
}

async function hasMessages(directory: string): Promise<boolean> {
  return (await nodeDisk.list(messagesIn(directory))).includes('format')
}

/** The size of the file; 0 when there is none. */
function fileBytes(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
