/** The commands `fieldgate service-credential ...`. */
import type { Command } from 'commander'
import { column, listQuery, showFields, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import { namesOf } from './names.ts'
import { organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface CredentialOptions {
  readonly organization?: string
  readonly json?: true
}

/** Adds the commands to the program. */
export function addServiceCredentialCommands(program: Command, terminal: Terminal): void {
  const credential = program
    .command('service-credential')
    .description('issue, list and revoke credentials of network servers')
  credential.addHelpText(
    'afterAll',
    `
The password is shown once, when the credential is made.

Examples:
  fieldgate service-credential create chirpstack
  fieldgate service-credential create chirpstack-alpine --organization alpine-valley-water
  fieldgate service-credential delete 3`,
  )

  credential
    .command('create')
    .description('issue a credential; print its MQTT user name and password')
    .argument('<name>', 'a name for people')
    .option('--organization <organization>', 'only for this organization; for all of them when not given')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, { organization, json }: CredentialOptions, command: Command) => {
      const created = await withClient(terminal, command, async (client) => {
        const organizationID = organization === undefined ? '' : await organizationIdOf(client, organization)
        return client.request('POST', '/api/service-credentials', { serviceCredential: { name, organizationID } })
      })
      showFields(terminal, created, json)
    })

  withListOptions(
    credential
      .command('list')
      .description('list credentials')
      .option('--organization <organization>', 'only credentials of this organization'),
  ).action(async (options: ListOptions & CredentialOptions, command: Command) => {
    const { list, organizationName } = await withClient(terminal, command, async (client) => {
      const { organization } = options
      const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
      return {
        list: await listPage(client, '/api/service-credentials', { ...listQuery(options), organizationID }),
        organizationName: await namesOf(client, 'organizations'),
      }
    })
    const columns = [column('ID', 'id'), column('NAME', 'name'), column('USER NAME', 'userName')]
    showList(terminal, list, options, [
      ...columns,
      { title: 'ORGANIZATION', cell: ({ organizationID }) => organizationName(organizationID) },
      column('CREATED', 'createdAt'),
    ])
  })

  withRemoval(
    credential
      .command('delete')
      .alias('revoke')
      .description('revoke a credential; its connections end at once')
      .argument('<id>'),
    terminal,
    'revoke',
    async (_, id) => ({
      path: `/api/service-credentials/${encodeURIComponent(id)}`,
      what: `the service credential ${cellText(id)}`,
      consequence: 'The connections of its network server end at once.',
      json: { id },
    }),
  )
}
