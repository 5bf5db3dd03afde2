/** The work of `fieldgate migrate-registry`: copies a registry to PostgreSQL. */
import { steadyNow, systemClock } from '../../clock.ts'
import { openDataDirectory, registryFileIn } from '../../data/data-directory.ts'
import { RegistryError } from '../../identity/store/migrations.ts'
import { transferRegistry, TransferRefused } from '../../identity/registry-transfer.ts'
import { registryPlaceOf } from '../../service/registry-place.ts'
import type { Settings } from '../../settings/settings.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** How often the progress is told. */
const TOLD_MS = 1_000

/**
 * Copies the registry while no service runs on the data directory. Throws CommandFailure; then
 * nothing was copied.
 */
export async function migrateRegistry(terminal: Terminal, settings: Settings): Promise<void> {
  const place = registryPlaceOf(settings)
  if ('file' in place)
    throw new CommandFailure('Say by --to, or by FIELDGATE_DATABASE_URL, where the registry goes.', 2)
  const { dataDirectory: directory } = settings
  const opened = await openDataDirectory(directory, { purpose: 'migrate', clock: systemClock, mustExist: true })
  if (!opened.ok) throw new CommandFailure(opened.message)
  const file = registryFileIn(directory)
  let toldAtMs = steadyNow()
  try {
    const counts = await transferRegistry({
      file,
      to: place.postgres,
      nowMs: systemClock.now(),
      onProgress(table, rows) {
        if (steadyNow() - toldAtMs < TOLD_MS) return
        toldAtMs = steadyNow()
        terminal.error(`${table}: ${counted(rows, 'row')}\n`)
      },
    })
    const total = [...counts.values()].reduce((sum, rows) => sum + rows, 0)
    for (const [table, rows] of counts) terminal.out(`${table}  ${rows}\n`)
    terminal.out(`${counted(total, 'row')} copied, and all counts agree. ${file} is as it was.\n`)
    terminal.out('Set FIELDGATE_DATABASE_URL to this database now, and start the service.\n')
  } catch (error) {
    if (error instanceof TransferRefused || error instanceof RegistryError)
      throw new CommandFailure(`${error.message}.`)
    throw error
  } finally {
    await opened.dataDirectory.release()
  }
}
