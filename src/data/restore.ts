/** A data directory out of a backup. */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { DATA_ENTRY, MANIFEST_ENTRY } from './backup.ts'
import type { BackupManifest } from './backup.ts'
import { DATA_DIRECTORY_FORMAT, messagesIn } from './data-directory.ts'
import { readArchive } from '../engine/backup/archive.ts'
import type { ArchiveEntry } from '../engine/backup/archive.ts'
import { LogRestore, isLogEntry } from '../engine/backup/backup.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'

/** Of the manifest, which is some hundred bytes. */
const MAXIMUM_MANIFEST_BYTES = 65_536

/** A backup that can't be used. The message is a sentence for people. */
export class BackupUnusable extends Error {
  readonly code = 'backup_unusable'
}

/**
 * Reads a backup to its end and writes nothing. Resolved: every byte is as it was written, and this
 * version can restore it. Throws `BackupUnusable`, `ArchiveError` and what the source throws.
 */
export async function verifyBackup(source: AsyncIterable<Buffer>): Promise<BackupManifest> {
  let manifest: BackupManifest | undefined
  const names = new Set<string>()
  await readArchive(source, async (entry) => {
    const { name, size, content } = entry
    if (names.has(name)) throw new BackupUnusable(`The backup holds ${name} twice.`)
    names.add(name)
    if (name === MANIFEST_ENTRY) {
      if (size > MAXIMUM_MANIFEST_BYTES) throw new BackupUnusable('The backup’s manifest is too long.')
      manifest = parseManifest(await text(content))
      return
    }
    if (manifest === undefined) throw new BackupUnusable('This is no backup of a whole data directory.')
    if (!DATA_ENTRY.test(name) && !isLogEntry(name)) {
      throw new BackupUnusable(`The backup holds "${name}", which this version does not know.`)
    }
    for await (const _ of content);
  })
  if (manifest === undefined || !names.has('data/registry.db')) {
    throw new BackupUnusable('The backup is without a registry.')
  }
  return manifest
}

/**
 * Writes what a backup holds into a directory that this process has taken; durable when resolved.
 * Offsets of the log go on behind a gap, so that no event's id is given twice. `random` gives
 * numbers from 0 to 1.
 */
export async function restoreInto(
  directory: string,
  source: AsyncIterable<Buffer>,
  world: { readonly random: () => number; readonly nowMs: number },
): Promise<void> {
  const log = new LogRestore(nodeDisk, messagesIn(directory), world.random)
  let hasLog = false
  await nodeDisk.makeDirectory(join(directory, 'tls'))
  await readArchive(source, async (entry) => {
    const { name, content } = entry
    if (name === MANIFEST_ENTRY) {
      for await (const _ of content);
      return
    }
    const [, file] = DATA_ENTRY.exec(name) ?? []
    if (file !== undefined) return await writeFile(directory, file, content)
    if (!hasLog) await log.begin()
    hasLog = true
    if (!(await log.take(entry))) throw new BackupUnusable(`The backup holds "${name}", which is no part of it.`)
  })
  if (hasLog) await log.finish(world.nowMs)
  // Open to readers of ca.pem; the keys are closed files.
  await chmod(join(directory, 'tls'), 0o755)
  await nodeDisk.syncDirectory(join(directory, 'tls'))
  await nodeDisk.syncDirectory(directory)
}

async function writeFile(directory: string, name: string, content: ArchiveEntry['content']): Promise<void> {
  const path = join(directory, name)
  const file = await nodeDisk.create(path)
  try {
    let position = 0
    for await (const bytes of content) {
      await file.write([bytes], position)
      position += bytes.length
    }
    await file.datasync()
  } finally {
    await file.close()
  }
  if (name.startsWith('tls/') && !name.endsWith('-key.pem')) await chmod(path, 0o644)
}

function parseManifest(json: string): BackupManifest {
  const { format, version, createdAt } = parseObject(json)
  if (typeof format !== 'number' || typeof version !== 'string' || typeof createdAt !== 'string') {
    throw new BackupUnusable('The backup’s manifest can’t be read.')
  }
  if (format > DATA_DIRECTORY_FORMAT) {
    throw new BackupUnusable(
      `The backup is of a data directory of format ${format}, made by Fieldgate ${version}; this one knows formats up to ${DATA_DIRECTORY_FORMAT}.`,
    )
  }
  return { format, version, createdAt }
}

function parseObject(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
