/**
 * The registry of the deployment, kept free of expired rows, and the sightings written to it.
 */
import { stat } from 'node:fs/promises'
import { systemClock } from '../clock.ts'
import { given } from '../given.ts'
import { messagesIn, registryFileIn } from '../data/data-directory.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import { openRegistry as openRegistryAt } from '../identity/registry.ts'
import type { Registry } from '../identity/registry.ts'
import type { ChangeFeed, FedRow } from '../identity/postgres/outbox.ts'
import type { ProfileLimits } from '../lorawan/fleet/profile-limits.ts'
import { DeviceSightings } from '../lorawan/uplinks/device-sightings.ts'
import type { Parts, StartContext } from './parts.ts'
import type { Bus } from '../nodes.ts'
import { registryPlaceOf } from './registry-place.ts'
import { StartFailure } from './start-failure.ts'

/** How often expired rows are removed from the registry. */
const PRUNE_MS = 3_600_000
/** How often the times at which devices were last heard of are written. */
const SIGHTINGS_FLUSH_MS = 5_000
/** The most bytes of a change that is told to the other nodes. */
const MAXIMUM_FED_BYTES = 262_144

/**
 * Opens the registry, or makes a new one in a new data directory. `timeOfLog` is the clock that
 * stamps events, where that is not the clock of this process.
 */
export async function openRegistry(
  { settings, log, dataDirectory, shutdown, nodes }: StartContext,
  timeOfLog: (() => number) | undefined,
): Promise<Registry> {
  const place = registryPlaceOf(settings)
  if ('file' in place) await requireRegistry(dataDirectory.path)
  const registry = await openRegistryAt({
    ...('postgres' in place && nodes !== undefined ? { ...place, feed: changeFeedOver(nodes.bus) } : place),
    clock: { ...systemClock, ...given({ nowOfEvents: timeOfLog }) },
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

/** The kind of a cast: a change of the registry. The body is a row of its outbox, as JSON. */
const CHANGED = 'registry.changed'

/** Tells the other nodes of each change, with its content. */
function changeFeedOver(bus: Bus): ChangeFeed {
  const listeners = new Set<(row: FedRow) => void>()
  bus.hear(CHANGED, (body) => {
    const row = JSON.parse(body.toString()) as FedRow
    for (const listener of listeners) listener(row)
  })
  return {
    committed: (row) => {
      const body = Buffer.from(JSON.stringify(row))
      // The others ask the database for a change that is too large for the way between nodes.
      if (body.length <= MAXIMUM_FED_BYTES) bus.cast(CHANGED, body)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Opens the writer of sightings: the time, the battery and the margin of devices, in batches. */
export function openSightings(
  { log, shutdown }: StartContext,
  { registry, profileLimits }: Pick<Parts, 'registry'> & { readonly profileLimits: ProfileLimits },
): Parts['sightings'] {
  const sightings = new DeviceSightings({
    recordSeen: async (seen, isUrgent) => registry.devices.recordSeen(await profileLimits.applyTo(seen), isUrgent),
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
