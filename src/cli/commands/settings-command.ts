/** The command `fieldgate settings`. */
import type { Command } from 'commander'
import { definitions, settingsHelp, settingsTable } from '../../settings/settings.ts'
import { fileVariable } from '../../settings/secret-file.ts'
import { showJson } from './administration.ts'
import { readSettings } from '../serve/read-settings.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Adds the command to the program. It shows the values in effect; its help lists all settings. */
export function addSettingsCommand(program: Command, terminal: Terminal): void {
  program
    .command('settings')
    .description('show the settings in effect')
    .option('--json', 'print them as JSON')
    .option('--markdown', 'print all settings as the table of the README')
    .addHelpText('after', `\n${settingsHelp()}`)
    .action((options: { readonly markdown?: true; readonly json?: true }) => {
      if (options.markdown === true) {
        terminal.out(`${settingsTable()}\n`)
        return
      }
      const { settings, warnings } = readSettings(terminal)
      for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
      const values: Readonly<Record<string, unknown>> = settings
      const sourceOf = (name: string) => {
        if (terminal.environment[name]) return 'environment'
        return terminal.environment[fileVariable(name)] ? 'file' : 'default'
      }
      const rows = Object.entries(definitions).map(([key, { name, isSecret }]) => ({
        name,
        value: isSecret && values[key] !== undefined ? '(set)' : values[key],
        source: sourceOf(name),
      }))
      if (options.json === true) {
        showJson(terminal, rows)
        return
      }
      const columns = [
        { title: 'SETTING', cell: (row: (typeof rows)[number]) => row.name },
        { title: 'VALUE', cell: (row: (typeof rows)[number]) => row.value },
        { title: 'FROM', cell: (row: (typeof rows)[number]) => row.source },
      ]
      terminal.out(formatTable(columns, rows))
    })
}
