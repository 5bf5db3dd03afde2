/** The work of `fieldgate restore`: makes a data directory of a backup. */
import { createReadStream } from 'node:fs'
import { steadyNow } from '../../clock.ts'
import { openNewDataDirectory } from '../../data/data-directory.ts'
import { ArchiveError } from '../../engine/backup/archive.ts'
import { LogDirectoryError } from '../../engine/segments/log-directory.ts'
import { systemClock } from '../../clock.ts'
import { BackupUnusable, restoreInto, verifyBackup } from '../../data/restore.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { Progress } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** How many bytes of the file are read at a time. */
const PIECE_BYTES = 1_048_576

/**
 * Verifies the whole file, and then writes the data directory. After a failure, the written files
 * are removed. Throws CommandFailure.
 */
export async function restoreBackup(terminal: Terminal, file: string, directory: string): Promise<void> {
  const manifest = await explained(async () => verifyBackup(readFrom(terminal, file, 'verified')))
  const opened = await openNewDataDirectory(directory, { purpose: 'restore', clock: systemClock })
  if (!opened.ok) throw new CommandFailure(opened.message)
  const { dataDirectory } = opened
  try {
    await explained(async () => {
      // The file is read and checked again, because it may have changed since it was verified.
      const world = { random: () => Math.random(), nowMs: systemClock.now() }
      await restoreInto(directory, readFrom(terminal, file, 'restored'), world)
      await dataDirectory.finish()
    })
  } catch (error) {
    await dataDirectory.discard()
    throw error
  } finally {
    await dataDirectory.release()
  }
  terminal.out(`${directory} is as the deployment was at ${manifest.createdAt}.\n`)
  if (manifest.isRegistryElsewhere) {
    terminal.out('The registry was in PostgreSQL, and is not in this file: restore it there.\n')
  }
  if (manifest.areMessagesElsewhere) {
    terminal.out('Messages and Sessions were on servers of NATS, and are not in this file: restore them there.\n')
  }
}

async function* readFrom(terminal: Terminal, file: string, verb: string): AsyncGenerator<Buffer> {
  const progress = new Progress(terminal, verb, steadyNow)
  for await (const bytes of createReadStream(file, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>) {
    progress.add(bytes.length)
    yield bytes
  }
  progress.end()
}

async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isExpected =
      error instanceof ArchiveError || error instanceof BackupUnusable || error instanceof LogDirectoryError
    if (isExpected) throw new CommandFailure(`${error.message} Nothing was restored.`)
    if (error instanceof Error && 'syscall' in error) {
      throw new CommandFailure(`The backup can’t be restored: ${error.message}.`)
    }
    throw error
  }
}
