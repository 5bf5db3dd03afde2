/** The commands on all data, `fieldgate backup` and its like: their options and their help. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readSettings } from '../serve/read-settings.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface DirectoryOption {
  readonly dataDir?: string
}

const CHECK_HELP = `
The service must be stopped. The check changes nothing. Each damage is one line on standard error: the file, the damaged
bytes, and the lost messages by partition, offset and event id, with the times between which they were accepted.

Exit codes:
  0  all is well
  1  something is damaged, but no data is lost; or there is nothing to check
  2  data is lost

Examples:
  fieldgate check
  fieldgate check --data-dir /var/lib/fieldgate-restored`

const MIGRATE_HELP = `
All rows are copied in one transaction, and their counts are compared: after a failure nothing was copied. The registry
of the data directory stays as it is. Messages and Sessions stay in the data directory. Other users of the machine may
see the URL on the command line, so give the password by FIELDGATE_DATABASE_PASSWORD_FILE.

Examples:
  fieldgate migrate-registry --to 'postgres://fieldgate@db.example.org/fieldgate?sslmode=verify-full'`

/** Adds the commands to the program. */
export function addDataCommands(program: Command, terminal: Terminal, exit: { code: number }): void {
  program
    .command('backup')
    .description('write all data of the deployment into one file; the service may be running')
    .argument('<file>', 'an older file of this name is replaced when the new file is complete')
    .addHelpText(
      'after',
      `
The file holds the registry, the local certificate authority and its keys, the messages and the Sessions: all data that
was acknowledged before the backup began. Keep the file as safe as the data directory. It does not hold a configured
certificate, the settings, or the file of network servers. A registry in PostgreSQL, and messages and Sessions on servers
of NATS, are not in the file either: they have backups of their own, and the command says so.

Examples:
  fieldgate backup /backup/fieldgate-$(date +%F).backup`,
    )
    .action(async (file: string) => {
      const { makeBackup } = await import('./make-backup.ts')
      await makeBackup(terminal, settingsFor(terminal), resolve(file))
    })
  program
    .command('restore')
    .description('make a data directory from a backup')
    .argument('<file>', 'a file that `fieldgate backup` wrote')
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
    .description('read everything in a data directory, and list each damage and each loss')
    .option('--data-dir <directory>', 'use this directory instead of FIELDGATE_DATA_DIR')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', CHECK_HELP)
    .action(async ({ dataDir, json }: DirectoryOption & { readonly json?: true }) => {
      const { checkData } = await import('./check-data.ts')
      const { dataDirectory, databaseUrl, engine } = settingsFor(terminal)
      const elsewhere = { isRegistryElsewhere: databaseUrl !== undefined, areMessagesElsewhere: engine === 'nats' }
      const options = { isJson: json === true, ...elsewhere }
      exit.code = await checkData(terminal, resolve(dataDir ?? dataDirectory), options)
    })
  program
    .command('migrate-registry')
    .description('copy the registry of a data directory into an empty PostgreSQL; the service must be stopped')
    .option('--to <url>', 'the database, instead of FIELDGATE_DATABASE_URL')
    .addHelpText('after', MIGRATE_HELP)
    .action(async ({ to }: { readonly to?: string }) => {
      const { migrateRegistry } = await import('./migrate-registry.ts')
      await migrateRegistry(terminal, settingsFor(terminal, to))
    })
}

function settingsFor(terminal: Terminal, databaseUrl?: string): ReturnType<typeof readSettings>['settings'] {
  const { environment } = terminal
  const chosen = databaseUrl === undefined ? environment : { ...environment, FIELDGATE_DATABASE_URL: databaseUrl }
  const { settings, warnings } = readSettings({ ...terminal, environment: chosen })
  for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
  return settings
}
