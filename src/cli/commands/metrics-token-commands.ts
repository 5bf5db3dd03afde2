/** The commands `fieldgate metrics-token ...`. */
import type { Command } from 'commander'
import { column, listQuery, showJson, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import { metricsTokenIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Adds the commands to the program. */
export function addMetricsTokenCommands(program: Command, terminal: Terminal): void {
  const metricsToken = program.command('metrics-token').description('issue, list and revoke tokens that read /metrics')
  metricsToken.addHelpText(
    'afterAll',
    `
A metrics token can read /metrics and nothing else. It is printed once, alone, so that it can be written to a file. The
other commands name it by its name or its id.

Examples:
  fieldgate metrics-token create prometheus > /etc/prometheus/fieldgate-token
  fieldgate metrics-token list
  fieldgate metrics-token revoke prometheus`,
  )

  metricsToken
    .command('create')
    .description('issue a metrics token and print it')
    .argument('<name>', 'the purpose of the token')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, { json }: { readonly json?: true }, command: Command) => {
      const created = await withClient(terminal, command, (client) =>
        client.request('POST', '/api/metrics-tokens', { metricsToken: { name } }),
      )
      if (json === true) showJson(terminal, created)
      else terminal.out(`${String(created['token'])}\n`)
    })

  withListOptions(metricsToken.command('list').description('list metrics tokens')).action(
    async (options: ListOptions, command: Command) => {
      const list = await withClient(terminal, command, (client) =>
        listPage(client, '/api/metrics-tokens', listQuery(options)),
      )
      const columns = [column('ID', 'id'), column('NAME', 'name'), column('CREATED', 'createdAt')]
      showList(terminal, list, options, [...columns, column('LAST USED', 'lastUsedAt')])
    },
  )

  withRemoval(
    metricsToken
      .command('revoke')
      .alias('delete')
      .description('revoke a metrics token; the next request with it is refused')
      .argument('<token>'),
    terminal,
    'revoke',
    async (client, reference) => {
      const id = await metricsTokenIdOf(client, reference)
      return { path: `/api/metrics-tokens/${id}`, what: `the metrics token ${cellText(reference)}`, json: { id } }
    },
  )
}
