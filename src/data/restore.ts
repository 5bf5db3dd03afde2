/** The restore: checks a backup, and makes a data directory of it. */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { DATA_ENTRY, MANIFEST_ENTRY } from './backup.ts'
import type { BackupManifest } from './backup.ts'
import { DATA_DIRECTORY_FORMAT, messagesIn } from './data-directory.ts'
import { readArchive } from '../engine/backup/archive.ts'
import type { ArchiveEntry } from '../engine/backup/archive.ts'
import { LogRestore, isLogEntry } from '../engine/backup/backup.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import { parseObject, textAt } from '../json.ts'

/** The longest manifest that is read; a real one has a few hundred bytes. */
const MAXIMUM_MANIFEST_BYTES = 65_536

/** A backup that can't be used. The message is a sentence for people. */
export class BackupUnusable extends Error {
  readonly code = 'backup_unusable'
}

/**
 * Reads a backup to its end and writes nothing. When it resolves, every byte is as it was written,
 * and this version can restore the backup. Throws `BackupUnusable`, `ArchiveError`, and any error
 * of the source.
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
      manifest = parseManifest(await buffer(content))
      return
    }
    if (manifest === undefined) throw new BackupUnusable('This is no backup of a whole data directory.')
    if (!DATA_ENTRY.test(name) && !isLogEntry(name)) {
      throw new BackupUnusable(`The backup holds "${name}", which this version does not know.`)
    }
    for await (const _ of content);
  })
  if (manifest === undefined || names.has('data/registry.db') === manifest.isRegistryElsewhere) {
    throw new BackupUnusable('The backup is without a registry.')
  }
  return manifest
}

/**
 * Writes the contents of a backup into a directory that this process has taken. When it resolves,
 * they are durable. The offsets of the log go on after a gap, so that no id of an event is given
 * twice. `random` returns numbers from 0 to 1.
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
  // Other users may read ca.pem in this folder; the files of the keys are private.
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

function parseManifest(json: Buffer): BackupManifest {
  const manifest = parseObject(json)
  const { format } = manifest ?? {}
  const version = textAt(manifest, 'version')
  const createdAt = textAt(manifest, 'createdAt')
  if (typeof format !== 'number' || version === undefined || createdAt === undefined) {
    throw new BackupUnusable('The backup’s manifest can’t be read.')
  }
  if (format > DATA_DIRECTORY_FORMAT) {
    throw new BackupUnusable(
      `The backup is of a data directory of format ${format}, made by Fieldgate ${version}; this one knows formats up to ${DATA_DIRECTORY_FORMAT}.`,
    )
  }
  // Older backups don't say it: they have everything.
  const isRegistryElsewhere = manifest?.['isRegistryElsewhere'] === true
  return {
    format,
    version,
    createdAt,
    isRegistryElsewhere,
    areMessagesElsewhere: manifest?.['areMessagesElsewhere'] === true,
  }
}
