/**
 * One file with everything that a deployment must not lose: the registry, the keys and certificates
 * of the data directory, and the log with the state. The log is pinned before the registry is
 * copied, so that every application that has a message in the copy is in the registry, too.
 *
 * Its entries: `data/manifest.json` first, what makes the log (`format`, `state/…`, `log/…`; none
 * where messages are in memory), `data/registry.db` and `data/tls/….pem`.
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

/** What a backup says of itself. */
export interface BackupManifest {
  /** Of the data directory that it was made of. */
  readonly format: number
  /** Of Fieldgate. */
  readonly version: string
  /** RFC 3339, UTC. */
  readonly createdAt: string
}

/** The names of entries that are files of the data directory, and what they are called there. */
export const DATA_ENTRY = /^data\/(registry\.db|tls\/[a-z][a-z-]*\.pem)$/
/** The entry that says what the others are. */
export const MANIFEST_ENTRY = 'data/manifest.json'

/**
 * All pages in one step, in a thread of its own: a copy by steps would begin anew with each change
 * of the registry.
 */
const ALL_PAGES = 0x7fff_ffff

/**
 * The bytes of a backup of a data directory that this process holds; `engine` is the open one of
 * its messages, undefined where they are in memory. Everything that was acknowledged before the
 * first byte was asked for is in it. Retention waits until it ends.
 */
export function backupOf(
  directory: string,
  engine: EmbeddedEngine | undefined,
  nowMs: number,
): AsyncGenerator<Buffer, void, void> {
  return archiveOf(entriesOf(directory, engine, nowMs))
}

async function* entriesOf(
  directory: string,
  engine: EmbeddedEngine | undefined,
  nowMs: number,
): AsyncGenerator<ArchiveEntry> {
  const manifest: BackupManifest = {
    format: DATA_DIRECTORY_FORMAT,
    version,
    createdAt: new Date(nowMs).toISOString(),
  }
  yield entryOf(MANIFEST_ENTRY, Buffer.from(`${JSON.stringify(manifest)}\n`))
  const ofLog = engine === undefined ? undefined : backupEntries(engine)
  try {
    // Pins the log.
    const first = await ofLog?.next()
    if (first !== undefined && first.done !== true) yield first.value
    yield* registryEntry(directory)
    yield* certificateEntries(directory)
    if (ofLog !== undefined) yield* ofLog
  } finally {
    await ofLog?.return(undefined)
  }
}

/**
 * A copy made by SQLite itself: of its own file it is the only one that knows which pages are
 * committed.
 */
async function* registryEntry(directory: string): AsyncGenerator<ArchiveEntry> {
  const copy = join(directory, 'registry-copy.db')
  // A killed process may have left one.
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

/** With the journal of a copy that was broken off. */
async function removeCopy(copy: string): Promise<void> {
  for (const file of [copy, `${copy}-journal`]) await rm(file, { force: true })
}

/**
 * Those that the service made for itself; a configured pair lies elsewhere. Each file is some
 * kilobytes.
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
