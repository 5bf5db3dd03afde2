/** The command `fieldgate keys rotate`. */
import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface KeyOptions {
  readonly json?: true
}

/** Adds the command to the program. */
export function addKeyCommands(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('change the key that signs tokens')
  keys.addHelpText(
    'afterAll',
    `
Tokens that were issued before a rotation stay valid until they expire. \`fieldgate token revoke\` ends one earlier.

Examples:
  fieldgate keys rotate`,
  )

  keys
    .command('rotate')
    .description('sign with a new key from now on; print its id')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async ({ json }: KeyOptions, command: Command) => {
      const rotated = await withClient(terminal, command, (client) =>
        client.request('POST', '/api/internal/keys/rotate'),
      )
      if (json === true) showJson(terminal, rotated)
      else terminal.out(`${String(rotated['kid'])}\n`)
    })
}
