import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface KeyOptions {
  readonly json?: true
}

/** `fieldgate keys ...`: what tokens are signed with. */
export function addKeyCommands(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('change the key that signs tokens')
  keys.addHelpText(
    'afterAll',
    `
Tokens that were issued before a rotation stay good until they expire. To end one: fieldgate token revoke.

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
