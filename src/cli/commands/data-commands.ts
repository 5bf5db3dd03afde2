import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readSettings } from '../serve/read-settings.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface DirectoryOption {
  readonly dataDir?: string
}

const CHECK_HELP = `
The service must be stopped. Nothing is changed. Each damage is one line on standard error: the file, the damaged bytes, and the
messages that are lost by it, by partition, offset and event id, with the times between which they were taken.

Exit codes:
  0  all is well
  1  something is damaged, and nothing is lost by it; or there is nothing to check
  2  something is lost

Examples:
  fieldgate check
  fieldgate check --data-dir /var/lib/fieldgate-restored`

/** `fieldgate backup`, `restore` and `check`: what keeps a data directory safe. */
export function addDataCommands(program: Command, terminal: Terminal, exit: { code: number }): void {
  program
    .command('backup')
    .description('write everything that the deployment holds into one file, while the service runs or not')
    .argument('<file>', 'an older one of that name is replaced when the new one is whole')
    .addHelpText(
      'after',
      `
The file holds the registry, the local certificate authority and its keys, the messages and the Sessions: all that was
acknowledged when the backup was begun. Keep it as safe as the data directory. A configured certificate, the settings
and the file of network servers are not in it.

Examples:
  fieldgate backup /backup/fieldgate-$(date +%F).backup`,
    )
    .action(async (file: string) => {
      const { makeBackup } = await import('./make-backup.ts')
      await makeBackup(terminal, settingsFor(terminal), resolve(file))
    })
  program
    .command('restore')
    .description('make a data directory out of a backup')
    .argument('<file>', 'what `fieldgate backup` wrote')
    .option('--data-dir <directory>', 'use this new or empty directory instead of FIELDGATE_DATA_DIR')
    .addHelpText(
      'after',
      `
The whole file is verified before anything is written.

Examples:
  fieldgate restore /backup/fieldgate-2026-01-31.backup --data-dir /var/lib/fieldgate`,
    )
    .action(async (file: string, { dataDir }: DirectoryOption) => {
      const { restoreBackup } = await import('./restore-backup.ts')
      await restoreBackup(terminal, resolve(file), resolve(dataDir ?? settingsFor(terminal).dataDirectory))
    })
  program
    .command('check')
    .description('read everything in a data directory, and say what is damaged and what exactly is lost')
    .option('--data-dir <directory>', 'use this directory instead of FIELDGATE_DATA_DIR')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', CHECK_HELP)
    .action(async ({ dataDir, json }: DirectoryOption & { readonly json?: true }) => {
      const { checkData } = await import('./check-data.ts')
      exit.code = await checkData(terminal, resolve(dataDir ?? settingsFor(terminal).dataDirectory), json === true)
    })
}

function settingsFor(terminal: Terminal): ReturnType<typeof readSettings>['settings'] {
  const { settings, warnings } = readSettings(terminal)
  for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
  return settings
}
