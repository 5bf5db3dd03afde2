/** The work of `fieldgate backup`: writes, verifies and syncs the file. */
import { chmod, open, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { steadyNow } from '../../clock.ts'
import { backupOf } from '../../data/backup.ts'
import type { Settings } from '../../settings/settings.ts'
import { messagesIn } from '../../data/data-directory.ts'
import { ArchiveError } from '../../engine/backup/archive.ts'
import { EmbeddedEngine } from '../../engine/embedded.ts'
import { readFormat } from '../../engine/segments/log-directory.ts'
import { nodeDisk } from '../../engine/ports/node-disk.ts'
import { systemClock } from '../../clock.ts'
import { verifyBackup } from '../../data/restore.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { authorize } from '../api/open-api-client.ts'
import { Progress, formatBytes } from '../terminal/progress.ts'
import { reachDeployment } from '../api/reach-deployment.ts'
import { streamFromRunning } from '../api/remote-carrier.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * Writes a backup to the file. The new file is verified while it is written, then it is synced, and
 * then it gets its name: at each moment the file of this name is the older backup or a complete
 * one. Throws CommandFailure.
 */
export async function makeBackup(terminal: Terminal, settings: Settings, file: string): Promise<void> {
  const temporary = `${file}.${process.pid}.part`
  const handle = await openNew(temporary)
  try {
    const bytes = await write(terminal, settings, handle)
    await handle.sync()
    await handle.close()
    await rename(temporary, file)
    await syncDirectory(dirname(file))
    terminal.out(`${file}: ${formatBytes(bytes)}\n`)
    if (settings.databaseUrl !== undefined) terminal.error(REGISTRY_ELSEWHERE)
    if (settings.engine === 'nats') terminal.error(MESSAGES_ELSEWHERE)
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(temporary, { force: true })
    if (error instanceof ArchiveError)
      throw new CommandFailure(`The service did not send the whole backup. ${error.message}`)
    if (isOfSystem(error)) throw new CommandFailure(`The backup can’t be written: ${error.message}.`)
    throw error
  }
}

const REGISTRY_ELSEWHERE =
  'fieldgate: The registry is in PostgreSQL, and not in this file. Back it up by pg_dump, before the messages.\n'
const MESSAGES_ELSEWHERE =
  'fieldgate: Messages and Sessions are on the servers of NATS, and not in this file. docs/cluster.md says how to back them up.\n'

async function write(terminal: Terminal, settings: Settings, handle: FileHandle): Promise<number> {
  const progress = new Progress(terminal, 'written', steadyNow)
  let total = 0
  const written = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const bytes of source) {
      for (let at = 0; at < bytes.length;) at += (await handle.write(bytes, at)).bytesWritten
      total += bytes.length
      progress.add(bytes.length)
      yield bytes
    }
  }
  const reached = await reachDeployment(settings, 'backup')
  if (reached.kind === 'running') {
    const service = await authorize(settings, reached.service, undefined)
    await verifyBackup(written(streamFromRunning(service, '/api/internal/backup')))
  } else {
    try {
      await backUpAlone(settings, (source) => verifyBackup(written(source)))
    } finally {
      await reached.dataDirectory.release()
    }
  }
  progress.end()
  return total
}

/** Opens the log as the service does: an incomplete end, left by a crash, is cut off first. */
async function backUpAlone(
  settings: Settings,
  use: (source: AsyncIterable<Buffer>) => Promise<unknown>,
): Promise<void> {
  const { dataDirectory } = settings
  const directory = messagesIn(dataDirectory)
  // A log of the time before the messages went to servers of NATS is no part of the deployment.
  const format = settings.engine === 'nats' ? undefined : await readFormat(nodeDisk, directory)
  // When messages were in memory there is no log, and the backup must not make one.
  const engine =
    format === undefined
      ? undefined
      : new EmbeddedEngine({ disk: nodeDisk, directory, retentionMs: Infinity, retentionBytes: Infinity })
  await engine?.open()
  try {
    const isRegistryElsewhere = settings.databaseUrl !== undefined
    const areMessagesElsewhere = settings.engine === 'nats'
    await use(backupOf(dataDirectory, engine, { nowMs: systemClock.now(), isRegistryElsewhere, areMessagesElsewhere }))
  } finally {
    await engine?.close()
  }
}

async function openNew(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file, 'wx', 0o600)
    // The mode of `open` is reduced by the process's mask; this one is not.
    await chmod(file, 0o600)
    return handle
  } catch (error) {
    if (isOfSystem(error)) throw new CommandFailure(`The backup can’t be written: ${error.message}.`)
    throw error
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error
}
