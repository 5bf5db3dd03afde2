/**
 * The backup: one file with everything that a deployment must not lose. The file holds the
 * registry, the keys and certificates of the data directory, and the log with the state. The log is
 * pinned before the registry is copied, so that the copied registry has every application with a
 * message in the copied log.
 *
 * The entries are, in this order: `data/manifest.json`; the files of the log (`format`, `state/…`,
 * `log/…`; none when messages are in memory); `data/registry.db` and `data/tls/….pem`.
 */
import { createReadStream } from 'node:fs'
import { open, readFile, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync, backup as copyDatabase } from 'node:sqlite'
import { DATA_DIRECTORY_FORMAT, registryFileIn } from './data-directory.ts'
import { archiveOf } from '../engine/backup/archive.ts'
import type { ArchiveEntry } from '../engine/backup/archive.ts'
import { backupEntries } from '../engine/backup/backup.ts'
import type { EmbeddedEngine } from '../engine/embedded.ts'
import { version } from '../version.ts'

/** The first entry of a backup. */
export interface BackupManifest {
  /** The format of the data directory that was backed up. */
  readonly format: number
  /** The version of Fieldgate that made the backup. */
  readonly version: string
  /** The time of the backup: RFC 3339, UTC. */
  readonly createdAt: string
  /** True when the registry is in PostgreSQL, which has backups of its own. */
  readonly isRegistryElsewhere: boolean
  /** True when messages and Sessions are on servers of NATS, which have backups of their own. */
  readonly areMessagesElsewhere: boolean
}

/** The names of entries that are files of the data directory. The group is the path there. */
export const DATA_ENTRY = /^data\/(registry\.db|tls\/[a-z][a-z-]*\.pem)$/
/** The name of the entry with the `BackupManifest`. */
export const MANIFEST_ENTRY = 'data/manifest.json'

/**
 * The registry is copied in one step, by another thread: a copy in several steps would begin again
 * with each change of the registry.
 */
const ALL_PAGES = 0x7fff_ffff

/**
 * Makes the bytes of a backup of a data directory that this process holds. `engine` is the open
 * engine of its messages; undefined when messages are in memory, or on servers of NATS. The backup
 * holds everything that was acknowledged before the first byte was asked for. Retention waits until
 * the backup ends.
 */
export function backupOf(
  directory: string,
  engine: EmbeddedEngine | undefined,
  world: BackupWorld,
): AsyncGenerator<Buffer, void, void> {
  return archiveOf(entriesOf(directory, engine, world))
}

interface BackupWorld {
  readonly nowMs: number
  readonly isRegistryElsewhere: boolean
  readonly areMessagesElsewhere: boolean
}

async function* entriesOf(
  directory: string,
  engine: EmbeddedEngine | undefined,
  { nowMs, isRegistryElsewhere, areMessagesElsewhere }: BackupWorld,
): AsyncGenerator<ArchiveEntry> {
  const manifest: BackupManifest = {
    format: DATA_DIRECTORY_FORMAT,
    version,
    createdAt: new Date(nowMs).toISOString(),
    isRegistryElsewhere,
    areMessagesElsewhere,
  }
  yield entryOf(MANIFEST_ENTRY, Buffer.from(`${JSON.stringify(manifest)}\n`))
  const ofLog = engine === undefined ? undefined : backupEntries(engine)
  try {
    // The first entry of the log pins the log.
    const first = await ofLog?.next()
    if (first !== undefined && first.done !== true) yield first.value
    if (!isRegistryElsewhere) yield* registryEntry(directory)
    yield* certificateEntries(directory)
    if (ofLog !== undefined) yield* ofLog
  } finally {
    await ofLog?.return(undefined)
  }
}

/** Lets SQLite copy the registry: only SQLite knows which pages of its file are committed. */
async function* registryEntry(directory: string): AsyncGenerator<ArchiveEntry> {
  const copy = join(directory, 'registry-copy.db')
  // A process that was killed may have left a copy.
  await removeCopy(copy)
  await (await open(copy, 'wx', 0o600)).close()
  try {
    const source = new DatabaseSync(registryFileIn(directory), { readOnly: true })
    try {
      await copyDatabase(source, copy, { rate: ALL_PAGES })
    } finally {
      source.close()
    }
    const { size } = await stat(copy)
    yield { name: 'data/registry.db', size, content: createReadStream(copy, { highWaterMark: 1_048_576 }) }
  } finally {
    await removeCopy(copy)
  }
}

/** Removes the copy, and the journal of a copy that was interrupted. */
async function removeCopy(copy: string): Promise<void> {
  for (const file of [copy, `${copy}-journal`]) await rm(file, { force: true })
}

/**
 * The certificates and keys that the service made for itself; a configured pair is outside the data
 * directory. Each file has a few kilobytes.
 */
async function* certificateEntries(directory: string): AsyncGenerator<ArchiveEntry> {
  const folder = join(directory, 'tls')
  const names = await readdir(folder).catch(() => [])
  for (const file of names) {
    const name = `data/tls/${file}`
    if (DATA_ENTRY.test(name)) yield entryOf(name, await readFile(join(folder, file)))
  }
}

function entryOf(name: string, bytes: Buffer): ArchiveEntry {
  const content = async function* (): AsyncGenerator<Buffer> {
    yield bytes
  }
  return { name, size: bytes.length, content: content() }
}
